package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
)

// uninstall stops the unit of this home and takes its file away.
func (a *app) uninstall(ctx context.Context, f *installFlags) error {
	home, err := a.resolveHome()
	if err != nil {
		return err
	}
	i, err := a.installationOf(f, home)
	if err != nil {
		return err
	}
	t := &told{app: a, state: unitMissing}
	text, there, err := manager.Read(i.path)
	if err == nil && !there {
		i, text, there, err = f.elsewhere(t, i, home)
	}
	if err != nil {
		return err
	}
	if !there {
		t.step("%s is not there: nothing to remove", i.path)
		return t.done(i)
	}
	byHand := manager.RemoveCommand(i.manager, i.scope, i.name, i.path)
	if ours, _ := manager.Ours(text); !ours {
		return fmt.Errorf("uninstall %s: %s is not ours, and is left alone; by hand: %s", i.name, i.path, byHand)
	}
	var failed error
	for _, argv := range i.stop {
		if err := t.run(ctx, argv); err != nil {
			t.note("%v", err)
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil && !i.ended(ctx) {
		return fmt.Errorf("uninstall %s: it may run still, so that %s is left where it is; where its manager can be reached: %s", i.name, i.path, byHand)
	}
	if err := os.Remove(i.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // systemctl disable takes a link itself
		return err
	}
	t.state = unitRemoved
	t.step("removed %s", i.path)
	for _, argv := range i.forget {
		if err := t.run(ctx, argv); err != nil {
			t.note("%v", err)
		}
	}
	return t.done(i)
}

// elsewhere looks for the home's unit under another name: that of another spelling of the home. A unit of its root, or of its
// profiles, is only told of.
func (f *installFlags) elsewhere(t *told, i installation, home fsstate.Home) (at installation, text string, there bool, err error) {
	units, err := manager.Installed(f.roots(home), home)
	if err != nil {
		return i, "", false, err
	}
	for _, u := range units {
		switch ours, _ := manager.Ours(u.Text); {
		case u.Manager != i.manager || u.Scope != i.scope || !ours || u.Home == "":
		case u.Own:
			return f.installed(u.Name, filepath.Dir(u.Path)), u.Text, true, nil
		default:
			t.note("%s (%s) runs %s; to remove that: hermes-supervisor --home %s uninstall %s", u.Name, u.Path, whose(u, home), manager.Word(u.Home), f.manager)
		}
	}
	return i, "", false, nil
}

package main

import (
	"context"
	"fmt"
	"os"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
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
	if err != nil {
		return err
	}
	if !there {
		t.step("%s is not there: nothing to remove", i.path)
		return t.done(i)
	}
	if ours, _ := manager.Ours(text); !ours {
		return fmt.Errorf("uninstall %s: %s is not ours, and is left alone; by hand: %s", i.name, i.path, manager.RemoveCommand(i.manager, i.scope, i.name, i.path))
	}
	for _, argv := range i.stop {
		if err := t.run(ctx, argv); err != nil {
			t.note("%v", err) // it was not loaded, or no manager runs: the file goes all the same
		}
	}
	if err := os.Remove(i.path); err != nil {
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

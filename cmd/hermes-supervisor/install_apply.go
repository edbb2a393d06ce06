package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// What install and uninstall did, as JSON has it.
const (
	unitInstalled = "installed"
	unitUnchanged = "unchanged"
	unitReplaced  = "replaced"
	unitRemoved   = "removed"
	unitMissing   = "missing"
)

// install makes the unit and has it started.
func (a *app) install(ctx context.Context, f *installFlags) error {
	if f.packaged {
		return a.printUnit(f, unitText(f, manager.Packaged(f.manager, f.scope), "hermes-supervisor"))
	}
	home, err := a.resolveHome()
	if err != nil {
		return err
	}
	job, err := a.jobOf(ctx, f, home)
	if err != nil {
		return err
	}
	if f.print {
		return a.printUnit(f, unitText(f, job, unitName(f, home)))
	}
	if err := f.here(); err != nil {
		return err
	}
	i, err := a.installationOf(f, home)
	if err != nil {
		return err
	}
	i.text = unitText(f, job, unitName(f, home))
	if err := f.alone(home, i); err != nil {
		return err
	}
	t := &told{app: a}
	if err := i.write(t, f.force); err != nil {
		return err
	}
	a.refused(ctx, t, f, i, job, f.roots(home))
	if f.manager == manager.Launchd && job.Budget.Total() > manager.GUIExitTimeOut {
		t.note("launchd waits at most 60 s for a stop, and a stop may take %s: what is not stopped by then lives on, and the next run takes it over", job.Budget.Total())
	}
	if job.Home != "" && f.scope == manager.User && f.manager == manager.Systemd {
		t.linger(ctx, f.roots(home))
	}
	if f.noStart {
		t.note("to start it: %s", shellLine(i.start))
		return t.done(i)
	}
	return i.run(ctx, t)
}

// run has the manager know and start what was written.
func (i installation) run(ctx context.Context, t *told) error {
	if i.loaded == nil || fails(ctx, i.loaded) {
		for n, argv := range i.start {
			if err := t.run(ctx, argv); err != nil {
				return fmt.Errorf("the unit is written, but not started: %w; then: %s", err, shellLine(i.start[n:]))
			}
		}
	}
	if t.state == unitReplaced && i.restart != "" {
		t.note("if it ran already, it goes on as it was started, until: %s", i.restart)
	}
	return t.done(i)
}

// printUnit prints what would be in the file: for a task that is UTF-16, but not where a person reads it.
func (a *app) printUnit(f *installFlags, text string) error {
	i := installation{manager: f.manager, text: text}
	data := i.bytes()
	if process.IsTerminal(a.stdout) {
		data = []byte(text)
	}
	_, err := a.stdout.Write(data)
	return err
}

// alone refuses where something else runs the home.
func (f *installFlags) alone(home fsstate.Home, i installation) error {
	if f.force {
		return nil
	}
	rivals, err := manager.Rivals(f.roots(home), home)
	if err != nil {
		return err
	}
	if len(rivals) > 0 {
		r := rivals[0] // the next try names the next one
		of := fmt.Sprintf("which runs %q", r.Home)
		if r.Home == "" {
			of = "and it cannot be told which home that runs"
		}
		return &busyError{fmt.Errorf("install %s: Hermes's own %s %s is installed (%s), %s; take it away first: %s (or --force)", i.name, r.Manager, r.Name, r.Path, of, r.Remove)}
	}
	units, err := manager.Installed(f.roots(home), home)
	if err != nil {
		return err
	}
	other := slices.IndexFunc(units, func(u manager.Unit) bool { // but for what is being installed
		return u.Manager != i.manager || u.Scope != i.scope || u.Name != i.name
	})
	if other >= 0 {
		u := units[other]
		return &busyError{fmt.Errorf("install %s: %s runs %s, by the %s manager (%s); take it away first: %s (or --force)", i.name, u.Name, whose(u, home), u.Scope, u.Path, manager.RemoveCommand(u.Manager, u.Scope, u.Name, u.Path))}
	}
	return nil
}

// whose is the home of an installed unit as it stands to the one in question.
func whose(u manager.Unit, home fsstate.Home) string {
	switch {
	case u.Own:
		return "this home already"
	case home.Profile != "":
		return fmt.Sprintf("%q, and with it this profile", u.Home)
	}
	return fmt.Sprintf("%q, a profile of this home", u.Home)
}

// write puts the file into place. One that is not ours, or that somebody has changed, is kept unless force says otherwise.
func (i installation) write(t *told, force bool) error {
	old, there, err := manager.Read(i.path)
	if err != nil {
		return err
	}
	t.state = unitInstalled
	if there {
		t.state = unitReplaced
		ours, untouched := manager.Ours(old)
		switch {
		case old == i.text:
			t.state = unitUnchanged
			t.step("%s is as it should be", i.path)
			return nil
		case force:
		case !ours:
			return fmt.Errorf("install %s: %s is there, and not ours: take it away, or --force", i.name, i.path)
		case !untouched:
			return fmt.Errorf("install %s: %s was changed by hand: --force replaces it (changes of yours are safe in a drop-in: systemctl edit)", i.name, i.path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(i.path), 0o755); err != nil { //nolint:gosec // as the manager's own tools make it: units are no secret
		return err
	}
	if err := fsstate.RemoveLeftovers(i.path); err != nil {
		return err
	}
	if err := fsstate.ReplaceUserFile(i.path, i.bytes(), 0o644); err != nil {
		return err
	}
	t.step("wrote %s", i.path)
	return nil
}

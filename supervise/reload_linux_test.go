package supervise

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/service"
)

func TestAReloadThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one", "two")
	w.run()
	pids := map[string]int{"one": w.stands("one", phase.Running), "two": w.stands("two", phase.Running)}
	work := w.appear("work")
	w.until("the profile is served", func() bool { return w.noted(work, "one", "start") == 1 })
	for _, c := range []struct {
		says string
		fail func()
	}{
		{"no such file", func() { w.fail(errors.New("no such file")) }},
		{"of one home", func() {
			next := w.setup
			next.Services = map[string]string{"new": "a", "two": "b"}
			config := next.config()
			services := config.Services
			config.Services = func(h fsstate.Home) ([]service.Spec, error) {
				if h.Profile != "" {
					return nil, errors.New("of one home")
				}
				return services(h)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reload = func() (Config, error) { return config, nil }
		}},
	} {
		c.fail()
		for _, op := range []string{OpReload, OpApply} {
			if a := w.answer(w.store, w.ask(op, "", "one")); !strings.Contains(a.Error, c.says) || a.Code != 1 {
				t.Errorf("%s: answered with %+v", op, a)
			}
			w.fence("one")
			w.fence("two")
			for name, pid := range pids {
				if rec, s := w.record(name); s.Phase != phase.Running || rec.Process.PID != pid {
					t.Errorf("%s: %s is %s, pid %d and not %d", op, name, s.Phase, rec.Process.PID, pid)
				}
			}
			if rec, _ := w.record("new"); rec.Service != "" {
				t.Errorf("%s: a new service was begun", op)
			}
		}
	}
}

func TestAReloadStartsAndStopsWhatChangedAndApplyRestartsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "kept", "changed", "removed", "down")
	w.run()
	kept, changed := w.stands("kept", phase.Running), w.stands("changed", phase.Running)
	w.stands("removed", phase.Running)
	w.stands("down", phase.Running)
	w.answer(w.store, w.ask(OpStop, "down", "kept"))
	w.stands("down", phase.Stopped)

	next := map[string]string{"kept": "a", "changed": "b", "down": "b", "added": "a"}
	w.configure(next)
	if a := w.answer(w.store, w.ask(OpReload, "", "kept")); a.Error != "" {
		t.Fatalf("answered with %+v", a)
	}
	w.stands("added", phase.Running)
	w.until("removed is let go", func() bool {
		rec, s := w.record("removed")
		return s.Phase == phase.Stopped && rec.Supervisor.Instance == ""
	})
	w.fence("changed")
	if pid := w.stands("changed", phase.Running); pid != changed {
		t.Errorf("changed is pid %d and not %d", pid, changed)
	}
	w.histories(map[string]int{"kept": 1, "changed": 1, "removed": 1, "down": 1, "added": 1}, map[string]int{"removed": 1, "down": 1})

	if a := w.answer(w.store, w.ask(OpApply, "", "kept")); a.Error != "" {
		t.Fatalf("answered with %+v", a)
	}
	w.until("changed has been started again", func() bool { return w.noted(w.Home, "changed", "start") == 2 })
	w.stands("changed", phase.Running)
	if rec, _ := w.record("changed"); rec.Digest != "b" {
		t.Errorf("changed was started with %q", rec.Digest)
	}
	if a := w.answer(w.store, w.ask(OpApply, "", "kept")); a.Error != "" {
		t.Fatalf("answered with %+v", a)
	}
	w.fence("changed")
	w.fence("kept")
	w.histories(map[string]int{"kept": 1, "changed": 2, "removed": 1, "down": 1, "added": 1}, map[string]int{"removed": 1, "down": 1, "changed": 1})
	if pid := w.stands("kept", phase.Running); pid != kept {
		t.Errorf("kept is pid %d and not %d", pid, kept)
	}
	if a := w.answer(w.store, w.ask(OpStart, "down", "kept")); a.Error != "" {
		t.Fatalf("answered with %+v", a)
	}
	w.stands("down", phase.Running)
	if rec, _ := w.record("down"); rec.Digest != "b" {
		t.Errorf("down was started with %q", rec.Digest)
	}

	// A signal does what the order does.
	maps.DeleteFunc(next, func(name, _ string) bool { return name == "added" })
	w.configure(next)
	w.orders <- OrderReload
	w.stands("added", phase.Stopped)
}

// histories compares how often each service of the root home was started, and was told to end.
func (w *world) histories(starts, ends map[string]int) {
	w.t.Helper()
	for name, want := range starts {
		if n := w.noted(w.Home, name, "start"); n != want {
			w.t.Errorf("%s was started %d times, not %d", name, n, want)
		}
		if n := w.noted(w.Home, name, "end"); n != ends[name] {
			w.t.Errorf("%s was ended %d times, not %d", name, n, ends[name])
		}
	}
}

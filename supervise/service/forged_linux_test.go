package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
)

func itoa(n int) string { return strconv.Itoa(n) }

// target is a process of ours that must get no signal.
func (w *world) target() *helper {
	w.t.Helper()
	p := w.start("target", w.path("target"))
	w.until("the target listens", func() bool { return w.text("target") == "up\n" })
	w.t.Cleanup(func() {
		if startOf(p.PID()) == 0 || w.text("target") != "up\n" {
			w.t.Errorf("the target was signalled: %q", w.text("target"))
		}
	})
	return p
}

// forge leaves a record of a service that runs, as somebody may have written it.
func (w *world) forge(key []byte, process ident.Ident) {
	w.t.Helper()
	rec := &fsstate.Service{
		Service: name, Process: process,
		State: []byte(`{"phase":"running","up":true,"epoch":3,"launch":7,"reason":"ready"}`),
	}
	if err := (fsstate.ServiceFiles{Store: w.files.Store, Key: key}).Put(rec); err != nil {
		w.t.Fatal(err)
	}
}

func TestRecordThatNamesSomebodyElseSignalsNobody(t *testing.T) {
	t.Parallel()
	foreign := []byte("the key of somebody else")
	for _, tc := range []struct {
		name    string
		make    func(*world, int)
		want    phase.Phase
		why     phase.Reason
		witness bool // there is one, and it is free
	}{
		{"recycled pid", func(w *world, pid int) {
			id := identOf(pid, ident.NewInstance())
			id.Start--
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonReady, true},
		{"another boot, witness free", func(w *world, pid int) {
			id := identOf(pid, ident.NewInstance())
			id.BootID = "0d1f3ad5-0000-4000-8000-000000000000"
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonReady, true},
		{"another boot, no witness", func(w *world, pid int) {
			id := identOf(pid, ident.NewInstance())
			id.BootID = "0d1f3ad5-0000-4000-8000-000000000000"
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonOwnerUnknown, false},
		{"another pid namespace, no witness", func(w *world, pid int) {
			id := identOf(pid, ident.NewInstance())
			id.PIDNS++
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonOwnerUnknown, false},
		{"sealed with another key", func(w *world, pid int) { w.forge(foreign, identOf(pid, ident.NewInstance())) }, phase.Running, phase.ReasonReady, true},
		{"not sealed", func(w *world, pid int) { w.forge(nil, identOf(pid, ident.NewInstance())) }, phase.Running, phase.ReasonReady, true},
		{"pid 1, sealed with another key", func(w *world, _ int) { w.forge(foreign, identOf(1, ident.NewInstance())) }, phase.Running, phase.ReasonReady, true},
		{"pid 1 with another start", func(w *world, _ int) {
			id := identOf(1, ident.NewInstance())
			id.Start += 5
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonReady, true},
		{"negative pid", func(w *world, pid int) {
			id := identOf(pid, ident.NewInstance())
			id.PID = -pid
			w.forge(w.files.Key, id)
		}, phase.Running, phase.ReasonOwnerUnknown, true},
		{"zombie", func(w *world, _ int) {
			w.start("zombie", w.path("zombie"))
			w.appears("zombie")
			pid, _ := strconv.Atoi(w.text("zombie"))
			w.forge(w.files.Key, identOf(pid, ident.NewInstance()))
		}, phase.Running, phase.ReasonReady, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.make(w, w.target().PID())
			if tc.witness {
				rec, _ := w.record()
				if err := w.files.Store.SpareWitness(rec.Process.Instance); err != nil {
					t.Fatal(err)
				}
			}
			r := w.run(w.script("hold"))
			s := r.await(tc.want, tc.why)
			if tc.why == phase.ReasonOwnerUnknown {
				if len(w.alive()) > 0 {
					t.Errorf("started beside what may live: %v", w.alive())
				}
				r.order(r.Stop)
				r.order(r.Stop)
				r.order(r.Restart)
				r.order(r.Look)
				if _, s := w.record(); s.Reason != phase.ReasonOwnerUnknown || len(w.alive()) > 0 {
					t.Errorf("%+v, and these live: %v", s, w.alive())
				}
				return
			}
			if len(w.alive()) != 1 {
				t.Errorf("%+v, and these live: %v", s, w.alive())
			}
			r.down()
		})
	}
}

// Without a record that can be trusted, what lives is neither signalled nor doubled; when it has ended, the service goes on.
func TestServiceWhoseRecordIsLostIsHeldUntilItEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		damage func(*world)
	}{
		{"gone", func(w *world) { _ = os.Remove(w.files.Path(name)) }},
		{"corrupt", func(w *world) { _ = os.WriteFile(w.files.Path(name), []byte(`{"version":1,`), 0o600) }},
		{"empty", func(w *world) { _ = os.WriteFile(w.files.Path(name), nil, 0o600) }},
		{"changed", func(w *world) {
			text, _ := os.ReadFile(w.files.Path(name))
			_ = os.WriteFile(w.files.Path(name), bytes.Replace(text, []byte(`"epoch": 0`), []byte(`"epoch": 9`), 1), 0o600)
		}},
		{"sealed by another", func(w *world) {
			rec, _ := w.record()
			_ = fsstate.ServiceFiles{Store: w.files.Store, Key: []byte("another")}.Put(rec)
		}},
		{"about another", func(w *world) {
			rec, _ := w.record()
			rec.Service = "other"
			_ = w.files.Put(rec)
			_ = os.Rename(w.files.Path("other"), w.files.Path(name))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script("hold")
			spec.Command = []string{self(), "target", w.path("log")}
			pid := w.orphan(spec)
			w.until("it listens", func() bool { return w.text("log") == "up\n" })
			tc.damage(w)
			r := w.run(spec)
			s := r.await(phase.Stopped, phase.ReasonOwnerUnknown)
			if !s.Up || len(w.alive()) != 1 || w.alive()[pid] == "" {
				t.Errorf("%+v, and these live: %v", s, w.alive())
			}
			r.order(r.Look)
			if startOf(pid) == 0 || w.text("log") != "up\n" {
				t.Errorf("it was signalled: %q", w.text("log"))
			}
			set, _ := filepath.Glob(w.files.Path(name) + "*corrupt-*")
			if all, _ := filepath.Glob(filepath.Dir(w.files.Path(name)) + "/*corrupt*"); tc.name != "gone" && len(all) != 1 {
				t.Errorf("set aside: %q %q", set, all)
			}
			w.kill(pid)
			r.order(r.Look)
			r.await(phase.Running, phase.ReasonReady)
		})
	}
}

func TestRecordOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := []byte(`{"version": 99, "service": "svc", "state": {"mood": "good"}}`)
	if err := os.WriteFile(w.files.Path(name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.run(w.script("hold"))
	err := <-r.ended
	r.ended <- err
	if err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("%v", err)
	}
	if now, _ := os.ReadFile(w.files.Path(name)); !bytes.Equal(now, text) || len(w.alive()) > 0 {
		t.Errorf("it is %s now, and these live: %v", now, w.alive())
	}
}

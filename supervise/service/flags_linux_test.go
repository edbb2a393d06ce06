package service

import (
	"os"
	"strings"
	"testing"

	"hermes-supervisor/policy/phase"
)

// asking is a service whose program answers --help with these shell words first.
func (w *world) asking(help string) Spec {
	w.t.Helper()
	program := w.path("program")
	text := "#!/bin/sh\necho asked >>" + w.path("asked") + "\n" + help + "\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	spec := w.script("hold")
	spec.Program, spec.KnownFlags = []string{program}, []string{"--isolated"}
	return spec
}

func TestStopIsObeyedWhileAProgramIsAskedForItsFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.asking("exec sleep 300"))
	w.appears("asked")
	if s := r.down(); s.Reason != phase.ReasonStopped || s.Up {
		t.Errorf("%+v", s)
	}
	if rec, _ := w.record(); rec.Process.Instance != "" {
		t.Errorf("it was launched: %+v", rec.Process)
	}
	r.order(r.Start) // asked for already: no second one is
	r.order(r.Restart)
	if n := strings.Count(w.text("asked"), "asked"); n != 1 {
		t.Errorf("asked %d times at once", n)
	}
}

func TestProgramThatSaysNothingIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.asking("exit 3"))
	w.kill(r.up())
	r.awaitThat("its restart", func(s phase.State) bool { return s.Phase == phase.Running && s.Launch == 2 })
	if n := strings.Count(w.text("asked"), "asked"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

package service

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"hermes-supervisor/fsstate/ident"
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
	r := w.run(w.asking("echo $$ >>" + w.path("pids") + "; exec sleep 300"))
	asked := func(n int) (last int) {
		w.until("it is asked", func() bool { return strings.Count(w.text("pids"), "\n") >= n })
		pids := strings.Fields(w.text("pids"))
		if len(pids) != n {
			t.Fatalf("asked %d times, not %d", len(pids), n)
		}
		last, _ = strconv.Atoi(pids[n-1])
		return last
	}
	over := func(pid int) bool {
		_, err := ident.Of(pid, "")
		return errors.Is(err, os.ErrProcessDone)
	}
	first := asked(1)
	if s := r.down(); s.Reason != phase.ReasonStopped || s.Up {
		t.Errorf("%+v", s)
	}
	if rec, _ := w.record(); rec.Process.Instance != "" {
		t.Errorf("it was launched: %+v", rec.Process)
	}
	w.until("the question is over", func() bool { return over(first) })
	r.order(r.Start)
	second := asked(2)
	r.order(r.Restart) // asked for already: no second one is
	r.order(r.Shutdown)
	<-r.done
	if asked(2); !over(second) {
		t.Error("the question outlives the end of the supervisor")
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

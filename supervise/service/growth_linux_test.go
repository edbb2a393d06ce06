package service

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"hermes-supervisor/policy/phase"
)

// It is not parallel, since it counts what this process has open.
func TestRestartsLeaveNothingBehind(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close what was forgotten
	w := newWorld(t)
	spec := w.script("hold")
	spec.Command = []string{"/bin/false"}
	spec.Settings.Delay = 0
	r, err := w.runner(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	starts := make(chan int64, 10_000)
	r.Moved = func(_ Spec, s phase.State) {
		if s.Phase == phase.Running {
			starts <- s.Launch
		}
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context(), spec) }()
	type count struct{ goroutines, fds, files int }
	take := func(launch int64) count {
		for n := range starts {
			if n >= launch {
				break
			}
		}
		fds, _ := os.ReadDir("/proc/self/fd")
		return count{runtime.NumGoroutine(), len(fds), len(w.runFiles())}
	}
	before := take(20)
	after := take(320)
	// A launch that is on its way has some of each.
	if after.goroutines > before.goroutines+6 || after.fds > before.fds+8 || after.files > before.files+4 {
		t.Errorf("after 300 restarts: %+v, before %+v", after, before)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if files := w.runFiles(); len(files) > 2 {
		t.Errorf("left in run/: %q", files)
	}
}

package service

import (
	"encoding/json"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/policy/phase"

	"golang.org/x/sys/unix"
)

var (
	// harmless are the signals that do not end a process that does not catch them: signal(7).
	harmless = []syscall.Signal{unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}
	// unheard are those that the target does not tell of: two cannot be caught, and three are Go's own.
	unheard = []syscall.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, unix.SIGURG, unix.SIGCHLD}
)

func TestEveryExitStatusAndEverySignalIsRecordedAsItWas(t *testing.T) {
	t.Parallel()
	type ending struct{ code, signal int }
	var all []ending
	for code := range 256 {
		all = append(all, ending{code: code})
	}
	for sig := 1; sig < 32; sig++ {
		if signal.Ignored(syscall.Signal(sig)) {
			t.Logf("%s is left out: the test was started with it ignored, as by nohup, and a service inherits that", syscall.Signal(sig))
		} else if !slices.Contains(harmless, syscall.Signal(sig)) {
			all = append(all, ending{code: 128 + sig, signal: sig}) // as a shell has it
		}
	}
	w := newWorld(t)
	todo := make(chan ending)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for e := range todo {
				last, err := w.endOf(fmt.Sprintf("s%d-%d", e.code, e.signal), e.code, e.signal)
				switch {
				case err != nil:
					t.Errorf("exit %d, signal %d: %v", e.code, e.signal, err)
				case last.Code != e.code || last.Signal != e.signal || !last.Observed || last.Launch != 1:
					t.Errorf("exit %d, signal %d is on record as %+v", e.code, e.signal, last)
				}
			}
		})
	}
	for _, e := range all {
		todo <- e
	}
	close(todo)
	workers.Wait()
}

// endOf has a service end by itself, by that exit status or that signal, and gives what its record says of it.
func (w *world) endOf(service string, code, sig int) (phase.Exit, error) {
	spec := w.script("")
	spec.Name = service
	spec.Settings.Policy, spec.Settings.RestartExit, spec.Settings.ParkExit = phase.Never, nil, nil
	spec.Command = []string{"/bin/sh", "-c", fmt.Sprintf("ulimit -c 0; exit %d", code)}
	if sig != 0 {
		spec.Command[2] = fmt.Sprintf("ulimit -c 0; kill -%d $$; exit 99", sig)
	}
	told := make(chan phase.State, 100)
	r, err := w.runner(spec, func(_ Spec, s phase.State) { told <- s })
	if err != nil {
		return phase.Exit{}, err
	}
	over := make(chan error, 1)
	go func() { over <- r.Run(w.t.Context(), spec) }()
	limit := time.After(patience)
	for s := (phase.State{}); s.Phase != phase.Stopped || s.Launch == 0; {
		select {
		case s = <-told:
		case err := <-over:
			return phase.Exit{}, fmt.Errorf("Run has returned: %w", err)
		case <-limit:
			return phase.Exit{}, fmt.Errorf("still %s (%s)", s.Phase, s.Reason)
		}
	}
	if err := r.Shutdown(w.t.Context()); err != nil {
		return phase.Exit{}, err
	}
	if err := <-over; err != nil {
		return phase.Exit{}, err
	}
	rec, err := w.files.Get(service)
	if err != nil {
		return phase.Exit{}, err
	}
	var s phase.State
	err = json.Unmarshal(rec.State, &s)
	if err == nil && s.Last == nil {
		err = fmt.Errorf("no end is on record: %+v", s)
	}
	if err != nil {
		return phase.Exit{}, err
	}
	return *s.Last, nil
}

func TestEverySignalThatCanBeCaughtReachesTheLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("")
	spec.Command = []string{self(), "target", w.path("got")}
	r := w.run(spec)
	pid := r.up()
	w.appears("got")
	w.until("it listens", func() bool { return strings.HasPrefix(w.text("got"), "up\n") })
	want := "up\n"
	for sig := syscall.Signal(1); sig < 32; sig++ {
		if slices.Contains(unheard, sig) {
			continue
		}
		r.order(func(ctx ctx) error { return r.Signal(ctx, sig) })
		want += sig.String() + "\n"
		w.until(fmt.Sprintf("signal %d has come once, and nothing else", sig), func() bool { return w.text("got") == want })
	}
	if w.pid() != pid {
		t.Error("it was started again")
	}
	r.order(r.Stop)
	// With the SIGCONT that wakes a stopped leader; of two signals its threads may note either first.
	w.until("the stop has come", func() bool {
		got, is := strings.CutPrefix(w.text("got"), want)
		return is && strings.Contains(got, syscall.SIGTERM.String()+"\n")
	})
	r.order(r.Kill)
	r.await(phase.Stopped)
}

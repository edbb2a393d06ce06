package service

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"

	"golang.org/x/sys/unix"
)

// monotonic is the clock of childtest's records.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// endIn is when the child that wrote a record got its SIGTERM; false: it did not.
func (w *world) endIn(file string) (at int64, ended bool) {
	_, line, found := strings.Cut(w.text(file), "\nend ")
	if !found {
		return 0, false
	}
	var pid int
	_, err := fmt.Sscan(line, &pid, &at)
	return at, err == nil
}

func TestStopSignalsTheLeaderOnlyUntilItsDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("fork { record @child hold } ignore TERM touch @up hold")
	spec.StopTimeout = 300 * time.Millisecond
	r := w.run(spec)
	r.up()
	w.appears("up")
	w.appears("child")
	began := monotonic()
	r.order(r.Stop)
	r.await(phase.Stopping, phase.ReasonStopped)
	r.await(phase.Killing)
	s := r.await(phase.Stopped, phase.ReasonStopped)
	at, ended := w.endIn("child")
	if !ended || at-began < int64(spec.StopTimeout) {
		t.Errorf("the child got its TERM %v after the order: %q", time.Duration(at-began), w.text("child"))
	}
	if s.Last.Signal != int(syscall.SIGKILL) || time.Duration(monotonic()-began) < spec.StopTimeout {
		t.Errorf("the leader was to have its time: %+v", s.Last)
	}
}

func TestStopOfTheGroupReachesTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("fork { record @child hold } ignore TERM touch @up hold")
	spec.StopScope = process.ScopeGroup
	r := w.run(spec)
	r.up()
	w.appears("up")
	w.appears("child")
	r.order(r.Stop)
	r.await(phase.Stopping, phase.ReasonStopped)
	w.until("the child has its TERM", func() bool { _, ended := w.endIn("child"); return ended })
	if _, s := w.record(); s.Phase != phase.Stopping { // the leader has time yet
		t.Errorf("%+v", s)
	}
	r.order(r.Kill)
	r.await(phase.Stopped)
}

// shapes are what a service may have made of itself when it is to end.
var shapes = []struct{ name, words string }{
	{"alone", "touch @up hold"},
	{"deaf", "ignore TERM touch @up hold"},
	{"child in the group", "fork { touch @up hold } hold"},
	{"child in a session of its own", "setsid { touch @up hold } hold"},
	{"orphan of a double fork", "double-fork { touch @up hold } hold"},
	{"deaf orphan in a session of its own", "double-fork { setsid { ignore TERM touch @up hold } } hold"},
	{"three of them", "fork { hold } setsid { fork { hold } hold } double-fork { setsid { touch @up hold } hold } hold"},
	{"without stdin", "close-stdin fork { close-stdin touch @up hold } hold"},
	{"holder of the pipe", "setsid { touch @up hold } hold"},
	{"flood", "touch @up flood 200000000 hold"},
	{"stopped", "touch @up stop-self hold"},
	{"stopped orphan", "double-fork { setsid { touch @up stop-self hold } } hold"},
}

// What is told is checked by world.check at the moment that it is told.
func TestNothingOfTheTreeLivesWhenItIsSaidToHaveStopped(t *testing.T) {
	t.Parallel()
	for _, tc := range shapes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script(tc.words)
			spec.StopTimeout = 100 * time.Millisecond
			spec.Pipe = tc.name == "holder of the pipe"
			r := w.run(spec)
			r.up()
			w.appears("up")
			r.down()
			if alive := w.alive(); len(alive) > 0 {
				t.Errorf("these live: %v", alive)
			}
		})
	}
}

func TestNothingOfTheTreeLivesBesideTheNextLaunch(t *testing.T) {
	t.Parallel()
	for _, tc := range shapes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script(tc.words)
			spec.Pipe = tc.name == "holder of the pipe"
			r := w.run(spec)
			pid := r.up()
			w.appears("up")
			w.kill(pid)
			s := r.await(phase.Running, phase.ReasonReady)
			if s.Launch != 2 || s.Last.Signal != int(syscall.SIGKILL) || !s.Last.Observed {
				t.Errorf("%+v, last %+v", s, s.Last)
			}
		})
	}
}

func TestEndOfTheLeaderIsKnownThoughItsTreeIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gate = make(chan struct{}, 1)
	spec := w.script("hold")
	spec.Command = []string{"/bin/sleep", "300"}
	spec.StopSignal = syscall.SIGCONT // it waits to be killed
	r := w.run(spec)
	for range 20 {
		pid := r.up()
		r.order(r.Stop)
		r.await(phase.Stopping)
		w.gate <- struct{}{} // the runner is busy while both happen
		done := make(chan error, 1)
		r.orders <- order{event: phase.OrderStart, answer: done}
		w.until("the order is taken", func() bool { return len(r.orders) == 0 })
		w.kill(pid)
		time.Sleep(2 * time.Millisecond) // for the ladder to see it: a state that nothing shows
		<-w.gate
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s := r.await(phase.Starting, phase.ReasonOrdered)
		if !s.Last.Observed || s.Last.Signal != int(syscall.SIGKILL) {
			t.Fatalf("nobody saw its end: %+v", s.Last)
		}
	}
}

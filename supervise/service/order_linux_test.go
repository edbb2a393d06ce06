package service

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/policy/phase"
)

func TestRestartOrderedIsANewLaunch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("record @life hold"))
	pid := r.up()
	w.appears("life")
	r.order(r.Restart)
	r.await(phase.Stopping, phase.ReasonRestartOrdered)
	s := r.await(phase.Running)
	if s.Launch != 2 || s.Restarts != 0 || w.pid() == pid || s.Last.Signal != int(syscall.SIGTERM) {
		t.Errorf("%+v, last %+v", s, s.Last)
	}
	if _, ended := w.endIn("life"); !ended {
		t.Errorf("not asked to end: %q", w.text("life"))
	}
}

func TestStopDuringAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Ready, spec.ReadyDeadline = w.mute(), patience
	r := w.run(spec)
	r.await(phase.Starting)
	if s := r.down(); s.Reason != phase.ReasonStopped || s.Up {
		t.Errorf("%+v", s)
	}
}

func TestStartDuringAStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("ignore TERM touch @up hold"))
	pid := r.up()
	w.appears("up")
	r.order(r.Stop)
	r.await(phase.Stopping, phase.ReasonStopped)
	r.order(r.Start)
	r.await(phase.Stopping, phase.ReasonRestartOrdered)
	r.order(r.Kill)
	s := r.await(phase.Running)
	if !s.Up || s.Launch != 2 || w.pid() == pid {
		t.Errorf("%+v", s)
	}
}

func TestTwoStopsAreAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("ignore TERM touch @up hold")) // with a minute to end
	r.up()
	w.appears("up")
	r.order(r.Stop)
	r.await(phase.Stopping)
	if s := r.down(); s.Last.Signal != int(syscall.SIGKILL) {
		t.Errorf("%+v", s.Last)
	}
}

func TestOrderReturnsWhenItIsDurable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("hold"))
	r.up()
	for i, tc := range []struct {
		order func(ctx) error
		up    bool
		then  phase.Phase
	}{
		{r.Restart, true, phase.Running},
		{r.Stop, false, phase.Stopped},
		{r.Start, true, phase.Running},
		{r.Stop, false, phase.Stopped},
		{r.Stop, false, phase.Stopped},
		{r.Restart, true, phase.Running},
		{r.Start, true, phase.Running},
	} {
		r.order(tc.order)
		if _, s := w.record(); s.Up != tc.up || s.Epoch != int64(i+1) {
			t.Errorf("order %d: on disk %+v", i, s)
		}
		w.until("it is carried out", func() bool { _, s := w.record(); return s.Phase == tc.then })
	}
}

func TestStopWinsOverAPendingRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("exit 3")
	spec.Settings.Delay, spec.Settings.MaxDelay = time.Hour, time.Hour
	r := w.run(spec)
	if s := r.await(phase.Waiting); time.Until(s.NextAt) < time.Minute {
		t.Errorf("%+v", s)
	}
	s := r.down()
	if s.Up || !s.NextAt.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestStopIsKeptByTheNextSupervisor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	r := w.run(spec)
	r.up()
	r.down()
	r.leave()
	w.another()
	r = w.run(spec)
	r.order(r.Look) // it has the service
	if _, s := w.record(); s.Phase != phase.Stopped || s.Up || len(w.alive()) > 0 {
		t.Errorf("%+v, and these live: %v", s, w.alive())
	}
	if len(r.told) > 0 {
		t.Errorf("nothing has changed, and it is told: %+v", <-r.told)
	}
	r.order(r.Start)
	r.up()
}

func TestStopInItsMiddleIsFinishedByTheNextSupervisor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("ignore TERM touch @up hold")
	r := w.run(spec)
	r.up()
	w.appears("up")
	r.order(r.Stop)
	r.leave()
	spec.StopTimeout = 10 * time.Millisecond
	if s := w.run(spec).await(phase.Stopped); s.Up || s.Reason != phase.ReasonStopped {
		t.Errorf("%+v", s)
	}
}

func TestShutdownLeavesWhatWasOrdered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	r := w.run(spec)
	r.up()
	r.order(r.Shutdown)
	r.await(phase.Stopped, phase.ReasonShutdown)
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if rec, s := w.record(); !s.Up || rec.Supervisor.Instance != "" {
		t.Errorf("%+v %+v", rec, s)
	}
	if err := r.Start(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("an order after the end: %v", err)
	}
	w.another()
	w.run(spec).up()
}

func TestSignalReachesTheLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Command = []string{self(), "target", w.path("log")}
	r := w.run(spec)
	r.up()
	w.appears("log")
	w.until("it listens", func() bool { return w.text("log") == "up\n" })
	r.order(func(ctx ctx) error { return r.Signal(ctx, syscall.SIGUSR1) })
	w.until("it has it", func() bool { return w.text("log") == "up\nuser defined signal 1\n" })
	r.order(r.Stop)
	r.order(r.Stop)
	r.await(phase.Stopped)
	if err := r.Signal(t.Context(), syscall.SIGUSR1); !errors.Is(err, ErrNotRunning) {
		t.Error(err)
	}
}

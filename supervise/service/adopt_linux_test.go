package service

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"

	"golang.org/x/sys/unix"
)

// orphan runs a service under a supervisor that is then killed, and gives the pid.
func (w *world) orphan(spec Spec) int {
	w.t.Helper()
	p := w.supervisor(spec)
	p.hear("running ready")
	w.until("it is recorded", func() bool { return w.pid() != 0 })
	p.end()
	return w.pid()
}

// kernelTells says whether the exit status of a process that is not our child can be known.
func kernelTells(t *testing.T) bool {
	t.Helper()
	child, err := host.Start(process.Spec{Argv: []string{"/bin/cat"}, Stdin: os.Stdin})
	if err == nil {
		child, err = host.Start(process.Spec{Argv: []string{"/bin/sleep", "60"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(child.PID(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_ = child.Signal(syscall.SIGKILL)
	<-child.Done()
	_, tells := process.ExitStatus(fd)
	return tells
}

func TestServiceOfAKilledSupervisorIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("touch @up hold")
	pid := w.orphan(spec)
	r := w.run(spec)
	s := r.await(phase.Running, phase.ReasonAdopted)
	if w.pid() != pid || len(w.alive()) != 1 || w.alive()[pid] == "" || s.Launch != 1 || s.Restarts != 0 {
		t.Errorf("pid %d, these live: %v, %+v", pid, w.alive(), s)
	}
	w.kill(pid)
	s = r.await(phase.Running, phase.ReasonReady)
	if s.Launch != 2 || s.Restarts != 1 || w.pid() == pid {
		t.Errorf("%+v", s)
	}
	if tells := kernelTells(t); s.Last.Observed != tells || tells && s.Last.Signal != int(syscall.SIGKILL) {
		t.Errorf("last %+v, where the kernel tells: %t", s.Last, tells)
	}
}

// announced takes the witness of the next launch, as a fork of the dead supervisor that has not exec'ed yet holds what was
// open in it. That launch has not happened.
func (w *world) announced() (held *os.File) {
	w.t.Helper()
	w.until("the next launch is announced", func() bool { rec, _ := w.record(); return rec.Next != "" })
	rec, _ := w.record()
	held, err := w.files.Store.TakeWitness(rec.Next)
	if err != nil {
		w.t.Fatal(err)
	}
	return held
}

func TestServiceIsNotLostWhileTheNextWitnessIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	pid := w.orphan(spec)
	held := w.announced()
	r := w.run(spec)
	s := r.await(phase.Running)
	held.Close()
	r.order(r.Look)
	if alive := w.alive(); s.Reason != phase.ReasonAdopted || w.pid() != pid || len(alive) != 1 || alive[pid] == "" {
		t.Errorf("pid %d, the record names %d, these live: %v, %+v", pid, w.pid(), alive, s)
	}
}

func TestWhatADeadLeaderLeftIsNotLostWhileTheNextWitnessIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("fork { touch @up hold } hold")
	pid := w.orphan(spec)
	w.appears("up")
	held := w.announced()
	w.kill(pid)
	r := w.run(spec)
	r.await(phase.Running, phase.ReasonOwnerUnknown)
	held.Close()
	r.order(r.Look)
	alive := w.alive()
	if _, s := w.record(); s.Launch != 1 || len(alive) != 1 {
		t.Errorf("these live: %v, %+v", alive, s)
	}
	for left := range alive {
		w.kill(left)
	}
	if s := r.await(phase.Running, phase.ReasonReady); s.Launch != 2 {
		t.Errorf("%+v", s)
	}
}

func TestServiceThatDiedBetweenTwoSupervisorsIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("touch @up hold")
	w.kill(w.orphan(spec))
	s := w.run(spec).await(phase.Running, phase.ReasonReady)
	if s.Launch != 2 || s.Restarts != 1 || s.Last.Observed {
		t.Errorf("%+v, last %+v", s, s.Last)
	}
}

func TestWhatADeadLeaderLeftIsEndedBeforeTheNextStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, words string }{
		{"in the group", "fork { touch @up hold } hold"},
		{"in a session of its own", "setsid { touch @up hold } hold"},
		{"without stdin", "setsid { close-stdin touch @up hold } hold"},
		{"deaf", "double-fork { setsid { ignore TERM touch @up hold } } hold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script(tc.words)
			pid := w.orphan(spec)
			w.appears("up")
			w.kill(pid)
			if len(w.alive()) == 0 {
				t.Fatal("nothing is left")
			}
			s := w.run(spec).await(phase.Running, phase.ReasonReady)
			if s.Launch != 2 || s.Last.Observed {
				t.Errorf("%+v, last %+v", s, s.Last)
			}
		})
	}
}

// Something holds the witness, and nothing says who it is: it is not ended, and nothing is started beside it.
func TestWhatOnlyHoldsTheWitnessHoldsTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Command = []string{"/bin/sh", "-c", `exec 3<&0; env -i setsid sleep 100 <&3 & echo $! >"$0.new" && mv "$0.new" "$0"; exec sleep 100`, w.path("stray")}
	pid := w.orphan(spec)
	w.appears("stray")
	stray, err := strconv.Atoi(strings.TrimSpace(w.text("stray")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(stray, syscall.SIGKILL) })
	w.until("it has left", func() bool {
		sid, err := unix.Getsid(stray)
		environ, _ := os.ReadFile("/proc/" + itoa(stray) + "/cmdline")
		return err == nil && sid == stray && strings.HasPrefix(string(environ), "sleep")
	})
	w.kill(pid)
	r := w.run(spec)
	s := r.await(phase.Running, phase.ReasonOwnerUnknown)
	if !s.Up || startOf(stray) == 0 || len(w.alive()) > 0 {
		t.Errorf("%+v, stray %d, and these live: %v", s, stray, w.alive())
	}
	w.kill(stray)
	s = r.await(phase.Running, phase.ReasonReady)
	if s.Launch != 2 {
		t.Errorf("%+v", s)
	}
}

// A pid of another pid namespace says nothing here, though the service lives and carries its tag.
func TestServiceOfAnotherNamespaceIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Command = []string{self(), "target", w.path("log")}
	pid := w.orphan(spec)
	w.until("it listens", func() bool { return w.text("log") == "up\n" })
	w.rewrite(func(rec *fsstate.Service, _ *phase.State) {
		rec.Process.PIDNS++
		rec.Supervisor = ident.Ident{} // it would be unknown as well
	})
	r := w.run(spec)
	r.await(phase.Running, phase.ReasonOwnerUnknown)
	r.order(r.Stop)
	r.order(r.Look)
	if w.text("log") != "up\n" || startOf(pid) == 0 || len(w.alive()) != 1 {
		t.Errorf("it was signalled: %q, these live: %v", w.text("log"), w.alive())
	}
	w.kill(pid)
	if s := r.await(phase.Stopped); s.Up {
		t.Errorf("%+v", s)
	}
}

// between makes the record what it is between the fork and the record of it.
func (w *world) between() {
	w.rewrite(func(rec *fsstate.Service, s *phase.State) {
		rec.Process = ident.Unlaunched(rec.Process, rec.Process.Instance)
		s.Phase, s.Reason, s.StartedAt, s.ReadyAt = phase.Starting, phase.ReasonOrdered, time.Time{}, time.Time{}
	})
}

func TestAdoptedServiceObeys(t *testing.T) {
	t.Parallel()
	for _, from := range []struct {
		name string
		do   func(*world)
	}{
		{"recorded", func(*world) {}},
		{"killed between fork and record", (*world).between},
	} {
		for _, order := range []struct {
			name string
			do   func(*testing.T, *running)
		}{
			{"stop", func(_ *testing.T, r *running) { r.down() }},
			{"signal", func(_ *testing.T, r *running) {
				r.order(func(ctx ctx) error { return r.Signal(ctx, syscall.SIGTERM) })
				r.await(phase.Running, phase.ReasonReady)
			}},
			{"restart", func(_ *testing.T, r *running) {
				r.order(r.Restart)
				r.await(phase.Starting, phase.ReasonOrdered)
			}},
			{"shutdown", func(t *testing.T, r *running) {
				t.Helper()
				r.order(r.Shutdown)
				r.await(phase.Stopped, phase.ReasonShutdown)
				if err := <-r.ended; err != nil {
					t.Error(err)
				}
			}},
		} {
			t.Run(from.name+"/"+order.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				spec := w.script("setsid { touch @up hold } record @life hold")
				pid := w.orphan(spec)
				w.appears("up")
				w.appears("life")
				from.do(w)
				r := w.run(spec)
				s := r.await(phase.Running)
				if rec, _ := w.record(); rec.Process.PID != pid || s.Launch != 1 {
					t.Fatalf("pid %d was not adopted: %+v", pid, rec.Process)
				}
				order.do(t, r)
				if _, ended := w.endIn("life"); !ended {
					t.Errorf("the adopted service got no TERM: %q", w.text("life"))
				}
			})
		}
	}
}

// watched tells whether this process has a handle of another one open.
func watched(pid int) bool {
	entries, _ := os.ReadDir("/proc/self/fdinfo")
	for _, e := range entries {
		text, _ := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		if strings.Contains(string(text), "Pid:\t"+itoa(pid)+"\n") {
			return true
		}
	}
	return false
}

// A supervisor that leaves without a stop lets the service be, however it came to it.
func TestEndOfAnAdopterIsNoEndOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gate = make(chan struct{}, 1)
	spec := w.script("hold")
	pid := w.orphan(spec)
	for range 10 {
		r := w.run(spec)
		r.order(r.Look) // it has the service
		if !watched(pid) {
			t.Fatal("the adopted service is not watched")
		}
		w.gate <- struct{}{} // the runner is busy while it is told to leave
		done := make(chan error, 1)
		r.orders <- order{event: phase.OrderStart, answer: done}
		w.until("the order is taken", func() bool { return len(r.orders) == 0 })
		r.cancel()
		w.until("nobody watches the service", func() bool { return !watched(pid) })
		<-w.gate
		<-done
		r.leave()
		if _, s := w.record(); s.Phase != phase.Running || w.pid() != pid || startOf(pid) == 0 {
			t.Fatalf("%+v", s)
		}
	}
}

func TestOneServiceHasOneSupervisor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	first := w.supervisor(spec)
	first.hear("running ready")
	second := w.run(spec)
	if err := <-second.ended; said(err) != "taken "+itoa(first.PID()) {
		t.Errorf("%v, want one that names pid %d", err, first.PID())
	}
	second.ended <- nil
	pid := w.pid()
	first.end()
	third := w.run(spec)
	third.await(phase.Running, phase.ReasonAdopted)
	if w.pid() != pid {
		t.Error("a second copy")
	}
	late := w.supervisor(spec)
	late.hear("taken " + itoa(os.Getpid()))
	third.down()
}

// Too many open files, for a moment: neither the tree nor the record can be dealt with.
func TestKillThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("setsid { touch @up hold } hold")
	pid := w.orphan(spec)
	w.appears("up")
	p := w.supervisor(spec)
	p.hear("running adopted")
	p.tell("limit 3")
	p.hear("limited 3")
	w.kill(pid)
	p.hear("service not ended")
	p.tell("limit 1000")
	p.hear("running ready")
	w.until("it is recorded", func() bool { return w.alive()[w.pid()] != "" })
	if alive := w.alive(); len(alive) != 2 {
		w.until("both live", func() bool { return len(w.alive()) == 2 })
	}
}

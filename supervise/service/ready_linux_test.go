package service

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/health"

	"golang.org/x/sys/unix"
)

// mute is a probe that never answers: a file that nobody makes.
func (w *world) mute() *health.Probe { return &health.Probe{File: w.path("never")} }

func TestServiceIsReadyWhenItsProbeSaysSo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, words string
		probe       func(*world) *health.Probe
	}{
		{"no probe", "touch @acted hold", func(*world) *health.Probe { return nil }},
		{"output", "say ready-not-yet sleep 30ms touch @acted warn ready hold", func(*world) *health.Probe {
			return &health.Probe{Output: regexp.MustCompile("^ready$")}
		}},
		{"file", "sleep 30ms touch @acted hold", func(w *world) *health.Probe { return &health.Probe{File: w.path("acted")} }},
		{"heartbeat", "sleep 30ms touch @acted hold", func(w *world) *health.Probe {
			return &health.Probe{Heartbeat: w.path("acted"), MaxAge: time.Hour}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script(tc.words)
			spec.Ready = tc.probe(w)
			r := w.run(spec)
			r.await(phase.Starting)
			s := r.await(phase.Running, phase.ReasonReady)
			if spec.Ready != nil {
				info, err := os.Stat(w.path("acted"))
				if err != nil || s.ReadyAt.Before(info.ModTime().Add(-16*time.Millisecond)) {
					t.Errorf("ready at %v, and the child acted at %v (%v)", s.ReadyAt, info, err)
				}
			}
			if rec, s := w.record(); s.Phase != phase.Running || len(w.alive()) != 1 || w.alive()[rec.Process.PID] != rec.Process.Instance {
				t.Errorf("record %+v %+v, and these live: %v", rec, s, w.alive())
			}
			r.down()
		})
	}
}

func TestServiceIsReadyWhenItsPortAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil { // taken, and refusing
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	spec := w.script("touch @acted hold")
	spec.Ready = &health.Probe{TCP: fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)}
	r := w.run(spec)
	r.await(phase.Starting)
	w.appears("acted")
	if _, s := w.record(); s.Phase != phase.Starting {
		t.Errorf("%s before its port answers", s.Phase)
	}
	if err := unix.Listen(fd, 5); err != nil {
		t.Fatal(err)
	}
	r.await(phase.Running, phase.ReasonReady)
}

func TestServiceIsReadyWhenItsStatusIsGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked, good := make(chan struct{}, 100), make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		select {
		case <-good:
		default:
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		asked <- struct{}{}
	})}
	go server.Serve(l)
	defer server.Close()
	spec := w.script("hold")
	spec.Ready = &health.Probe{HTTP: "http://" + l.Addr().String() + "/health"}
	r := w.run(spec)
	r.await(phase.Starting)
	<-asked
	<-asked // the first answer has been taken
	if _, s := w.record(); s.Phase != phase.Starting {
		t.Errorf("%s after a 503", s.Phase)
	}
	close(good)
	r.await(phase.Running, phase.ReasonReady)
}

func TestServiceThatIsNotReadyInTimeIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Ready, spec.ReadyDeadline = w.mute(), 50*time.Millisecond
	r := w.run(spec)
	first := r.await(phase.Starting)
	r.await(phase.Stopping, phase.ReasonNotReady)
	s := r.await(phase.Starting, phase.ReasonRestarted)
	if s.Last == nil || s.Last.Signal != int(syscall.SIGTERM) || !s.Last.Observed || s.Launch != first.Launch+1 || s.Restarts != 1 {
		t.Errorf("%+v", s)
	}
}

func TestUnhealthyServiceIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("touch @well hold")
	spec.Ready = &health.Probe{File: w.path("well")}
	spec.Health, spec.Interval, spec.Timeout, spec.Failures = spec.Ready, 5*time.Millisecond, time.Second, 2
	r := w.run(spec)
	pid := r.up()
	if err := os.Remove(w.path("well")); err != nil {
		t.Fatal(err)
	}
	r.await(phase.Stopping, phase.ReasonUnhealthy)
	if again := r.up(); again == pid {
		t.Error("not restarted")
	}
}

func TestHungServiceIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("touch @beat stop-self hold")
	spec.Ready = &health.Probe{Heartbeat: w.path("beat"), MaxAge: 100 * time.Millisecond}
	spec.Health, spec.Interval, spec.Failures = spec.Ready, 20*time.Millisecond, 1
	r := w.run(spec)
	pid := r.up()
	r.await(phase.Stopping, phase.ReasonUnhealthy)
	if again := r.up(); again == pid {
		t.Error("not restarted")
	}
}

// After its supervisor's death a service goes on being asked, by the next one.
func TestAdoptedServiceIsProbed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		ready func(*world) *health.Probe
	}{
		{"file", func(w *world) *health.Probe { return &health.Probe{File: w.path("ready")} }},
		{"output", func(*world) *health.Probe { return &health.Probe{Output: regexp.MustCompile("^ready$")} }},
	} {
		t.Run("becomes ready by "+tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script("sleep 100ms touch @ready say ready hold")
			spec.Ready = tc.ready(w)
			p := w.supervisor(spec)
			p.hear("starting resumed")
			p.end()
			w.run(spec).up()
		})
	}
	t.Run("misses its deadline", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		spec := w.script("hold")
		spec.Ready, spec.ReadyDeadline = w.mute(), patience
		p := w.supervisor(spec)
		p.hear("starting resumed")
		p.end()
		spec.ReadyDeadline = 10 * time.Millisecond
		w.run(spec).await(phase.Stopping, phase.ReasonNotReady)
	})
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		spec := w.script("touch @well hold")
		spec.Ready = &health.Probe{File: w.path("well")}
		spec.Health, spec.Interval, spec.Failures = spec.Ready, 10*time.Millisecond, 1
		p := w.supervisor(spec)
		p.hear("running ready")
		p.end()
		r := w.run(spec)
		r.await(phase.Running, phase.ReasonAdopted)
		if err := os.Remove(w.path("well")); err != nil {
			t.Fatal(err)
		}
		r.await(phase.Stopping, phase.ReasonUnhealthy)
		r.await(phase.Running, phase.ReasonReady)
	})
}

// What Moved is told is on disk, and each launch, adoption and hold is told.
func TestFirstPhaseIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.Ready = w.mute()
	r := w.run(spec)
	r.await(phase.Starting, phase.ReasonResumed)
	r.leave()
	w.run(spec).await(phase.Starting, phase.ReasonAdopted)
}

// until an order has been taken up, the runner may end.
func TestOrderThatWasNotTakenIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.run(w.script("hold"))
	first.up()
	w.another()
	r, err := w.runner(first.spec, func(Spec, phase.State) {})
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() { answer <- r.Stop(context.Background()) }()
	w.until("the order is given", func() bool { return len(r.orders) == 1 })
	if err := r.Run(context.Background(), first.spec); err == nil {
		t.Error("two runners at once")
	}
	if err := <-answer; err == nil {
		t.Error("a stop was confirmed by a runner that never had the service")
	}
	if _, s := w.record(); !s.Up || s.Phase != phase.Running {
		t.Errorf("%+v", s)
	}
}

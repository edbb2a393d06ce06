//go:build unix

package follow

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// outlived is a command that hangs, as a supervisor that was killed has left it.
func outlived(t *testing.T) (instance string, ended <-chan struct{}) {
	t.Helper()
	instance = ident.NewInstance()
	c := exec.Command("sleep", "300")
	c.Env = append(os.Environ(), ident.InstanceVar+"="+instance)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-done })
	return instance, done
}

func TestACommandThatOutlivedRunIsEndedAtItsLimit(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.Key = []byte("key")
	instance, ended := outlived(t)
	d := s.seal(sealedLaunch, launch{Instance: instance, Until: time.Now().Add(time.Hour)})
	if err := s.outlive(t.Context(), d, 50*time.Millisecond); !errors.Is(err, errUnseen) {
		t.Errorf("%v", err)
	}
	<-ended
	// An ordered stop ends it too, and then it is told again.
	instance, ended = outlived(t)
	d = s.seal(sealedLaunch, launch{Instance: instance, Until: time.Now().Add(time.Hour)})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := s.outlive(stopped, d, time.Hour); !errors.Is(err, process.ErrErrandCut) {
		t.Errorf("%v", err)
	}
	<-ended
}

// Agents can write the file that names it.
func TestAForgedCommandIsNotEnded(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.Key = []byte("key")
	instance, ended := outlived(t)
	l := launch{Instance: instance, Until: time.Now()}
	forged := (&Follower{Store: store, Key: []byte("theirs")}).seal(sealedLaunch, l)
	unsealed := (&Follower{Store: store}).seal(sealedLaunch, l)
	elsewhere, other := newSession(t, openStore(t)), s.seal(sealedTextfile, l)
	elsewhere.Key = s.Key
	for name, d := range map[string]fsstate.Document{"with another key": forged, "of another home": elsewhere.seal(sealedLaunch, l), "for something else": other, "without a seal": unsealed, "none": nil} {
		if err := s.outlive(t.Context(), d, time.Millisecond); !errors.Is(err, errUnseen) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Key = nil
	if err := s.outlive(t.Context(), unsealed, time.Millisecond); !errors.Is(err, errUnseen) {
		t.Errorf("without a key: %v", err)
	}
	select {
	case <-ended:
		t.Error("it was ended")
	default:
	}
}

// What a supervisor that was killed had begun to tell is settled when its command is gone, and nothing else is told before.
func TestOneCommandRunsAtATimeOverADeathOfRun(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.Key = []byte("key")
	s.look(t.Context(), false)
	instance, ended := outlived(t)
	gone := s.seal(sealedLaunch, launch{Instance: instance, Until: time.Now().Add(time.Hour)})
	first, second := Notice{Schema: noticeSchema, Event: EventGaveUp, Time: time.Now()}, Notice{Schema: noticeSchema, Event: EventParked, Time: time.Now()}
	s.state.Pending, s.state.Begun, s.state.Launch = []Notice{first, second}, true, gone
	s.keep()
	s.close()

	s = newSession(t, store)
	s.Key, s.config.Notify = []byte("key"), Notify{Command: []string{"/bin/true"}, Timeout: 300 * time.Millisecond}
	s.look(t.Context(), true)
	if len(s.state.Pending) != 2 || s.over == nil {
		t.Fatalf("%+v", s.state)
	}
	s.told(<-s.over)
	<-ended
	if len(s.state.Pending) != 1 || s.state.Begun || s.state.Notices["gave-up unseen"] != 1 {
		t.Errorf("%+v", s.state)
	}
}

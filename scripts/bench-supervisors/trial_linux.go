package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// trial is one supervisor at work.
type trial struct {
	*entrant

	bench    *bench
	services int
	dir      string
	cmd      *exec.Cmd
	ended    chan struct{}
	stamps   *os.File
	up       []stamp // of the services that live
}

// stamp is what a service sends as its first act.
type stamp struct {
	pid int
	at  time.Duration // on the monotonic clock
}

const (
	stampSize = 16
	patience  = 30 * time.Second // for what takes a second or two on an idle machine
)

// patienceFor is how long is waited for n services.
func patienceFor(n int) time.Duration { return patience + time.Duration(n)*30*time.Millisecond }

// start starts a supervisor with n services and waits until all of them are up, for as long as it says.
func (b *bench) start(ctx context.Context, e *entrant, n int) (t *trial, took time.Duration, err error) {
	t = &trial{entrant: e, bench: b, services: n, ended: make(chan struct{})}
	if t.dir, err = os.MkdirTemp(b.dir, "trial-"); err != nil {
		return nil, 0, err
	}
	fifo := filepath.Join(t.dir, "stamps")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return nil, 0, fmt.Errorf("make %s: %w", fifo, err)
	}
	if t.stamps, err = os.OpenFile(fifo, os.O_RDWR|unix.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	argv, err := e.lay(b, t.dir, n)
	if err != nil {
		return nil, 0, errors.Join(err, t.stamps.Close())
	}
	log, err := os.Create(filepath.Join(t.dir, "log"))
	if err != nil {
		return nil, 0, errors.Join(err, t.stamps.Close())
	}
	defer log.Close()                          //nolint:errcheck // the supervisor has its own copy
	t.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // end ends it in order, also when ctx has ended
	t.cmd.Dir, t.cmd.Stdout, t.cmd.Stderr = t.dir, log, log
	t.cmd.Env = append(append(os.Environ(), stampsVar+"="+fifo), e.env...)
	t.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // Ctrl-C is for the bench, which ends it
	began := now()
	if err := t.cmd.Start(); err != nil {
		return nil, 0, errors.Join(err, t.stamps.Close())
	}
	b.running[t.cmd.Process.Pid] = true
	go func() { _ = t.cmd.Wait(); close(t.ended) }()
	last, err := t.await(ctx, n)
	if err != nil {
		return nil, 0, errors.Join(err, t.end())
	}
	return t, last - began, nil
}

// await waits for the stamps of n starts, and gives the time of the latest.
func (t *trial) await(ctx context.Context, n int) (last time.Duration, err error) {
	stop := context.AfterFunc(ctx, func() { _ = t.stamps.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := t.stamps.SetReadDeadline(time.Now().Add(patienceFor(n))); err != nil {
		return 0, err
	}
	for i := range n {
		var raw [stampSize]byte
		if _, err := io.ReadFull(t.stamps, raw[:]); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("%s: %d of %d services are up: %w\n%s", t.entrant, i, n, err, t.lastWords())
		}
		s := stamp{
			pid: int(binary.NativeEndian.Uint64(raw[:])),            //nolint:gosec // a pid
			at:  time.Duration(binary.NativeEndian.Uint64(raw[8:])), //nolint:gosec // nanoseconds since the boot
		}
		t.up = append(t.up, s)
		last = max(last, s.at)
	}
	return last, nil
}

// lastWords is the end of what the supervisor has printed.
func (t *trial) lastWords() []byte {
	text, err := os.ReadFile(filepath.Join(t.dir, "log"))
	if err != nil {
		return nil
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-5):], []byte("\n"))
}

// kill kills every service that is up, waits until each has been started again, and gives the time that this took.
func (t *trial) kill(ctx context.Context) (time.Duration, error) {
	n := len(t.up)
	began := now()
	for _, s := range t.up {
		// It lives: it has not ended by itself, and its parent has not been told to end it.
		if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
			return 0, fmt.Errorf("%s: kill the service with pid %d: %w", t.entrant, s.pid, err)
		}
	}
	t.up = t.up[:0]
	last, err := t.await(ctx, n)
	return last - began, err
}

// end ends the supervisor and its services, in order where it can, and makes sure that nothing is left of them.
func (t *trial) end() error {
	defer t.stamps.Close() //nolint:errcheck // a FIFO
	_ = t.cmd.Process.Signal(t.stop)
	var late error
	select {
	case <-t.ended:
	case <-time.After(patienceFor(t.services)):
		late = fmt.Errorf("%s does not end: killed", t.entrant)
		_ = t.cmd.Process.Kill()
		<-t.ended
	}
	delete(t.bench.running, t.cmd.Process.Pid)
	grace := patience
	if t.stop == unix.SIGKILL {
		grace = 0
	}
	left, err := t.bench.endOrphans(grace)
	if left > 0 && grace > 0 {
		t.bench.say("%s left %d processes behind: killed", t.entrant, left)
	}
	return errors.Join(late, err, os.RemoveAll(t.dir))
}

// now is the time on the clock of the services' stamps.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it is always there
	return time.Duration(t.Nano())
}

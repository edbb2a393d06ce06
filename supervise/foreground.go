package supervise

import (
	"context"
	"slices"
	"syscall"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

// Foreground is the service that a run was started for.
type Foreground struct {
	Name string
	Emit output.Emit // takes what it prints from now on
	// Signals are passed on to it, as the process that a container begins with has to.
	Signals <-chan syscall.Signal
	Exit    *phase.Exit // set when it has ended for good and ended the run with it
}

// inForeground tells the service that the run was started for from all others.
func (l *loop) inForeground(h *home, service string) bool {
	return l.Foreground != nil && l.Foreground.Name == service && h.Path == l.Root.Path
}

// print copies what the foreground service prints from now on, which is before its launch: the place is taken at once.
func (l *loop) print(ctx context.Context, log *output.Log) {
	failed := func(err error) {
		l.Log.Warn("output not shown", "service", l.Foreground.Name, "error", err.Error())
	}
	emit := func(s output.Stream, b []byte) error {
		for piece := range slices.Chunk(b, givenAtOnce) {
			if err := l.Foreground.Emit(s, piece); err != nil {
				return err
			}
			l.given.Add(1)
		}
		return nil
	}
	follower, err := log.Follower(0, emit)
	if err != nil {
		failed(err)
		return
	}
	printing, stop := context.WithCancel(ctx)
	l.stopPrinting = stop
	l.printed = make(chan struct{})
	go func() {
		defer close(l.printed)
		if err := follower.Follow(printing, emit); err != nil && printing.Err() == nil {
			failed(err)
		}
	}()
}

// givenAtOnce is so little that a pipe takes it whole (PIPE_BUF of Linux), which tells a slow reader from none.
const givenAtOnce = 4096

// endPrinting gives what is left of the foreground service's output. A program that has ended by itself is a part of a
// pipeline, whose reader has the time that it wants. Once a stop is ordered, that is over when the reader takes nothing for
// a while, and at once with the next order: the rest is in the log.
func (l *loop) endPrinting() {
	l.stopPrinting()
	var hangs <-chan time.Time
	if l.ordered || l.Foreground == nil || l.Foreground.Exit == nil {
		hangs = time.After(process.UnreadFor)
	}
	for given := l.given.Load(); ; {
		select {
		case <-l.printed:
			return
		case <-hangs:
			now := l.given.Load()
			if now == given {
				l.Say("nobody reads the rest of what %s printed: see hermes-supervisor logs %s", l.Foreground.Name, l.Foreground.Name)
				return
			}
			given, hangs = now, time.After(process.UnreadFor)
		case o := <-l.Orders:
			if o == OrderReload {
				continue
			}
			if hangs == nil {
				given, hangs = l.given.Load(), time.After(process.UnreadFor)
			} else if o == OrderStop { // a second one
				return
			}
		}
	}
}

func (l *loop) passedOn() <-chan syscall.Signal {
	if l.Foreground == nil {
		return nil
	}
	return l.Foreground.Signals
}

// passOn sends a signal of ours to the foreground service.
func (l *loop) passOn(ctx context.Context, sig syscall.Signal) {
	if r := l.homes[l.Root.Path].runners[l.Foreground.Name]; r != nil {
		go func() { _ = r.Signal(ctx, sig) }()
	}
}

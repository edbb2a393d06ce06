package supervise

import (
	"context"
	"syscall"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/output"
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

// print copies what the foreground service prints from its launch on.
func (l *loop) print(ctx context.Context, log *output.Log) {
	printing, stop := context.WithCancel(ctx)
	l.stopPrinting = stop
	l.printed.Go(func() {
		if err := log.Follow(printing, 0, l.Foreground.Emit); err != nil && printing.Err() == nil {
			l.Log.Warn("output not shown", "service", l.Foreground.Name, "error", err.Error())
		}
	})
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

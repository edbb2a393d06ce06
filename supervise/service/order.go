package service

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"hermes-supervisor/policy/phase"
)

// ErrNotRunning is the answer to a signal for a service of which nothing runs.
var ErrNotRunning = errors.New("not running")

// Start orders the service up, as an operator. Like the two that follow it returns when the order is durable, not when
// it has been carried out.
func (r *Runner) Start(ctx context.Context) error { return r.tell(ctx, order{event: phase.OrderStart}) }

// Stop orders it down, also over the end of its supervisor. A second one kills.
func (r *Runner) Stop(ctx context.Context) error { return r.tell(ctx, order{event: phase.OrderStop}) }

// Restart orders it down and up again.
func (r *Runner) Restart(ctx context.Context) error {
	return r.tell(ctx, order{event: phase.OrderRestart})
}

// Shutdown stops the service for the end of its supervisor: what was ordered stays, and Run returns when it is down.
func (r *Runner) Shutdown(ctx context.Context) error {
	return r.tell(ctx, order{event: phase.Shutdown})
}

// Apply gives the service other settings. What it was started with counts until its next start.
func (r *Runner) Apply(ctx context.Context, spec Spec) error { return r.tell(ctx, order{apply: &spec}) }

// Signal sends a signal to the leader, and to nobody else. The error is ErrNotRunning when there is none.
func (r *Runner) Signal(ctx context.Context, sig syscall.Signal) error {
	return r.tell(ctx, order{do: func(j *job) error { return j.signal(sig) }})
}

// Kill ends a stop that takes too long: SIGKILL to everything.
func (r *Runner) Kill(ctx context.Context) error {
	return r.tell(ctx, order{event: phase.StopDeadline})
}

// tell hands over an order and waits until it has been taken up. A runner that has ended answers ErrNotRunning.
func (r *Runner) tell(ctx context.Context, o order) error {
	answer := make(chan error, 1)
	o.answer = answer
	select {
	case r.orders <- o:
	case <-r.done:
		return ErrNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-r.done:
	}
	select {
	case err := <-answer: // it was the last order
		return err
	default: // Run has ended without it
		return ErrNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *job) obey(ctx context.Context, o order) {
	var err error
	switch {
	case o.do != nil:
		err = o.do(j)
	case o.apply != nil:
		j.spec = *o.apply
	case o.event == phase.StopDeadline:
		if j.leaving && j.launch == nil {
			j.dirty = false // whoever cannot wait does not wait for a full disk either
		}
		if j.launch != nil && j.state.Phase == phase.Stopping {
			j.handle(ctx, phase.Event{Kind: phase.StopDeadline, Epoch: j.state.Launch})
		}
	case o.event == phase.Shutdown:
		j.leaving, j.leftAt = true, time.Now()
		j.handle(ctx, phase.Event{Kind: phase.Shutdown, Epoch: j.state.Launch})
	default:
		j.handle(ctx, phase.Event{Kind: o.event, Epoch: j.state.Epoch + 1})
		if j.dirty {
			err = fmt.Errorf("service %s: the order is not on disk yet", j.spec.Name)
		}
	}
	o.answer <- err
}

func (j *job) signal(sig syscall.Signal) error {
	l := j.launch
	switch {
	case l == nil || l.reaped:
		return ErrNotRunning
	case l.child != nil:
		return l.child.Signal(sig)
	}
	return l.tree.Signal(sig)
}

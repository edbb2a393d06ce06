package service

import (
	"context"
	"syscall"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

const killSignal = syscall.SIGKILL

// lastWords bounds the wait for a pipe to be read to its end, which a descendant may hold open.
const lastWords = 100 * time.Millisecond

// unknownFlag is the exit code of a program that was given a flag which it does not know (argparse, and most others).
const unknownFlag = 2

// retryKill is the time between two tries to end a tree that cannot be listed.
const retryKill = time.Second

// exited is closed when the leader of the current launch has ended and nobody has looked at that yet.
func (j *job) exited() <-chan struct{} {
	if j.launch == nil || j.launch.reaped {
		return nil
	}
	return j.launch.gone
}

// exit is the event of that end.
func (j *job) exit() phase.Event {
	l := j.launch
	l.reaped = true
	e := l.status()
	if e.Code == unknownFlag && len(j.spec.KnownFlags) > 0 {
		flags.forget()
	}
	e.At = time.Now().UTC()
	if (e.Code != 0 || e.Signal != 0) && e.Signal != int(killSignal) { // nobody has last words on SIGKILL
		if l.copied != nil {
			select {
			case <-l.copied:
			case <-time.After(lastWords):
			}
		}
		if !l.terminal {
			e.Reason = j.Output.LastLine()
		}
	}
	return phase.Event{Kind: phase.Exited, Epoch: l.number, Exit: &e}
}

// end ends the tree of the current launch: politely for phase.Stop, at once for phase.Kill. A tree that is empty
// already is Gone without a write; else the ladder is walked beside, and its end comes as an event.
func (j *job) end(_ context.Context, act phase.Act) *phase.Event { //nolint:contextcheck // what watches a launch ends with the launch
	l := j.launch
	gone := phase.Event{Kind: phase.Gone, Epoch: j.state.Launch}
	if l == nil {
		return &gone
	}
	if l.reaped && l.tree.Empty() {
		j.drop()
		return &gone
	}
	j.save()
	if act == phase.Stop {
		j.announceStop(l)
	}
	l.ending = true
	l.cancel() // no probe, and no ladder but this one
	ladder := j.spec.ladder()
	if act == phase.Kill {
		ladder = process.KillLadder()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	l.ctx, l.cancel = ctx, cancel
	name := j.spec.Name
	go func() {
		err := l.tree.End(ctx, ladder)
		for tries := 0; err != nil && act == phase.Kill && ctx.Err() == nil; tries++ {
			if tries == 0 {
				j.Log.Warn("service not ended, trying again", "service", name, "error", err.Error())
			}
			select {
			case <-time.After(retryKill):
				err = l.tree.End(ctx, ladder)
			case <-ctx.Done():
			}
		}
		e := phase.Event{Kind: phase.StopDeadline, Epoch: l.number}
		if err == nil {
			e = gone
			select {
			case <-l.gone: // the leader's own end is told first
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return // another ladder, or nobody, waits for this one
		}
		select {
		case j.events <- e:
		case <-ctx.Done():
		}
	}()
	return nil
}

// drop forgets the current launch, of which nothing lives.
func (j *job) drop() {
	j.launch.cancel()
	j.launch = nil
}

package turn

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

const (
	heartbeatEvery = 10 * time.Second // the marker's mtime: the last proof of life that others see
	// An agent that tells its session with the model's first word does so after some seconds; later, the heartbeat is in time.
	listenEvery = time.Second
	listenFor   = time.Minute

	stallLockWait = 100 * time.Millisecond           // of what is only told
	settledAfter  = process.Patience + time.Second/2 // what started stays up for minutes or hours from here on, and is watched
)

// killNow is the last rung alone.
var killNow = process.Ladder{{Signal: syscall.SIGKILL, Scope: process.ScopeTree}}

// ending is how a run ended, as far as its keeper saw it.
type ending struct {
	policy.ExitFacts

	taken   bool // the marker went to someone else meanwhile
	leaving bool // a shutdown was announced: whatever happens, nothing is started again
}

// settle makes the code of an ending say what the class says: an interrupt is 130 whatever the agent exits with, and
// after the agent's own word on the end, the death that followed counts for nothing.
func (e *ending) settle(class policy.Exit) {
	switch {
	case class == policy.ExitInterrupted:
		e.Code, e.Signal = 130, 2
	case class == policy.ExitConcluded && e.Signaled && e.EndEvent:
		e.Code, e.Signal = 0, 0
	case class == policy.ExitConcluded && e.Signaled && e.ErrorEvent:
		e.Code, e.Signal = 1, 0
	}
}

// await watches one run until the agent has exited: orders, the marker (someone else may ask for the end), stall,
// heartbeat. Asking for the end is durable before any signal.
func (j *job) await(ctx context.Context) ending {
	r := j.run
	var e ending
	started := time.Now()
	drainBy := never()
	defer drainBy.Stop()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	settled := time.NewTimer(settledAfter)
	defer settled.Stop()
	first := true // it has not settled yet
	stall := never()
	defer stall.Stop()
	quiet := silence{limit: j.Request.Stall, woke: started}
	listen, heard := never(), started
	defer listen.Stop()
	if j.Request.Stall > 0 {
		stall.Reset(quiet.wait(started, time.Now()))
	}
	// A ladder takes every descendant of this process for its own, so none may outlive its run: the receipt or the
	// continuation would be next. What is left then is ended by closeRun.
	ladders, stopLadders := context.WithCancel(ctx)
	var climbing sync.WaitGroup
	defer climbing.Wait()
	defer stopLadders()
	stop := func(l process.Ladder) { climbing.Go(func() { j.end(ladders, r, l) }) }
	for _, instance := range j.spent { // the agent runs already: tidying up costs it nothing
		j.dropRunFiles(instance)
	}
	j.spent = nil

	for {
		select {
		case <-r.child.Done():
			exit := r.child.Exit()
			e.Code, e.Signal, e.Signaled = exit.Code, exit.Signal, exit.Signaled
			return e
		case order := <-j.Orders:
			j.asked = true
			switch {
			case order == OrderInterrupt && e.StopRequested:
				j.Say("killing the agent and everything that it started")
				stop(killNow)
			case order == OrderInterrupt:
				e.StopRequested = true
				j.Say("interrupting the turn; once more kills it")
				if err := j.markStopping(ctx); err != nil {
					j.Say("the interrupt is not recorded: %v", err)
				}
				stop(process.InterruptLadder())
			case e.leaving || j.Request.Drain <= 0:
				e.leaving, e.Draining = true, true
				stop(j.Request.Agent.stop())
			default:
				e.leaving = true
				j.Say("shutting down: waiting up to %s for the turn, then the agent is stopped and the turn stays open", j.Request.Drain)
				drainBy.Reset(j.Request.Drain)
			}
		case <-drainBy.C:
			e.Draining = true
			stop(j.Request.Agent.stop())
		case <-stall.C:
			if next := quiet.wait(r.err.growth(r.out.growth(started)), time.Now()); next > 0 {
				stall.Reset(next)
				continue
			}
			e.Stalled = true
			j.markStalled(ctx)
			j.Say("no sign of life for %s: ending the agent as crashed", j.Request.Stall)
			stop(j.Request.Agent.stop())
		case <-j.wake:
			switch stopping, err := j.lookAtMarker(ctx); {
			case errors.Is(err, errTaken) && e.taken: // it is being ended
			case errors.Is(err, errTaken):
				e.taken = true
				j.Say("the turn was taken from this keeper: ending the agent")
				stop(killNow)
			case err != nil:
				j.sayUnseen(err)
			case stopping && !e.StopRequested:
				e.StopRequested, j.asked = true, true
				j.Say("the turn is being interrupted")
				stop(process.InterruptLadder())
			}
		case <-settled.C:
			if !first { // what a heartbeat needed, until the next one
				process.GiveBackPages()
				continue
			}
			first = false
			j.noteSession(ctx)
			process.GiveBackMemory()
			if j.awaitsSession() {
				listen.Reset(listenEvery)
			}
		case <-listen.C:
			if grown := r.err.growth(r.out.growth(started)); grown.After(heard) {
				heard = grown
				j.noteSession(ctx)
			}
			if j.awaitsSession() && time.Since(started) < listenFor {
				listen.Reset(listenEvery)
			}
		case <-beat.C:
			j.noteSession(ctx)
			if err := j.Room.files().Heartbeat(j.Request.Session, time.Now()); err != nil {
				j.Room.log().Warn("heartbeat not written", "error", err.Error())
			}
			settled.Reset(settledAfter)
		}
	}
}

// never is a timer that does not fire until it is reset.
func never() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// sayUnseen tells of a fault once, for as long as it stays the same: the marker is looked at every second.
func (j *job) sayUnseen(err error) {
	if text := err.Error(); j.unseen != text {
		j.unseen = text
		j.Say("the marker cannot be looked at: %s", text)
	}
}

// lookAtMarker tells whether someone has asked for the end; errTaken when the turn is no longer this keeper's. It takes
// the lock only to write a marker again that is gone or cannot be used.
func (j *job) lookAtMarker(ctx context.Context) (stopping bool, err error) {
	defer func() {
		if err == nil {
			j.unseen = ""
		}
	}()
	// It is looked at every second for as long as the agent works: reading what has not changed costs the machine, and this
	// process the pages of all that reads.
	stamp, err := j.Room.files().Stamp(j.Request.Session)
	if err == nil && stamp == j.seenMarker {
		return j.markerStopping, nil
	}
	t, err := j.Room.files().Get(j.Request.Session)
	if err == nil && t.Keeper.Instance == j.self.Instance {
		j.seenMarker, j.markerStopping = stamp, t.Phase == fsstate.PhaseStopping
		return j.markerStopping, nil
	}
	if err != nil && !unusable(err) && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, j.update(ctx, "rewrite", func(t *fsstate.Turn) error { return j.put(t, "rewritten", "") })
}

func (j *job) markStopping(ctx context.Context) error {
	err := j.update(ctx, "interrupt", func(t *fsstate.Turn) error {
		if err := j.Room.leaveStopMark(t.Session, t); err != nil {
			return err
		}
		t.Phase = fsstate.PhaseStopping
		t.StopAskedAt = time.Now().UTC()
		return j.put(t, "stopping", policy.ReasonInterrupted)
	})
	fault.At("stop.durable")
	return err
}

// markStalled records that the agent is about to be ended since it stalled, for those who look on meanwhile: how it ended
// is recorded once it is gone, so a record that cannot be written now holds nothing up.
func (j *job) markStalled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stallLockWait)
	defer cancel()
	err := j.update(ctx, "stall", func(t *fsstate.Turn) error {
		t.StalledAt = time.Now().UTC()
		return j.put(t, "stalled", policy.ReasonStalled)
	})
	if err != nil {
		j.Room.log().Warn("stall not recorded", "error", err.Error())
	}
}

// end takes a run's tree down and says what would not go.
func (j *job) end(ctx context.Context, r *run, l process.Ladder) {
	if err := r.tree.End(ctx, l); err != nil && ctx.Err() == nil {
		j.Say("%v", err)
	}
}

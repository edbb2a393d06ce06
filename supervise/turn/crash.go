package turn

import (
	"context"
	"errors"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// crashed follows a death that concludes nothing: what is left of the tree is ended, then policy decides.
func (j *job) crashed(ctx context.Context, e ending, class policy.Exit, reason policy.Reason) (*Outcome, error) {
	fault.At("crash.end-tree")
	if err := j.closeRun(ctx); err != nil {
		return j.leave(ctx, e, reason, err.Error())
	}
	fault.At("crash.decide")
	if j.heldStill() {
		return j.leave(ctx, e, policy.ReasonOwnerAlive, unseenHolder)
	}
	j.Say("%s (%s)", reason.Text(), process.Exit{Code: e.Code, Signal: e.Signal, Signaled: e.Signaled})
	var out *Outcome
	err := j.insist(ctx, "record the crash", func() error {
		return j.update(ctx, "continue", func(t *fsstate.Turn) (err error) {
			if t.Phase == fsstate.PhaseStopping { // asked for while the tree was being ended
				out, err = j.retire(t)
				return err
			}
			t.Phase = fsstate.PhaseRunning
			t.Crash = crashOf(e, reason)
			j.Room.note(t, "crashed", fsstate.PhaseRunning, string(reason), &e.Code)
			n := next{by: j.by}
			if class == policy.ExitRateLimited {
				if n.limited = policy.RateLimited(t.Deferrals); n.limited > 0 {
					t.Deferrals++ // policy takes it off the attempts: a provider's limit is no crash
				}
			}
			out, err = j.goOn(ctx, t, n)
			return err
		})
	})
	return j.settled(ctx, out, err)
}

// heldStill tells whether something that was not to be found holds the witness of the run that has ended.
func (j *job) heldStill() bool {
	return j.Room.look().witness(j.turn.Owner.Instance) == ident.WitnessHeld
}

const unseenHolder = "the witness of the dead run is still held by a process that cannot be seen from here"

// next is the run that goOn asks for.
type next struct {
	by      policy.By
	waited  bool          // its back-off is over
	limited time.Duration // how long a provider's limit has it wait; 0: there is none
	fresh   bool          // the attempt once more that began with a run which found no session to resume
}

// goOn asks policy about a turn whose run is known to be gone, and carries the answer out; under the lock. After a wait
// it asks again, since the world may have changed (a pause, a lease), but waits no second time.
func (j *job) goOn(ctx context.Context, t *fsstate.Turn, n next) (*Outcome, error) {
	s := j.Room.look()
	gone := ident.Finding{Verdict: ident.Dead, Why: "its keeper saw it end"}
	f := policy.OfKeeper(s.facts(t, n.by, gone, gone))
	if n.fresh { // its attempt was granted, by whatever limit, when the run started that did not begin
		f.Settings.MaxAttempts = max(f.Settings.MaxAttempts, f.Attempts+1)
	}
	d := policy.Decide(f)
	if d.Action == policy.Continue && !n.waited {
		wait, why := policy.Backoff(j.Room.Settings, d.Attempt), policy.ReasonBackOff
		if n.limited > 0 {
			wait, why = n.limited, policy.ReasonRateLimited
		}
		if wait > 0 {
			d = policy.Decision{Action: policy.Wait, Reason: why, Attempt: d.Attempt, At: s.now.Add(wait)}
		}
	}
	switch d.Action {
	case policy.Continue:
		j.Say("continuing: attempt %d of %d", d.Attempt, j.Room.Settings.MaxAttempts)
		return nil, j.again(ctx, t, false, n.fresh)
	case policy.Wait:
		t.RetryAt = d.At.UTC()
		err := j.put(t, "waiting", d.Reason)
		fault.At("wait.durable")
		return nil, err
	case policy.End:
		file, err := j.Room.giveUp(t, d.Reason)
		if err != nil {
			return nil, err
		}
		return j.outcome(GaveUp, d.Reason, "the turn is kept in ended/"+file), nil
	case policy.Conclude:
		return j.retire(t)
	case policy.Keep:
	}
	return j.outcome(LeftOpen, d.Reason, "the turn stays open"), j.put(t, "left", d.Reason)
}

// settled turns what an update did into what the keeper does next: an outcome, or (nil, nil) for another run or wait.
func (j *job) settled(ctx context.Context, out *Outcome, err error) (*Outcome, error) {
	if errors.Is(err, errTaken) {
		return j.abandon(ctx)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case out == nil || out.State == LeftOpen:
	case out.State == GaveUp:
		j.dropRunFiles(j.turn.Owner.Instance, ".in")
	default:
		j.dropRunFiles(j.turn.Owner.Instance)
	}
	return out, nil
}

// retire ends a turn that someone asked to stop while none of it runs any more.
func (j *job) retire(t *fsstate.Turn) (*Outcome, error) {
	if err := j.Room.remove(t, "interrupted", policy.ReasonInterrupted); err != nil {
		return nil, err
	}
	out := j.outcome(Interrupted, policy.ReasonInterrupted, "")
	out.Code, out.Signal = 130, 2
	return out, nil
}

// backOff waits for the time of the next try, in which no agent runs. Orders and stop requests end the wait. The time is
// one of the wall clock, which goes on while the machine sleeps; the timer does not, so it is looked at as well.
func (j *job) backOff(ctx context.Context) (*Outcome, error) {
	wait := untilNext(j.turn, j.Room.Settings, time.Now())
	if wait > 2*time.Second {
		j.Say("waiting %s before attempt %d", wait.Round(time.Second), charged(j.turn)+1)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		select {
		case <-timer.C:
			var out *Outcome
			err := j.insist(ctx, "start the continuation", func() error {
				return j.update(ctx, "continue", func(t *fsstate.Turn) (err error) {
					if t.Phase == fsstate.PhaseStopping {
						out, err = j.retire(t)
						return err
					}
					t.RetryAt = time.Time{}
					out, err = j.goOn(ctx, t, next{by: j.by, waited: true})
					return err
				})
			})
			return j.settled(ctx, out, err)
		case order := <-j.Orders:
			if order == OrderDrain {
				return j.leaveDrained(ctx, policy.ReasonDrained)
			}
			var out *Outcome
			err := j.update(ctx, "interrupt", func(t *fsstate.Turn) (err error) {
				out, err = j.retire(t)
				return err
			})
			return j.settled(ctx, out, err)
		case <-j.wake:
			switch stopping, err := j.lookAtMarker(ctx); {
			case errors.Is(err, errTaken):
				return j.abandon(ctx)
			case err != nil:
				j.sayUnseen(err)
			case stopping || untilNext(j.turn, j.Room.Settings, time.Now()) == 0:
				timer.Reset(0)
			}
		case <-beat.C:
			if err := j.Room.files().Heartbeat(j.Request.Session, time.Now()); err != nil {
				j.Room.log().Warn("heartbeat not written", "error", err.Error())
			}
		}
	}
}

// untilNext is how long the next try of a turn has to wait, by the wall clock. A time beyond the longest wait that is ever
// ordered was written under another clock.
func untilNext(t *fsstate.Turn, s policy.Settings, now time.Time) time.Duration {
	return min(max(t.RetryAt.Round(0).Sub(now.Round(0)), 0), policy.LongestWait(s))
}

// leaveDrained ends this keeper's part without ending the turn: a shutdown is not an interrupt.
func (j *job) leaveDrained(ctx context.Context, reason policy.Reason) (*Outcome, error) {
	if err := j.closeRun(ctx); err != nil {
		j.Say("%v", err)
	}
	err := j.insist(ctx, "record the shutdown", func() error {
		return j.update(ctx, "drain", func(t *fsstate.Turn) error {
			if t.Phase != fsstate.PhaseStopping {
				t.Phase = fsstate.PhaseRunning
			}
			t.Drained = true
			return j.put(t, "drained", reason)
		})
	})
	fault.At("drain.durable")
	if errors.Is(err, errTaken) {
		return j.abandon(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := j.outcome(LeftOpen, policy.ReasonDrained, "the turn stays open and is continued from here")
	out.Code, out.Signal = 143, 15
	return out, nil
}

// leave reports a crash that nobody may continue now; the marker stays.
func (j *job) leave(ctx context.Context, e ending, reason policy.Reason, detail string) (*Outcome, error) {
	err := j.insist(ctx, "record the crash", func() error {
		return j.update(ctx, "leave", func(t *fsstate.Turn) error {
			t.Crash = crashOf(e, reason)
			return j.put(t, "left", reason)
		})
	})
	if err != nil && !errors.Is(err, errTaken) {
		return nil, err
	}
	return j.outcome(LeftOpen, reason, detail), nil
}

// refund follows an agent that was refused before it began, because someone else owns its session: no attempt is
// charged. A person's own prompt never began, so its marker goes and the caller is told; a continuation stays open.
func (j *job) refund(ctx context.Context, e ending, reason policy.Reason) (*Outcome, error) {
	if err := j.closeRun(ctx); err != nil {
		return j.leave(ctx, e, reason, err.Error())
	}
	var out *Outcome
	err := j.insist(ctx, "refund the attempt", func() error {
		return j.update(ctx, "refund", func(t *fsstate.Turn) (err error) {
			if t.Phase == fsstate.PhaseStopping { // asked for while the agent was refused
				out, err = j.retire(t)
				return err
			}
			if t.Attempts == 0 {
				j.Room.note(t, "refused", t.Phase, string(reason), nil)
				return j.Room.files().Delete(t.Session)
			}
			t.Attempts--
			t.Crash = crashOf(e, reason)
			return j.put(t, "refunded", reason)
		})
	})
	if err != nil && !errors.Is(err, errTaken) {
		return nil, err
	}
	if out != nil {
		return j.settled(ctx, out, nil)
	}
	if j.turn.Attempts == 0 && j.turn.Crash == nil {
		return j.outcome(Refused, reason, "the agent refused the turn before it began"), nil
	}
	return j.outcome(LeftOpen, reason, "the agent refused the turn before it began; no attempt was charged"), nil
}

// abandon is the end of a keeper whose marker went to someone else: its agent must not work on beside them.
func (j *job) abandon(ctx context.Context) (*Outcome, error) {
	if err := j.closeRun(ctx); err != nil {
		j.Say("%v", err)
	}
	return &Outcome{State: Refused, Reason: policy.ReasonTaken, Detail: errTaken.Error(), Session: j.Request.Session, EndedAt: time.Now().UTC()}, nil
}

func crashOf(e ending, reason policy.Reason) *fsstate.End {
	return &fsstate.End{Code: e.Code, Signal: e.Signal, Reason: string(reason), At: time.Now().UTC()}
}

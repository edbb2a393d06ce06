package turn

import (
	"context"
	"errors"
	"time"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// mayWait tells whether a refusal can pass by itself: somebody lives now.
func mayWait(o *Outcome) bool {
	if o == nil || o.State != Refused {
		return false
	}
	switch o.Reason {
	case policy.ReasonKeeperAlive, policy.ReasonOwnerAlive, policy.ReasonReceiptRunning, policy.ReasonLeaseHeld:
		return true
	default:
		return false
	}
}

// waitFor waits for what holds the session (`turn run --wait`), without the lock. An agent that has lost its keeper is
// watched by its handle, since only who watches it then can tell later how it ended. It returns an outcome when the
// wait is over without a change: by its length, or by an order.
func (j *job) waitFor(ctx context.Context, until time.Time) *Outcome {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		j.watchHolder(ctx)
	}()
	select {
	case <-changed:
		if ctx.Err() == nil {
			return nil
		}
		return &Outcome{State: WaitRanOut, Reason: policy.ReasonOwnerAlive, Session: j.Request.Session, EndedAt: time.Now().UTC()}
	case order := <-j.Orders:
		cancel()
		<-changed
		if order == OrderDrain {
			return &Outcome{State: LeftOpen, Reason: policy.ReasonDrained, Session: j.Request.Session, Code: 143, Signal: 15, EndedAt: time.Now().UTC()}
		}
		return &Outcome{State: Interrupted, Reason: policy.ReasonStopRequested, Detail: "nothing was started", Session: j.Request.Session, Code: 130, Signal: 2, EndedAt: time.Now().UTC()}
	}
}

// watchHolder returns when the standing of the session may have changed, or ctx has ended.
func (j *job) watchHolder(ctx context.Context) {
	s := j.Room.look()
	t, err := j.Room.files().Get(j.Request.Session)
	if err == nil && s.keeper(t).Verdict == ident.Dead && ident.Check(t.Owner) == ident.Alive {
		exit, known, err := process.AwaitEnd(ctx, t.Owner, func() {
			j.Say("waiting for the agent of a dead keeper, pid %d", t.Owner.PID)
		})
		if err == nil && known && t.Verified {
			j.seen = &sighting{t.Owner.Instance, exit}
		}
		if err == nil || errors.Is(err, ctx.Err()) {
			return
		}
	}
	select {
	case <-ctx.Done():
	case <-j.wake: // at least once a second
	}
}

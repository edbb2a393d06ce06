package handoff

import (
	"context"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// Claim makes a pending handoff a running one of the claimer that c names; prepare is called with the record as it will
// be, under the lock and before anything is written. One claim wins. The error is a *RefusedError where it is not this one.
func (q *Queue) Claim(ctx context.Context, id string, c fsstate.Claim, prepare func(h *fsstate.Handoff) error) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Claim, "", func(h *fsstate.Handoff, _ queue.Step) error {
		c.At = time.Now().UTC()
		if h.Claim == nil || h.Claim.Turn == "" || c.Turn == "" || !q.ownTurn(h) { // else the turn is still to be ended
			h.CancelAsked = time.Time{}
		}
		h.Claim, h.End = &c, nil
		h.Tries++
		if prepare == nil {
			return nil
		}
		return prepare(h)
	})
}

// ClaimOldest claims the oldest handoff that waits for a platform which a program of its own serves. The error is ErrNone
// where nothing waits, or all that waits is held back by open turns.
func (q *Queue) ClaimOldest(ctx context.Context, platform string, c fsstate.Claim) (*fsstate.Handoff, error) {
	h, _, err := (&Serving{Platform: platform}).Claim(ctx, []*Queue{q}, c)
	return h, err
}

// Complete ends a running handoff as delivered, for the claim that runs it. Once more, it changes nothing.
func (q *Queue) Complete(ctx context.Context, id, claim string) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Complete, claim, end(nil, ""))
}

// Fail ends a running handoff as not delivered, for the claim that runs it. Once more, it changes nothing.
func (q *Queue) Fail(ctx context.Context, id, claim, detail string) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Fail, claim, end(nil, detail))
}

// fail is Fail for another reason, as a keeper knows it.
func (q *Queue) fail(ctx context.Context, id, claim string, r queue.Reason, code *int, detail string) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Fail, claim, func(h *fsstate.Handoff, s queue.Step) error {
		s.Reason = r
		return end(code, detail)(h, s)
	})
}

// complete is Complete with the command's exit code.
func (q *Queue) complete(ctx context.Context, id, claim string, code *int) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Complete, claim, end(code, ""))
}

// Cancel ends a pending handoff, and asks whoever delivers a running one to stop.
func (q *Queue) Cancel(ctx context.Context, id string) (*fsstate.Handoff, error) {
	return q.change(ctx, id, queue.Cancel, "", end(nil, ""))
}

// Retry makes a failed handoff a pending one again, under the same id.
func (q *Queue) Retry(ctx context.Context, id string) (*fsstate.Handoff, error) {
	h, err := q.change(ctx, id, queue.Retry, "", func(h *fsstate.Handoff, _ queue.Step) error {
		h.CancelAsked = time.Time{}
		h.Retries++
		return nil
	})
	if err == nil {
		q.Files.ForgetNext(h.Platform)
	}
	return h, err
}

// Reclaim settles a running handoff whose claimer is dead and of whose delivery nothing lives: it has failed, and may
// have been delivered; or, where it is delivered as a turn, it is pending again. The error is a *RefusedError while
// somebody lives, or nobody can tell.
func (q *Queue) Reclaim(ctx context.Context, id string) (*fsstate.Handoff, error) {
	var spent string
	h, err := q.change(ctx, id, queue.Reclaim, "", func(h *fsstate.Handoff, s queue.Step) error {
		if !h.Verified { // whose claim it names may be anyone's word
			return &RefusedError{ID: id, Reason: queue.ReasonUnverified, State: queue.Running}
		}
		if h.Claim != nil {
			spent = h.Claim.Claimer.Instance
		}
		if s.To == queue.Pending {
			return nil
		}
		return end(nil, "")(h, s)
	})
	if err == nil && spent != "" {
		q.dropRunFiles(spent)
	}
	return h, err
}

// annotate adds to a claim what its claimer has learned, under the handoff's lock.
func (q *Queue) annotate(ctx context.Context, id, claim string, add func(c *fsstate.Claim)) error {
	unlock, err := q.Files.Store.Lock(ctx, fsstate.HandoffLock(id), "handoff record")
	if err != nil {
		return err
	}
	defer unlock()
	h, err := q.get(id)
	if err != nil {
		return err
	}
	if h.State != string(queue.Running) || h.Claim == nil || h.Claim.Claimer.Instance != claim {
		return &RefusedError{ID: id, Reason: queue.ReasonOtherClaim, State: queue.State(h.State)}
	}
	add(h.Claim)
	return q.Files.Put(h)
}

// end completes the record of a step to an end.
func end(code *int, detail string) func(*fsstate.Handoff, queue.Step) error {
	return func(h *fsstate.Handoff, s queue.Step) error {
		if s.Reason == queue.ReasonCancelled && h.Claim != nil && h.End == nil { // a delivery had begun, and was taken back
			s.Reason = queue.ReasonDeliveryCancelled
		}
		h.End = &fsstate.HandoffEnd{Reason: string(s.Reason), Code: code, At: time.Now().UTC()}
		if s.To == queue.Failed {
			h.End.Error = queue.Failure(s.Reason, h.ID, detail)
		}
		return nil
	}
}

// Heartbeat says that a claim's delivery goes on, and whether it should: a *RefusedError when the claim has it no more,
// or somebody asked for its end (ReasonCancelAsked).
func (q *Queue) Heartbeat(id, claim string) error {
	h, err := q.get(id)
	if err != nil {
		return err
	}
	state := queue.State(h.State)
	switch {
	case state != queue.Running, h.Claim == nil, h.Claim.Claimer.Instance != claim:
		return &RefusedError{ID: id, Reason: queue.ReasonOtherClaim, State: state}
	case !h.CancelAsked.IsZero():
		return &RefusedError{ID: id, Reason: queue.ReasonCancelAsked, State: state}
	}
	return q.Files.Heartbeat(id, time.Now())
}

// errSuffix names the file in run/ that takes what a claim's command writes to stderr.
const errSuffix = ".err"

// dropRunFiles removes what a claim that has ended left in run/; a sweep takes what stays.
func (q *Queue) dropRunFiles(claim string) {
	if err := q.Files.Store.Discard(fsstate.Run, claim+".in", claim+errSuffix); err != nil {
		q.log().Warn("run files not removed", "error", err.Error())
	}
}

// Sweep removes handoffs that have ended before a point in time, and what is left of open records of ended ones.
func (q *Queue) Sweep(ctx context.Context, before time.Time) {
	ids, err := q.Files.Ended()
	if ctx.Err() != nil {
		return // whoever sweeps has closed its home
	}
	if err != nil {
		q.log().Warn("handed/ not swept", "error", err.Error())
		return
	}
	for _, id := range ids {
		at, err := q.Files.EndedAt(id)
		if err != nil || !at.Before(before) || ctx.Err() != nil {
			continue
		}
		if err := q.drop(ctx, id, before); err != nil {
			q.log().Warn("old handoff not removed", "handoff", id, "error", err.Error())
		}
	}
}

// tidy removes what is left of the open record of a handoff that has ended. Under the lock it looks again: a handoff that
// is being retried lies in both folders for a moment, and its open record is then all that there will be of it. One that
// is open by now is returned.
func (q *Queue) tidy(ctx context.Context, id string) (*fsstate.Handoff, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	unlock, err := q.Files.Store.Lock(ctx, fsstate.HandoffLock(id), "handoff tidy")
	if err != nil {
		return nil, err
	}
	defer unlock()
	h, err := q.get(id)
	if err != nil || queue.State(h.State).Open() {
		return h, err
	}
	return nil, q.Files.Tidy(id)
}

// drop looks again under the lock: it may have been retried meanwhile.
func (q *Queue) drop(ctx context.Context, id string, before time.Time) error {
	unlock, err := q.Files.Store.Lock(ctx, fsstate.HandoffLock(id), "handoff sweep")
	if err != nil {
		return err
	}
	defer unlock()
	if at, err := q.Files.EndedAt(id); err != nil || !at.Before(before) {
		return nil // gone, or younger: nothing to do
	}
	return q.Files.Drop(id)
}

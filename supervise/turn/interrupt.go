package turn

import (
	"context"
	"fmt"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Interruption is what an interrupt came to.
type Interruption struct {
	Session string
	Found   bool // an open turn was there; else a keeper that is just starting will be stopped
	Ended   bool // the turn is over and its session is free
	Detail  string
}

// PermissionError is an order that the state on disk does not justify (exit 77).
type PermissionError struct{ Problem string }

func (e *PermissionError) Error() string { return e.Problem }

// Interrupt ends the open turn that a key names, for good. The order is durable before any signal, and wins also when
// it comes before the marker is written. It waits up to the given time for the session to be free.
func (r *Room) Interrupt(ctx context.Context, key string, wait time.Duration) (Interruption, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return Interruption{}, err
	}
	in := Interruption{Session: session}
	st, err := r.recordStop(ctx, session)
	if err != nil || st.turn == nil {
		in.Detail = "no open turn; a turn of this session that is just starting will not begin"
		return in, err
	}
	in.Found = true
	if st.turn.Phase != fsstate.PhaseStopping { // retired at once, or ended already
		in.Ended, in.Detail = true, "the turn is over"
		if r := st.turn.Receipt; st.turn.Phase == fsstate.PhaseConcluded && r != nil && r.Pending {
			in.Detail = "the turn had concluded; its receipt is due"
		}
		return in, nil
	}
	if !st.turn.Reported() && st.keeper.Verdict == ident.Dead && st.owner.Verdict != ident.Dead {
		if err := r.endOrphan(ctx, st, wait); err != nil {
			return in, err
		}
	}
	in.Ended, in.Detail, err = r.awaitFree(ctx, session, wait)
	return in, err
}

// recordStop makes the order durable, under the session's lock.
func (r *Room) recordStop(ctx context.Context, session string) (standing, error) {
	unlock, err := r.lock(ctx, session, "interrupt")
	if err != nil {
		return standing{}, err
	}
	defer unlock()
	st, err := r.stand(session)
	if err != nil {
		return st, err
	}
	t := st.turn
	if t == nil {
		return st, r.leaveStopMark(session, nil)
	}
	if t.Phase == fsstate.PhaseConcluded {
		return st, nil
	}
	if err := r.leaveStopMark(session, t); err != nil { // first: the turn may be gone before whoever waits for it looks
		return st, err
	}
	switch dead := st.keeper.Verdict == ident.Dead && st.owner.Verdict == ident.Dead; {
	case dead:
		return st, r.remove(t, "interrupted", policy.ReasonInterrupted)
	case t.Origin != nil && t.Reported():
		// Hermes stops its own work. What is ours is that it is never continued; the session is free when its writer is
		// done with the entry, or dead.
		t.Phase = fsstate.PhaseStopping
		err := r.forgetHermes(t, fsstate.End{Code: 130, Signal: 2, Reason: string(policy.ReasonInterrupted), At: time.Now().UTC()})
		if err == nil && sheltered(t) {
			err = r.files().Delete(t.Session)
		}
		return st, err
	}
	from := t.Phase
	t.Phase = fsstate.PhaseStopping
	t.StopAskedAt = time.Now().UTC()
	if err := r.files().Put(t); err != nil {
		return st, err
	}
	r.note(t, "stopping", from, string(policy.ReasonInterrupted), nil)
	return st, nil
}

// endOrphan stops an agent whose keeper is dead. Only a record that verifies, an identity that holds and the agent's
// own environment together justify a signal.
func (r *Room) endOrphan(ctx context.Context, st standing, wait time.Duration) error {
	t := st.turn
	if !t.Verified {
		return &PermissionError{fmt.Sprintf("signal the agent of session %q (pid %d): the record does not verify, so it names nobody; end it yourself, the turn will not be continued", t.Session, t.Owner.PID)}
	}
	if st.owner.Verdict == ident.Unknown {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(wait, time.Second))
	defer cancel()
	tree := process.Tree{Instance: t.Owner.Instance, Leader: t.Owner, Orphan: true}
	if err := tree.End(ctx, process.InterruptLadder()); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// awaitFree waits until the turn is over. A turn whose keeper died on the way is retired here.
func (r *Room) awaitFree(ctx context.Context, session string, wait time.Duration) (ended bool, detail string, err error) {
	deadline := time.After(wait)
	wake, stop := r.watchTurn(ctx, session, nil)
	defer stop()
	for {
		free, detail, err := r.retireStopped(ctx, session)
		if free || err != nil {
			return free, detail, err
		}
		select {
		case <-wake:
		case <-deadline:
			return false, detail, nil
		case <-ctx.Done():
			return false, detail, ctx.Err()
		}
	}
}

func (r *Room) retireStopped(ctx context.Context, session string) (free bool, detail string, err error) {
	unlock, err := r.lock(ctx, session, "interrupt")
	if err != nil {
		return false, "", err
	}
	defer unlock()
	st, err := r.stand(session)
	switch {
	case err != nil:
		return false, "", err
	case st.turn == nil || st.turn.Phase == fsstate.PhaseIntended || st.turn.Phase == fsstate.PhaseRunning:
		return true, "the turn is over", nil
	case st.keeper.Verdict == ident.Alive:
		if ident.Stopped(st.turn.Keeper) {
			return false, fmt.Sprintf("keeper pid %d is stopped, and will end it when SIGCONT lets it go on", st.turn.Keeper.PID), nil
		}
		return false, fmt.Sprintf("keeper pid %d is ending it", st.turn.Keeper.PID), nil
	case st.keeper.Verdict == ident.Dead && st.owner.Verdict == ident.Dead && st.turn.Phase == fsstate.PhaseStopping:
		return true, "the turn is over", r.remove(st.turn, "interrupted", policy.ReasonInterrupted)
	}
	return false, "agent: " + st.owner.Why, nil
}

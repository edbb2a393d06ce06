package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// BusyError is an order that a living process holds back (exit 75).
type BusyError struct {
	Session string
	Detail  string
}

func (e *BusyError) Error() string { return fmt.Sprintf("session %q is busy: %s", e.Session, e.Detail) }

// ErrNoTurn is returned where a session has no open turn.
var ErrNoTurn = errors.New("no open turn")

// clearGrace is how long a live owner's agent may take to go when its marker is cleared by force.
const clearGrace = 10 * time.Second

// Clear moves the open turn of a session to ended/, whatever its state. Where a keeper or owner may live it refuses,
// unless forced: then what the record provably names is ended first, so that a cleared session is not worked on behind
// the back of the next turn; a record that cannot be used is set aside. It returns the file in ended/, or "" where there
// is none: a living keeper ended its turn on our order, the turn had concluded, or its record was set aside.
func (r *Room) Clear(ctx context.Context, key string, force bool) (string, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return "", err
	}
	file, st, err := r.clearLocked(ctx, session, force)
	busy, ok := errors.AsType[*BusyError](err)
	if !ok || !force {
		return file, err
	}
	if !st.turn.Verified {
		return "", &PermissionError{fmt.Sprintf("end the agent of session %q (%s): the record does not verify, so it names nobody; end it yourself first", session, busy.Detail)}
	}
	// The order comes first and is durable, so that a keeper that sees its agent go does not continue the turn.
	if _, err := r.recordStop(ctx, session); err != nil {
		return "", err
	}
	if st.keeper.Verdict == ident.Alive {
		if ended, _, err := r.awaitFree(ctx, session, clearGrace); ended || err != nil {
			return "", err
		}
	}
	ending, cancel := context.WithTimeout(ctx, clearGrace)
	defer cancel()
	tree := process.Tree{Instance: st.turn.Owner.Instance, Leader: st.turn.Owner, Orphan: true}
	_ = tree.End(ending, process.StopLadder(clearGrace/2)) // what would not go is seen by the second look
	file, _, err = r.clearLocked(ctx, session, true)
	return file, err
}

// clearLocked clears what nobody works on; with force also what only its keeper, or an unknown, still claims.
func (r *Room) clearLocked(ctx context.Context, session string, force bool) (string, standing, error) {
	unlock, err := r.lock(ctx, session, "turn clear")
	if err != nil {
		return "", standing{}, err
	}
	defer unlock()
	st, err := r.stand(session)
	if unusable(err) && force {
		return "", st, r.setAside(fsstate.Name(session)+".json", err)
	}
	if err != nil {
		return "", st, err
	}
	t := st.turn
	if t == nil {
		return "", st, fmt.Errorf("session %q: %w", session, ErrNoTurn)
	}
	ownWork := !t.Reported() && st.owner.Verdict == ident.Alive
	switch {
	case force && ownWork:
		return "", st, &BusyError{session, "agent: " + st.owner.Why}
	case !force && (st.keeper.Verdict != ident.Dead || st.owner.Verdict != ident.Dead):
		return "", st, &BusyError{session, refusal(st) + " (use --force to clear it all the same)"}
	}
	if t.Phase == fsstate.PhaseConcluded { // its end is on disk: there is nothing to bring back
		err := r.remove(t, "cleared", policy.ReasonCleared)
		if err == nil {
			r.dropRunFiles(t.Owner.Instance)
		}
		return "", st, err
	}
	file, err := r.giveUp(t, policy.ReasonCleared)
	if err == nil {
		r.dropRunFiles(t.Owner.Instance, ".in")
	}
	return file, st, err
}

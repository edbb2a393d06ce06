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

// EndedError is ErrNoTurn where the session's last turn was given up, cleared or replaced, and can be brought back.
type EndedError struct {
	Turn *fsstate.Turn // as it lies in ended/
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("session %q: %v; its last one is in ended/ since %s: %s",
		e.Turn.Session, ErrNoTurn, e.Turn.Ended.At.Local().Format(time.DateTime), policy.Reason(e.Turn.Ended.Reason).Text())
}

func (e *EndedError) Unwrap() error { return ErrNoTurn }

// noTurn is the error of a session without an open turn.
func (r *Room) noTurn(session string) error {
	if t, _ := r.lastEnded(session); t != nil {
		return &EndedError{Turn: t}
	}
	return fmt.Errorf("session %q: %w", session, ErrNoTurn)
}

// clearGrace is how long a live owner's agent may take to go when its marker is cleared by force.
const clearGrace = 10 * time.Second

// Cleared is what became of a cleared turn's record.
type Cleared struct {
	File string // in ended/, "" where it is not there
	How  string // for people
}

// Clear moves the open turn of a session to ended/, whatever its state. Where a keeper or owner may live it refuses,
// unless forced: then what the record provably names is ended first, so that a cleared session is not worked on behind
// the back of the next turn; a record that cannot be used is set aside.
func (r *Room) Clear(ctx context.Context, key string, force bool) (Cleared, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return Cleared{}, err
	}
	cleared, st, err := r.clearLocked(ctx, session, force)
	busy, ok := errors.AsType[*BusyError](err)
	if !ok || !force {
		return cleared, err
	}
	if !st.turn.Verified {
		return Cleared{}, &PermissionError{fmt.Sprintf("end the agent of session %q (%s): the record does not verify, so it names nobody; end it yourself first", session, busy.Detail)}
	}
	// The order comes first and is durable, so that a keeper that sees its agent go does not continue the turn.
	if _, err := r.recordStop(ctx, session); err != nil {
		return Cleared{}, err
	}
	if st.keeper.Verdict == ident.Alive {
		if ended, _, err := r.awaitFree(ctx, session, clearGrace); ended || err != nil {
			return Cleared{How: "its keeper ended it"}, err
		}
	}
	ending, cancel := context.WithTimeout(ctx, clearGrace)
	defer cancel()
	tree := process.Tree{Instance: st.turn.Owner.Instance, Leader: st.turn.Owner, Orphan: true}
	_ = tree.End(ending, process.StopLadder(clearGrace/2)) // what would not go is seen by the second look
	cleared, _, err = r.clearLocked(ctx, session, true)
	return cleared, err
}

// clearLocked clears what nobody works on; with force also what only its keeper, or an unknown, still claims.
func (r *Room) clearLocked(ctx context.Context, session string, force bool) (Cleared, standing, error) {
	unlock, err := r.lock(ctx, session, "turn clear")
	if err != nil {
		return Cleared{}, standing{}, err
	}
	defer unlock()
	st, err := r.stand(session)
	if unusable(err) && force {
		return Cleared{How: "its record could not be used, and was set aside in turns/"}, st, r.setAside(fsstate.Name(session)+".json", err)
	}
	if err != nil {
		return Cleared{}, st, err
	}
	t := st.turn
	if t == nil {
		return Cleared{}, st, r.noTurn(session)
	}
	ownWork := !t.Reported() && st.owner.Verdict == ident.Alive
	switch {
	case force && ownWork:
		return Cleared{}, st, &BusyError{session, "agent: " + st.owner.Why}
	case !force && (st.keeper.Verdict != ident.Dead || st.owner.Verdict != ident.Dead):
		return Cleared{}, st, &BusyError{session, refusal(st) + " (use --force to clear it all the same)"}
	}
	if t.Phase == fsstate.PhaseConcluded { // its end is on disk: there is nothing to bring back
		err := r.remove(t, "cleared", policy.ReasonCleared)
		if err == nil {
			r.dropRunFiles(t.Owner.Instance)
		}
		return Cleared{How: "it had concluded"}, st, err
	}
	file, err := r.giveUp(t, policy.ReasonCleared)
	if err == nil {
		r.dropRunFiles(t.Owner.Instance, ".in")
	}
	return Cleared{File: file, How: "moved to ended/" + file}, st, err
}

package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// keepEnded is how long a turn in ended/, a recorded outcome and its output can be brought back.
const keepEnded = 7 * 24 * time.Hour

// Resumable are the sessions that `turn resume --all` takes up: dead open turns that may not be continued by themselves
// or not now, and what lies in ended/, oldest first. A turn that someone cleared or replaced was given up by a person
// and is resumed by name only.
func (r *Room) Resumable() ([]string, []error) {
	views, bad := r.List()
	var turns []*fsstate.Turn
	seen := map[string]bool{}
	for _, v := range views {
		seen[v.Turn.Session] = true
		if v.Keeper.Verdict == ident.Dead && v.Owner.Verdict == ident.Dead && (v.Turn.Phase == fsstate.PhaseIntended || v.Turn.Phase == fsstate.PhaseRunning) {
			turns = append(turns, v.Turn)
		}
	}
	ended, more := r.files().All(fsstate.Ended)
	slices.SortFunc(ended, func(a, b *fsstate.Turn) int { return b.StartedAt.Compare(a.StartedAt) }) // newest of a session first
	for _, t := range ended {
		if seen[t.Session] || t.Ended == nil {
			continue
		}
		seen[t.Session] = true
		switch policy.Reason(t.Ended.Reason) {
		case policy.ReasonStale, policy.ReasonAttemptsExhausted:
			turns = append(turns, t)
		default:
		}
	}
	slices.SortStableFunc(turns, func(a, b *fsstate.Turn) int { return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano()) })
	sessions := make([]string, len(turns))
	for i, t := range turns {
		sessions[i] = t.Session
	}
	return sessions, append(bad, more...)
}

// Restore makes sure that a session has an open turn to resume: the one that is open, or the newest of ended/, which
// comes back as a dead turn with a full budget. It returns that turn.
func (r *Room) Restore(ctx context.Context, key string) (*fsstate.Turn, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return nil, err
	}
	unlock, err := r.lock(ctx, session, "turn resume")
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, err := r.stand(session)
	if err != nil || st.turn != nil {
		return st.turn, err
	}
	ended, bad := r.files().All(fsstate.Ended)
	var newest *fsstate.Turn
	for _, t := range ended {
		if t.Session == session && (newest == nil || t.StartedAt.After(newest.StartedAt)) {
			newest = t
		}
	}
	if newest == nil {
		for _, err := range bad {
			r.log().Warn("record in ended/ cannot be read", "error", err.Error())
		}
		return nil, fmt.Errorf("session %q: %w, and none in ended/", session, ErrNoTurn)
	}
	if !newest.Verified {
		return nil, &PermissionError{fmt.Sprintf("resume %s: the record does not verify, so its prompt may be anyone's; read it, and give the prompt yourself", r.Store.Path(fsstate.Ended, newest.File))}
	}
	t := *newest
	t.Ended, t.Attempts, t.Deferrals, t.RetryAt = nil, 0, 0, time.Time{}
	if err := r.files().Put(&t); err != nil {
		return nil, err
	}
	r.note(&t, "restored", "", newest.Ended.Reason, nil)
	return &t, r.files().DropEnded(newest.File)
}

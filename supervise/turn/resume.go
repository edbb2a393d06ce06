package turn

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	given, more := r.GivenUp()
	for _, t := range given {
		if !seen[t.Session] {
			turns = append(turns, t)
		}
	}
	slices.SortStableFunc(turns, func(a, b *fsstate.Turn) int { return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano()) })
	sessions := make([]string, len(turns))
	for i, t := range turns {
		sessions[i] = t.Session
	}
	return sessions, append(bad, more...)
}

// GivenUp are the turns in ended/ that were tried too often or grew too old, where they are the last ones of their sessions
// there, and what of ended/ cannot be read. A session may have another turn open by now.
func (r *Room) GivenUp() (turns []*fsstate.Turn, bad []error) {
	look := r.look()
	ended, bad := r.files().All(fsstate.Ended)
	slices.SortFunc(ended, func(a, b *fsstate.Turn) int { return b.StartedAt.Compare(a.StartedAt) }) // newest of a session first
	seen := map[string]bool{}
	for _, t := range ended {
		if t.Ended == nil || seen[t.Session] {
			continue
		}
		seen[t.Session] = true // it is the one that a resume brings back, whatever became of it
		if look.settle(t); t.Phase == fsstate.PhaseConcluded {
			continue
		}
		if why := policy.Reason(t.Ended.Reason); why == policy.ReasonStale || why == policy.ReasonAttemptsExhausted {
			turns = append(turns, t)
		}
	}
	return turns, bad
}

// Resumed is the turn that a resume of a session would take up: the one that is open, or else the newest of ended/. It
// changes nothing; a keeper with a Fresh request takes it up.
func (r *Room) Resumed(key string) (*fsstate.Turn, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return nil, err
	}
	t, err := r.files().Get(session)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	if t = r.look().hermesTurn(session); t != nil {
		return t, nil
	}
	return r.newestEnded(session)
}

// newestEnded is the newest turn of a session in ended/, whether it verifies or not.
func (r *Room) newestEnded(session string) (*fsstate.Turn, error) {
	newest, bad := r.lastEnded(session)
	if newest != nil {
		return newest, nil
	}
	for _, err := range bad {
		r.log().Warn("record in ended/ cannot be read", "error", err.Error())
	}
	return nil, fmt.Errorf("session %q: %w, and none in ended/", session, ErrNoTurn)
}

// lastEnded is that turn, or nil and what could not be read.
func (r *Room) lastEnded(session string) (newest *fsstate.Turn, bad []error) {
	ended, bad := r.files().All(fsstate.Ended)
	for _, t := range ended {
		if t.Session == session && t.Ended != nil && (newest == nil || t.StartedAt.After(newest.StartedAt)) {
			newest = t
		}
	}
	return newest, bad
}

// restore takes a turn out of ended/ for an admission, under the session's lock: in memory only, as a dead turn with a
// full budget. The file goes when the turn is open again.
func (r *Room) restore(session string) (standing, error) {
	t, err := r.newestEnded(session)
	if err != nil {
		return standing{}, err
	}
	if !t.Verified {
		return standing{}, &PermissionError{fmt.Sprintf("resume %s: the record does not verify, so its prompt may be anyone's; read it, and give the prompt yourself", r.Store.Path(fsstate.Ended, t.File))}
	}
	t.Ended, t.Attempts, t.Deferrals, t.RetryAt = nil, 0, 0, time.Time{}
	r.look().settle(t)
	if t.Phase == fsstate.PhaseConcluded {
		return standing{}, &UsageError{fmt.Sprintf("session %q: the turn in ended/ had concluded", session)}
	}
	t.Phase = fsstate.PhaseRunning // also where it was cleared while it was being stopped: a person wants it after all
	st := r.look().judge(t, policy.Person)
	st.ended = t.File
	return st, nil
}

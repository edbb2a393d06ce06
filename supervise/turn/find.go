package turn

import (
	"errors"
	"io/fs"
	"slices"

	"hermes-supervisor/fsstate"
)

// Resolve finds the session that a key names among the open turns of this home: the key that the turn began with, a
// later key of the same session, or the agent's own id. A key that names no open turn is returned as it is.
func (r *Room) Resolve(key string) (session string, err error) {
	_, err = r.files().Get(key)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, nil // there, or broken: whoever uses it will be told
	}
	turns, _ := r.files().All(fsstate.Turns)
	for _, t := range turns {
		if t.AgentSession == key || slices.Contains(t.Aliases, key) {
			return t.Session, nil
		}
	}
	return key, nil
}

// HasOther tells whether a session has an open turn under any of its keys, ours or one of Hermes's own, but for that of
// the request with an id ("": for none). A marker that cannot be used is an error: nobody knows what is open there.
func (r *Room) HasOther(key, id string) (bool, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return false, err
	}
	t, err := r.files().Get(session)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.look().hermesTurn(session) != nil, nil
	case err != nil:
		return false, err
	}
	return id == "" || t.RequestID != id, nil
}

// OpenTurns is HasOther for many questions: the turns are read once, now.
func (r *Room) OpenTurns() func(key, id string) (bool, error) {
	names, err := r.Store.List(fsstate.Turns)
	if err != nil {
		return func(string, string) (bool, error) { return false, err }
	}
	turns, _ := r.files().All(fsstate.Turns)
	own := make(map[string]*fsstate.Turn, len(turns))
	for _, t := range turns {
		for _, key := range append(slices.Clone(t.Aliases), t.AgentSession) {
			own[key] = t
		}
	}
	for _, t := range turns { // a key of its own goes before another turn's alias
		own[t.Session] = t
	}
	theirs, _ := r.look().hermesTurns()
	hermes := make(map[string]bool, len(theirs))
	for _, t := range theirs {
		hermes[t.Session] = true
	}
	return func(key, id string) (bool, error) {
		t := own[key]
		if _, there := slices.BinarySearch(names, fsstate.Name(key)+".json"); there && (t == nil || t.Session != key) {
			return r.HasOther(key, id) // it cannot be used, and this says why
		}
		if t == nil {
			return hermes[key], nil
		}
		return id == "" || t.RequestID != id, nil
	}
}

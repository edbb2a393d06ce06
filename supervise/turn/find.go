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

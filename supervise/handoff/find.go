package handoff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// AmbiguousError is the beginning of more than one id.
type AmbiguousError struct {
	Word string
	IDs  []string // the oldest request first
}

func (e *AmbiguousError) Error() string {
	some := e.IDs[:min(len(e.IDs), 3)]
	more := ""
	if n := len(e.IDs) - len(some); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%q is the beginning of %s%s: give more of the id", e.Word, strings.Join(some, ", "), more)
}

// Find is the handoff that a word names: by its id; by the key of its session, which means the open one, else the one
// that ended last; or by the beginning of its id, where no other begins so. The error is ErrNone or an *AmbiguousError.
func (q *Queue) Find(word string) (*fsstate.Handoff, error) {
	if fsstate.HandoffID(word) {
		return q.get(word)
	}
	open, err := q.Files.Open()
	if err != nil {
		return nil, err
	}
	ended, err := q.Files.Ended()
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(open, ended)
	slices.Sort(ids)
	ids = slices.Compact(ids) // one that moves between the two looks is in both
	if h, err := q.ofSession(word, ids); h != nil || err != nil {
		return h, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return word == "" || !strings.HasPrefix(id, word) })
	switch len(ids) {
	case 0:
		return nil, fmt.Errorf("handoff %.64q: %w", word, ErrNone)
	case 1:
		return q.get(ids[0])
	}
	return nil, &AmbiguousError{Word: word, IDs: ids}
}

// ofSession is the handoff that a session's key means; nil where there is none.
func (q *Queue) ofSession(session string, ids []string) (best *fsstate.Handoff, err error) {
	may := fsstate.OfSession(session)
	for _, id := range ids {
		if !may(id) {
			continue
		}
		h, gerr := q.get(id)
		switch {
		case errors.Is(gerr, ErrNone):
		case gerr != nil:
			err = gerr
		case h.Session == session && (best == nil || before(best, h)):
			best = h
		}
	}
	if best != nil && queue.State(best.State).Open() {
		return best, nil
	}
	return best, err // what cannot be read may be the open one
}

// before tells whether h is rather meant by the session's key than other: an open one that verifies, of which there is
// one at most; then any open one; then the one that ended last.
func before(other, h *fsstate.Handoff) bool {
	rank := func(h *fsstate.Handoff) int {
		switch open := queue.State(h.State).Open(); {
		case open && h.Verified:
			return 2
		case open:
			return 1
		}
		return 0
	}
	if a, b := rank(h), rank(other); a != b {
		return a > b
	}
	if h.End != nil && other.End != nil {
		return !h.End.At.Before(other.End.At)
	}
	return true
}

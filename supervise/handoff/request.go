package handoff

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/turn"
)

// Request is what a person, or a program, wants to be handed over.
type Request struct {
	Session, Platform string
	Note, Data        string
	Key               string // makes a repeated request the same one; "": it is new
	AfterTurn         bool   // wait for the end of the session's open turn, instead of being refused
}

func (r Request) check() error {
	switch {
	case r.Session == "":
		return &turn.UsageError{Problem: "session key is empty"}
	case !utf8.ValidString(r.Session) || !utf8.ValidString(r.Note) || !utf8.ValidString(r.Data) || !utf8.ValidString(r.Key):
		return &turn.UsageError{Problem: "session key, --note, --data or --key is not valid UTF-8, so a JSON record cannot hold it"}
	}
	return nil
}

// Request records a handoff durably, and says whether it had been recorded before under the same key. The error is that
// of an unknown platform, a *RefusedError while a handoff of the session is open, or a *turn.BusyError while a turn is.
func (q *Queue) Request(ctx context.Context, r Request) (h *fsstate.Handoff, repeated bool, err error) {
	if err := r.check(); err != nil {
		return nil, false, err
	}
	if len(q.Files.Key) == 0 {
		return nil, false, ErrUnsigned
	}
	unlock, err := q.Files.Store.LockAll(ctx, "handoff request", fsstate.HandoffLockOf(r.Session), fsstate.Name(r.Session))
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	_, unknown := q.Platform(r.Platform)
	f := queue.RequestFacts{Known: unknown == nil, AfterTurn: r.AfterTurn}
	earlier, err := q.byKey(r)
	if err != nil {
		return nil, false, err
	}
	if earlier != nil {
		f.SameKey = true
		f.SameAsked = earlier.Platform == r.Platform && earlier.Note == r.Note && earlier.Data == r.Data && earlier.AfterTurn == r.AfterTurn
	}
	other, err := q.openOf(r.Session, "")
	if err != nil {
		return nil, false, err
	}
	f.OtherOpen = other != nil
	if f.TurnOpen, err = q.Room.HasOther(r.Session, ""); err != nil {
		return nil, false, err
	}
	switch admission, reason := queue.Admit(f); admission {
	case queue.Same: // by somebody who may have been killed before it was durable
		if err := q.Files.Confirm(); err != nil {
			return nil, false, err
		}
		return earlier, true, nil
	case queue.Conflict:
		return nil, false, &turn.UsageError{Problem: fmt.Sprintf("--key %.64q: %s (handoff %s)", r.Key, reason.Text(), earlier.ID)}
	case queue.Refuse:
		switch reason {
		case queue.ReasonNotServed:
			return nil, false, unknown
		case queue.ReasonTurnOpen:
			return nil, false, &turn.BusyError{Session: r.Session, Detail: reason.Text() + "; --after-turn waits for it"}
		default:
			return nil, false, &RefusedError{ID: other.ID, Reason: reason, State: queue.State(other.State)}
		}
	case queue.Record:
	}
	now := time.Now()
	h = &fsstate.Handoff{
		ID: fsstate.NewHandoffID(r.Session, r.Platform, r.Key, now), Session: r.Session, Platform: r.Platform, Note: r.Note, Data: r.Data,
		RequestKey: r.Key, AfterTurn: r.AfterTurn, State: string(queue.Pending), RequestedAt: now.UTC(), Verified: true,
	}
	if err := q.Files.Fits(h); err != nil {
		return nil, false, err
	}
	if err := q.Files.Put(h); err != nil {
		return nil, false, err
	}
	q.note(h, "", queue.ReasonRequested)
	return h, false, nil
}

// byKey is the request that was recorded under the same key of the same session, open or ended; nil where there is none.
func (q *Queue) byKey(r Request) (*fsstate.Handoff, error) {
	if r.Key == "" {
		return nil, nil
	}
	may := fsstate.OfRequest(r.Session, r.Key)
	for _, list := range []func() ([]string, error){q.Files.Open, q.Files.Ended} {
		ids, err := list()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !may(id) {
				continue
			}
			h, err := q.get(id)
			if errors.Is(err, ErrNone) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if h.Session == r.Session && h.RequestKey == r.Key && h.Verified {
				return h, nil
			}
		}
	}
	return nil, nil
}

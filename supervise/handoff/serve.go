package handoff

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// Serving is a program of its own that takes the handoffs of one platform.
type Serving struct {
	Platform string

	others map[string]bool // ids that look like ours and are for other platforms: what waits for long reads each of them once
}

// batch is how many of the oldest are looked at before the folder is read again: those before the one that is claimed are
// being delivered, or held.
const batch = 64

// Claim claims the oldest handoff of several homes that waits for the platform, and tells in which of them it was. The
// error is ErrNone where nothing waits, or all that waits is held back by open turns.
func (s *Serving) Claim(ctx context.Context, homes []*Queue, c fsstate.Claim) (*fsstate.Handoff, *Queue, error) {
	remembered := false
	h, q, err := s.claimOldest(ctx, homes, c, func(q *Queue, after string) ([]string, error) {
		if after == "" {
			if ids := q.Files.Next(s.Platform, time.Now()); len(ids) > 0 {
				remembered = true
				return ids, nil
			}
		}
		return s.oldest(q, after)
	})
	if remembered && errors.Is(err, ErrNone) { // something older may have come back
		return s.claimOldest(ctx, homes, c, s.oldest)
	}
	return h, q, err
}

// oldest are the ids in a home that may be ours, and are remembered for the next claims where there are many.
func (s *Serving) oldest(q *Queue, after string) ([]string, error) {
	may := fsstate.ForPlatform(s.Platform)
	ids, err := q.Files.Oldest(after, batch, func(id string) bool { return may(id) && !s.others[id] })
	if after == "" && len(ids) == batch {
		q.Files.RememberNext(s.Platform, ids)
	}
	return ids, err
}

// claimOldest claims the first that is to be had, of the ids that a look at each home gives after another one.
func (s *Serving) claimOldest(ctx context.Context, homes []*Queue, c fsstate.Claim, look func(q *Queue, after string) ([]string, error)) (*fsstate.Handoff, *Queue, error) {
	type place struct {
		id string
		in *Queue
	}
	for after := ""; ; {
		var waiting []place
		for _, q := range homes {
			ids, err := look(q, after)
			if err != nil {
				return nil, nil, err
			}
			for _, id := range ids {
				waiting = append(waiting, place{id, q})
			}
		}
		if len(waiting) == 0 {
			return nil, nil, ErrNone
		}
		slices.SortStableFunc(waiting, func(a, b place) int { return strings.Compare(a.id, b.id) })
		for _, w := range waiting[:min(len(waiting), batch)] {
			after = w.id
			h, err := s.claim(ctx, w.in, w.id, c)
			if h != nil || err != nil {
				return h, w.in, err
			}
		}
	}
}

// claim claims one handoff; neither a handoff nor an error where it is not to be had.
func (s *Serving) claim(ctx context.Context, q *Queue, id string, c fsstate.Claim) (*fsstate.Handoff, error) {
	if _, err := q.Files.Stamp(id); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has ended since
	}
	seen, err := q.Files.Get(id)
	if err == nil && seen.Platform != s.Platform {
		if s.others == nil {
			s.others = map[string]bool{}
		}
		s.others[id] = true
		return nil, nil
	}
	if err != nil || seen.State != string(queue.Pending) || !seen.Verified {
		return nil, nil //nolint:nilerr // what is broken is reported by who looks at everything
	}
	h, err := q.Claim(ctx, id, c, nil)
	if _, refused := errors.AsType[*RefusedError](err); refused || errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

package handoff

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// Serving is a program of its own that takes the handoffs of one platform.
type Serving struct {
	Platform string

	others map[string]bool // ids that look like ours and are for other platforms: what waits for long reads each of them once
}

// Claim claims the oldest handoff of several homes that waits for the platform, and tells in which of them it was. The
// error is ErrNone where nothing waits, or all that waits is held back by open turns.
func (s *Serving) Claim(ctx context.Context, homes []*Queue, c fsstate.Claim) (*fsstate.Handoff, *Queue, error) {
	type waiting struct {
		id string
		in *Queue
	}
	var all []waiting
	for _, q := range homes {
		ids, err := q.Files.Open()
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			if fsstate.ForPlatform(id, s.Platform) && !s.others[id] {
				all = append(all, waiting{id, q})
			}
		}
	}
	if len(homes) > 1 {
		slices.SortStableFunc(all, func(a, b waiting) int { return strings.Compare(a.id, b.id) })
	}
	for _, w := range all {
		seen, err := w.in.Files.Get(w.id)
		if err == nil && seen.Platform != s.Platform {
			if s.others == nil {
				s.others = map[string]bool{}
			}
			s.others[w.id] = true
			continue
		}
		if err != nil || seen.State != string(queue.Pending) || !seen.Verified {
			continue // what is broken is reported by who looks at everything
		}
		h, err := w.in.Claim(ctx, w.id, c, nil)
		if _, refused := errors.AsType[*RefusedError](err); refused || errors.Is(err, ErrNone) {
			continue
		}
		return h, w.in, err
	}
	return nil, nil, ErrNone
}

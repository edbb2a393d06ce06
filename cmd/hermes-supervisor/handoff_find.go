package main

import (
	"errors"
	"fmt"
	"slices"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// findHandoff is the handoff that a word names, and the queue that it is in: of the home or, where that is the root, of a
// profile below it, since `handoff list` shows those of all profiles. What names it exactly goes before the beginning of an
// id, which has to be that of one alone in all of them.
func (a *app) findHandoff(r *room, word string, readOnly bool) (*fsstate.Handoff, *handoff.Queue, error) {
	queues, _ := a.queuesOf(r)
	type hit struct {
		h  *fsstate.Handoff
		in *handoff.Queue
	}
	var exact, begins []hit
	var ambiguous *handoff.AmbiguousError
	var problem error
	for i, q := range queues {
		h, err := q.Find(word)
		switch {
		case errors.As(err, &ambiguous):
		case errors.Is(err, handoff.ErrNone) && problem != nil:
		case err != nil:
			problem = err
		case h.ID != word && h.Session != word:
			begins = append(begins, hit{h, q})
		case i == 0 && h.Verified: // a copy from another home does not
			return h, q, nil
		default:
			exact = append(exact, hit{h, q})
		}
	}
	hits := exact
	if len(hits) == 0 && ambiguous != nil {
		return nil, nil, &turn.UsageError{Problem: ambiguous.Error()}
	}
	if len(hits) == 0 {
		hits = begins
	}
	if verified := slices.DeleteFunc(slices.Clone(hits), func(one hit) bool { return !one.h.Verified }); len(verified) > 0 {
		hits = verified
	}
	switch len(hits) {
	case 0:
		return nil, nil, problem
	case 1:
		h, q := hits[0].h, hits[0].in
		if q == queues[0] || readOnly {
			return h, q, nil
		}
		return a.writable(r, h, q)
	}
	first, second := hits[0], hits[1]
	return nil, nil, &turn.UsageError{Problem: fmt.Sprintf("%s names handoff %s in %s and %s in %s: give more of the id, or name a home with --home",
		label(word), first.h.ID, first.in.Files.Store.Home().Path, second.h.ID, second.in.Files.Store.Home().Path)}
}

// writable is the queue of a profile's handoff for whoever changes it: the homes of a search are open for reading.
func (a *app) writable(r *room, h *fsstate.Handoff, q *handoff.Queue) (*fsstate.Handoff, *handoff.Queue, error) {
	store, err := fsstate.Open(q.Files.Store.Home(), fsstate.Options{UnsafeFilesystem: a.unsafe})
	if err != nil {
		return nil, nil, err
	}
	other := *q.Room
	other.Store, other.Log = store, r.Log
	return h, a.queueOf(&room{config: r.config, Room: &other}), nil
}

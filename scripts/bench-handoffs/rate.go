package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/scripts/bench"
	"hermes-supervisor/supervise/handoff"
)

const (
	few = 100 // handoffs that wait in the home that the other one is beside
	// each is how many are claimed and finished in one timed round.
	each = 20
)

// beside are two homes, with few and with many that wait.
func (h *handoffs) beside(name, platform string, more int) (homes [2]*handoff.Queue, err error) {
	for i, n := range []int{few, h.many} {
		if homes[i], err = h.home(fmt.Sprintf("%s-%d", name, n)); err != nil {
			return homes, err
		}
		if err := fill(homes[i], platform, n+more); err != nil {
			return homes, err
		}
	}
	return homes, nil
}

// flat prints what one handoff costs beside few and beside many.
func (h *handoffs) flat(what string, one [2]time.Duration) {
	ratio := float64(one[1]) / float64(one[0])
	h.Row(fmt.Sprintf("%s, %d pending", what, few), bench.Ms(one[0]), "")
	h.Held(fmt.Sprintf("%s, %d pending", what, h.many), bench.Ms(one[1]), fmt.Sprintf("%.2fx of %d", ratio, few), "at most 1.5x", ratio <= 1.5)
}

// claims is `handoff claim` and `handoff complete` of the oldest, as a program that serves a platform runs them.
func (h *handoffs) claims(ctx context.Context) error {
	homes, err := h.beside("claim", "own", 0)
	if err != nil {
		return err
	}
	rounds := make([]func() (time.Duration, error), len(homes))
	for i, q := range homes {
		defer q.Files.Store.Close() //nolint:errcheck // a directory handle
		home := q.Files.Store.Home().Path
		rounds[i] = func() (time.Duration, error) {
			began := time.Now()
			for range each {
				out, err := h.Command(ctx, home, "handoff", "claim", "own").Output()
				if err != nil {
					return 0, err
				}
				var claimed struct{ ID, Claim string }
				if err := json.Unmarshal(out, &claimed); err != nil {
					return 0, err
				}
				if err := h.Command(ctx, home, "handoff", "complete", claimed.ID, "--claim", claimed.Claim).Run(); err != nil {
					return 0, err
				}
			}
			took := time.Since(began)
			return took / each, fill(q, "own", each)
		}
	}
	medians, err := h.InterleaveTimed(rounds...)
	if err == nil {
		h.flat("claimed and completed by command", [2]time.Duration(medians))
	}
	return err
}

// dispatches is how long the dispatcher takes for each, in a home after the other: it would compete with itself.
func (h *handoffs) dispatches(ctx context.Context) error {
	rounds := min(h.Pairs, 5) * each
	homes, err := h.beside("dispatch", "trivial", rounds)
	if err != nil {
		return err
	}
	var one [2]time.Duration
	for i, q := range homes {
		defer q.Files.Store.Close() //nolint:errcheck // a directory handle
		if one[i], err = h.dispatched(ctx, q, rounds); err != nil {
			return err
		}
	}
	h.flat("dispatched and delivered", one)
	return nil
}

func (h *handoffs) dispatched(ctx context.Context, q *handoff.Queue, n int) (time.Duration, error) {
	w, err := start(h.Command(ctx, q.Files.Store.Home().Path, "handoff", "watch"))
	if err != nil {
		return 0, err
	}
	ended := func(n int) error {
		return until(ctx, fmt.Sprintf("%d have ended", n), func() (bool, error) {
			entries, err := os.ReadDir(q.Files.Store.Path(fsstate.Handed, ""))
			return len(entries) >= n, err
		})
	}
	if err := ended(each); err != nil { // it is up, and has read what is there
		return 0, err
	}
	began := time.Now()
	if err := ended(n); err != nil {
		return 0, err
	}
	one := time.Since(began) / time.Duration(n-each)
	return one, w.stop()
}

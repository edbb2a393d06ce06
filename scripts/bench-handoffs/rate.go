package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
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

const roleVar = "BENCH_HANDOFFS_ROLE" // of this program as a process of a measurement: the scratch folder's home

// play claims the oldest handoff for the platform "own" and completes it.
func play(role string) error {
	h := &handoffs{Bench: &bench.Bench{Dir: filepath.Dir(role)}}
	q, err := h.home(filepath.Base(role))
	if err != nil {
		return err
	}
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := q.ClaimOldest(ctx, "own", fsstate.Claim{Claimer: self, External: true})
	if err == nil {
		_, err = q.Complete(ctx, c.ID, self.Instance)
	}
	return err
}

// claims is a claim of the oldest and its completion, by a process of its own each time.
func (h *handoffs) claims(ctx context.Context) error {
	homes, err := h.beside("claim", "own", 0)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rounds := make([]func() (time.Duration, error), len(homes))
	for i, q := range homes {
		defer q.Files.Store.Close() //nolint:errcheck // a directory handle
		rounds[i] = func() (time.Duration, error) {
			began := time.Now()
			for range each {
				cmd := exec.CommandContext(ctx, self)
				cmd.Env, cmd.Stderr = append(os.Environ(), roleVar+"="+q.Files.Store.Home().Path), os.Stderr
				if err := cmd.Run(); err != nil {
					return 0, err
				}
			}
			took := time.Since(began)
			return took / each, fill(q, "own", each)
		}
	}
	medians, err := h.InterleaveTimed(rounds...)
	if err == nil {
		h.flat("claim and complete", [2]time.Duration(medians))
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

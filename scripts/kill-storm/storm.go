//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hermes-supervisor/fsstate/fault"
)

const (
	perRound  = 500 // kills after which everything is judged and thrown away
	hitsFrom  = 500 // kills from which on every fault point must have been hit
	hitsLeast = 10
	hitsExtra = 2 // times as many kills, at most, until each of them was
)

// A round is a number of kills in a home of its own, by all workers at once.
type round struct {
	*tempest

	number int
	place  place
	until  int // kills
}

// A tempest is what stays the same through all rounds.
type tempest struct {
	options

	program  string // this program, which plays the agents
	scratch  string
	children *children
	tally    *tally
	ends     time.Time // zero: no limit
}

// storm runs it all; the error is a *brokenError when a rule did not hold. The summary is "" where nothing was judged.
func storm(ctx context.Context, o options, stdout io.Writer) (summary string, err error) {
	t := &tempest{options: o, tally: newTally()}
	if o.limit > 0 {
		t.ends = time.Now().Add(o.limit)
	}
	if t.program, err = self(); err != nil {
		return "", err
	}
	if t.scratch, err = os.MkdirTemp("", "kill-storm-"); err != nil {
		return "", fmt.Errorf("make scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.scratch)) }()
	if o.supervisor == "" {
		t.supervisor, err = build(ctx, t.scratch)
	} else {
		t.supervisor, err = filepath.Abs(o.supervisor)
	}
	if err != nil {
		return "", err
	}
	if t.children, err = newChildren(); err != nil {
		return "", err
	}
	defer t.children.end()

	stop := t.report(stdout)
	for n := 0; err == nil && !t.over(); n++ {
		err = t.round(ctx, n)
	}
	stop()
	if err == nil {
		err = t.hitAll()
	}
	_, broken := errors.AsType[*brokenError](err)
	switch {
	case err == nil:
		return t.tally.summary(0), nil
	case broken:
		return t.tally.summary(1), err
	}
	return "", err
}

// report prints a line every 2 s until it is stopped.
func (t *tempest) report(stdout io.Writer) (stop func()) {
	began, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(stdout, "%3.0f s: %s\n", time.Since(began).Seconds(), t.tally.progress(t.kills))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// over tells whether enough was killed, every fault point included, or the time is up.
func (t *tempest) over() bool {
	kills, least := t.tally.reached()
	enough := kills >= t.kills && (t.kills < hitsFrom || least >= hitsLeast || kills >= hitsExtra*t.kills)
	return enough || !t.ends.IsZero() && time.Now().After(t.ends)
}

// enough tells the workers of a round to begin nothing more.
func (r *round) enough() bool {
	kills, _ := r.tally.reached()
	return kills >= r.until && r.until < r.kills || r.over()
}

func (r *round) calmRand() *rand.Rand {
	return rand.New(rand.NewPCG(r.seed, uint64(r.number))) //nolint:gosec // not secret
}

// round plays one round; the first rule that is broken ends it.
func (t *tempest) round(ctx context.Context, n int) (err error) {
	kills, _ := t.tally.reached()
	r := &round{tempest: t, number: n, until: kills + perRound}
	if r.place, err = newPlace(t.scratch, n); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, t.keepers)
	var working sync.WaitGroup
	for i := range t.keepers {
		working.Go(func() {
			w := &worker{round: r, n: i, killed: map[target]bool{}}
			if errs[i] = w.work(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	working.Wait()
	var first error
	for _, err := range errs {
		if _, broken := errors.AsType[*brokenError](err); broken {
			return err
		}
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	if first != nil {
		return first
	}
	if err := r.endOfRound(ctx); err != nil {
		return err
	}
	return os.RemoveAll(r.place.dir)
}

// hitAll holds the fault points against what they were to be hit.
func (t *tempest) hitAll() error {
	if kills, _ := t.tally.reached(); kills < hitsFrom {
		return nil
	}
	var left listing
	for _, point := range fault.Points {
		if n := t.tally.hits[point]; n < hitsLeast {
			left = append(left, fmt.Sprintf("%s x %d", point, n))
		}
	}
	return left.broken(fmt.Sprintf("fault points hit fewer than %d times", hitsLeast))
}

// build makes the program under test, with its fault points, from this module's source.
func build(ctx context.Context, scratch string) (string, error) {
	binary := filepath.Join(scratch, "hermes-supervisor")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "faultpoints", "-o", binary, "hermes-supervisor/cmd/hermes-supervisor")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hermes-supervisor: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}

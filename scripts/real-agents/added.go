package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"hermes-supervisor/scripts/bench"
)

// rounds are how often the agent runs with a keeper, and how often without, in turns.
const rounds = 7

// What may be added to an agent's start and to its end. A busy machine misses it: that is said, and no failure.
const (
	addedToStart = 15 * time.Millisecond
	addedToEnd   = 20 * time.Millisecond
)

// spent is what a turn spends outside of the model: until it asks, and after the answer.
type spent struct{ start, end []time.Duration }

// added measures what a keeper costs an agent, beside the same agent without one.
func added(ctx context.Context, t *trial) error {
	command, err := t.unwrapped(ctx)
	if err != nil {
		return err
	}
	var alone, kept spent
	for range rounds {
		if err := t.spend(&alone, func() (began, over time.Time, err error) {
			out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				return began, over, err
			}
			defer out.Close() //nolint:errcheck // nothing was written
			cmd, err := command(ctx)
			if err != nil {
				return began, over, err
			}
			cmd.Stdout, cmd.Stderr = out, out
			began = time.Now()
			err = cmd.Run()
			return began, time.Now(), err
		}); err != nil {
			return fmt.Errorf("without a keeper: %w", err)
		}
		if err := t.spend(&kept, func() (began, over time.Time, err error) {
			r, err := t.finish(ctx)
			if err == nil && r.code != 0 {
				err = fmt.Errorf("exit %d", r.code)
			}
			if err != nil {
				return began, over, err
			}
			return r.began, r.over, nil
		}); err != nil {
			return fmt.Errorf("with a keeper: %w", err)
		}
	}
	t.compare("start", alone.start, kept.start, addedToStart)
	t.compare("end", alone.end, kept.end, addedToEnd)
	return t.expectClean(ctx, 0)
}

// spend runs a turn and adds what it has spent.
func (t *trial) spend(s *spent, run func() (began, over time.Time, err error)) error {
	before := len(t.model.Requests())
	began, over, err := run()
	if err != nil {
		return err
	}
	requests := t.model.Requests()[before:]
	if len(requests) == 0 {
		return errors.New("the model was not asked")
	}
	s.start = append(s.start, requests[0].Start.Sub(began))
	s.end = append(s.end, over.Sub(requests[len(requests)-1].End))
	return nil
}

func (t *trial) compare(what string, alone, kept []time.Duration, bound time.Duration) {
	a, k := bench.Median(alone), bench.Median(kept)
	holds := "holds"
	if k-a > bound {
		holds = "DOES NOT HOLD"
	}
	t.expect(true, "", "%s %s alone, %s with a keeper (%.2fx): %s added, below %s: %s", what, bench.Ms(a), bench.Ms(k), float64(k)/float64(a), bench.Ms(k-a), bench.Ms(bound), holds)
}

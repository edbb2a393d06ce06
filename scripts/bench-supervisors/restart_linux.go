package main

import (
	"context"
	"errors"
	"time"
)

// restart is the time from the SIGKILL of a service to the first act of the next one. All supervisors run throughout;
// each round kills the service of each once, and begins with another one.
func (b *bench) restart(ctx context.Context) (err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.end())
		}
	}()
	for _, e := range b.entrants {
		b.say("restart: starting %s", e)
		t, _, err := b.start(ctx, e, 1)
		if err != nil {
			return err
		}
		trials = append(trials, t)
	}
	for round := range b.rounds {
		if round%5 == 0 {
			b.say("restart: round %d of %d", round+1, b.rounds)
		}
		for i := range trials {
			t := trials[(round+i)%len(trials)]
			if err := pause(ctx, t.up[0].at+max(t.settle, between)-now()); err != nil {
				return err
			}
			took, err := t.kill(ctx)
			if err != nil {
				return err
			}
			t.restarts = append(t.restarts, took)
		}
	}
	return nil
}

// between is the least time between two kills of one supervisor's service: it has done by then what a start needs.
const between = 50 * time.Millisecond

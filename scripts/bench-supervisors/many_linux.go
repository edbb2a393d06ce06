package main

import (
	"context"
	"errors"
	"time"
)

// crowd is how one of our supervisors copes with its number of services.
type crowd struct {
	services    int
	start, back time.Duration // until all are up, and up again after all were killed at once
	cost        cost          // of the idle time after that
}

// manyServices is what many services take beside few: both supervisors are ours, and idle at the same time.
func (b *bench) manyServices(ctx context.Context) (err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.end())
		}
	}()
	var crowds []crowd
	for _, n := range []int{b.services, b.many} {
		b.say("many: starting %d services", n)
		c := crowd{services: n}
		t, took, err := b.start(ctx, b.entrants[0], n)
		if err != nil {
			return err
		}
		trials = append(trials, t)
		c.start = took
		if err := pause(ctx, calm); err != nil {
			return err
		}
		b.say("many: up in %s, killing all of them", took.Round(time.Millisecond))
		if c.back, err = t.kill(ctx); err != nil {
			return err
		}
		b.say("many: back in %s", c.back.Round(time.Millisecond))
		crowds = append(crowds, c)
	}
	costs, err := b.watch(ctx, trials)
	for i := range costs {
		crowds[i].cost = costs[i]
		b.report.crowds = append(b.report.crowds, crowds[i])
	}
	return err
}

package main

import (
	"context"
	"errors"
	"time"
)

// calm is the time after which a supervisor has done what its services' start needs; ours gives back memory in it.
const calm = 4 * time.Second

// idleness is what a supervisor takes while its services do nothing. Several are measured at the same time, but not runit
// and s6: of a library that the processes of both map, each would count half. What is built here is static, and maps
// nothing but itself.
func (b *bench) idleness(ctx context.Context) error {
	var groups [2][]*entrant
	for _, e := range b.entrants {
		group := 0
		if e.pack == "s6" || e.pack == "supervisor" {
			group = 1
		}
		if !e.only {
			groups[group] = append(groups[group], e)
		}
	}
	for _, together := range groups {
		if len(together) == 0 {
			continue
		}
		if err := b.idleGroup(ctx, together); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) idleGroup(ctx context.Context, together []*entrant) (err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.end())
		}
	}()
	for _, e := range together {
		t, took, err := b.start(ctx, e, b.services)
		if err != nil {
			return err
		}
		b.say("idle: %s has %d services up in %s", e, b.services, took.Round(time.Millisecond))
		trials = append(trials, t)
	}
	costs, err := b.watch(ctx, trials)
	for i, c := range costs {
		together[i].idle = &c
	}
	return err
}

// watch is what each supervisor takes while nothing happens.
func (b *bench) watch(ctx context.Context, trials []*trial) ([]cost, error) {
	if err := pause(ctx, calm); err != nil {
		return nil, err
	}
	b.say("nothing happens for %s", b.idle)
	read := func() (costs []cost, err error) {
		for _, t := range trials {
			c, err := costOf(t.supervisors())
			if err != nil {
				return nil, err
			}
			costs = append(costs, c)
		}
		return costs, nil
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, b.idle); err != nil {
		return nil, err
	}
	after, err := read()
	for i := range after {
		after[i] = after[i].since(before[i])
	}
	return after, err
}

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// round starts run, kills it somehow, and does this and that to what it leaves behind.
func (t *tempest) round(ctx context.Context) error {
	began, err := t.countLaunches()
	if err != nil {
		return err
	}
	n, point, fault := t.rand.IntN(100), "", ""
	if n < 40 {
		point, fault = t.tally.choose(t.rand)
	}
	_ = os.Remove(t.place.file("fault")) // that of an earlier round
	run, err := t.call("run.out", fault, "run")
	if err != nil {
		return err
	}
	switch {
	case n < 40:
		err = t.awaitFault(ctx, run, point)
	case n < 55: // while it starts
		run.ended(ctx, time.Duration(t.rand.IntN(120))*time.Millisecond)
	default:
		err = t.settle(ctx, run, began)
	}
	if err == nil {
		err = t.kill(ctx, run)
	}
	if err == nil {
		err = t.meanwhile(ctx)
	}
	return err
}

// awaitFault waits until run has died at a point; some orders make it write more.
func (t *tempest) awaitFault(ctx context.Context, run *child, point string) error {
	if t.rand.IntN(3) == 0 {
		if err := t.order(ctx, run, false); err != nil {
			return err
		}
	}
	if !run.ended(ctx, hitBy) {
		return nil
	}
	if hit, err := os.ReadFile(t.place.file("fault")); err != nil || string(hit) != point+"\n" {
		return broken("run died by itself (%s), and not at fault point %s", run.status(), point)
	}
	t.tally.hits[point]++
	return nil
}

// settle waits until every service is as it was ordered, and lets run be for a while: now and then until it archives
// output, a second after its start.
func (t *tempest) settle(ctx context.Context, run *child, began map[string]int) error {
	archives := time.Now().Add(time.Second)
	if err := t.awaitWishes(ctx, run, began); err != nil {
		return err
	}
	switch t.rand.IntN(4) {
	case 0:
		run.ended(ctx, time.Until(archives)+time.Duration(t.rand.IntN(60))*time.Millisecond)
	case 1:
		run.ended(ctx, time.Duration(t.rand.IntN(150))*time.Millisecond)
	default:
		return t.order(ctx, run, true)
	}
	return nil
}

// kill ends run, unless a fault point did, holds that nothing else has, and looks at what lives on.
func (t *tempest) kill(ctx context.Context, run *child) error {
	_ = run.Process.Kill() // it may have ended
	if !run.ended(ctx, patience) {
		return fmt.Errorf("run, pid %d, lives on after SIGKILL", run.Process.Pid)
	}
	if status, ok := run.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return broken("run died by itself: %s", run.status())
	}
	t.tally.kills++
	reap()
	all, err := living(t.mark)
	if rule := judgeInstances(all); rule != "" {
		return broken("%s", rule)
	}
	return err
}

// meanwhile gives orders and kills services while no run is there.
func (t *tempest) meanwhile(ctx context.Context) error {
	if t.rand.IntN(6) == 0 {
		if err := t.order(ctx, nil, true); err != nil {
			return err
		}
	}
	all, err := living(t.mark)
	if err != nil || len(all) == 0 {
		return err
	}
	switch n := t.rand.IntN(100); {
	case n < 25:
		i := t.rand.IntN(len(all))
		all = all[i : i+1]
	case n >= 35:
		return nil
	}
	for _, p := range all {
		if p.kill(t.mark) {
			t.tally.services++
		}
	}
	return nil
}

// awaitWishes waits until a new run has every service as it was ordered.
func (t *tempest) awaitWishes(ctx context.Context, run *child, began map[string]int) error {
	for deadline := time.Now().Add(patience); ; {
		lack, err := t.lack(run, began)
		switch {
		case err != nil || lack == "":
			return err
		case run.ended(ctx, pollEvery):
			return broken("run died by itself: %s", run.status())
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return broken("%v after the start of a run, %s", patience, lack)
		}
	}
}

// lack says what the first service lacks of its wish, "" when nothing is lacking.
func (t *tempest) lack(run *child, began map[string]int) (string, error) {
	if _, err := t.countLaunches(); err != nil {
		return "", err
	}
	for _, s := range services {
		launches, err := t.place.launches(s.name)
		if err != nil {
			return "", err
		}
		rec, _, err := t.place.record(s.name)
		if err != nil {
			return "", err
		}
		all, err := living(t.mark) // what is recorded to run lives by now
		if err != nil {
			return "", err
		}
		if lack := judgeWish(s, t.wishes[s.name], rec, run.Process.Pid, all, launches, began[s.name]); lack != "" {
			return s.name + " " + lack, nil
		}
	}
	return "", nil
}

package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hermes-supervisor/policy/phase"
)

// running is a runner under test.
type running struct {
	*Runner

	w      *world
	spec   Spec
	told   chan phase.State
	ended  chan error
	cancel context.CancelFunc
	seen   []string
}

// run runs a service, and stops it when the test ends.
func (w *world) run(spec Spec) *running {
	w.t.Helper()
	r := &running{w: w, spec: spec, told: make(chan phase.State, 10_000), ended: make(chan error, 1)}
	var err error
	if r.Runner, err = w.runner(spec, func(_ Spec, s phase.State) { w.check(s); r.told <- s }); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- r.Run(ctx, spec) }()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience/3)
		defer cancel()
		_, _ = r.Shutdown(ctx), r.Kill(ctx)
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		r.cancel()
		<-r.done
	})
	return r
}

// await waits until a phase is told, for this reason where one is given.
func (r *running) await(p phase.Phase, why ...phase.Reason) phase.State {
	r.w.t.Helper()
	return r.awaitThat(fmt.Sprint(p, why), func(s phase.State) bool {
		return s.Phase == p && (len(why) == 0 || slices.Contains(why, s.Reason))
	})
}

func (r *running) awaitThat(what string, holds func(phase.State) bool) phase.State {
	r.w.t.Helper()
	end := time.After(patience)
	for {
		select {
		case s := <-r.told:
			r.seen = append(r.seen, s.Phase.String()+" "+string(s.Reason))
			if holds(s) {
				return s
			}
		case err := <-r.ended:
			r.ended <- err
			r.w.t.Fatalf("waiting for %s: Run has returned: %v; told: %q", what, err, r.seen)
		case <-end:
			r.w.t.Fatalf("waiting for %s; told: %q", what, r.seen)
		}
	}
}

// up waits until it runs, and gives its pid.
func (r *running) up() int {
	r.w.t.Helper()
	r.await(phase.Running)
	return r.w.pid()
}

// order gives an order that must be taken.
func (r *running) order(give func(context.Context) error) {
	r.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := give(ctx); err != nil {
		r.w.t.Errorf("order: %v", err)
	}
}

// down stops it.
func (r *running) down() phase.State {
	r.w.t.Helper()
	r.order(r.Stop)
	return r.await(phase.Stopped)
}

// leave ends the Runner and lets the service be.
func (r *running) leave() {
	r.w.t.Helper()
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.w.t.Fatal("Run does not return")
	}
}

package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"hermes-supervisor/scripts/mockmodel"
)

// The keeper is killed: while its agent lives nobody else may begin, and afterwards the same command goes on.
func keeperKilled(ctx context.Context, t *trial) error {
	t.model.Script(halfAnswer)
	stop := watch(ctx, t.session)
	err := keeperKilledWatched(ctx, t)
	seen := stop()
	if err != nil {
		return err
	}
	t.expectContinued(t.model.Requests(), 2)
	t.expectContinuation(seen)
	return t.expectClean(ctx, 0)
}

func keeperKilledWatched(ctx context.Context, t *trial) error {
	first, agent, err := t.startStalled(ctx, 1)
	if err != nil {
		return err
	}
	if err := first.kill(ctx); err != nil {
		return err
	}
	before, err := t.records("turns")
	if err != nil {
		return err
	}
	second, err := t.finish(ctx)
	if err != nil {
		return err
	}
	complaint, err := os.ReadFile(second.stderr)
	if err != nil {
		return err
	}
	after, err := t.records("turns")
	if err != nil {
		return err
	}
	left, err := t.scan()
	if err != nil {
		return err
	}
	lives := slices.ContainsFunc(left, t.isNative) && len(launches(left)) == 1
	t.expect(lives, "the agent outlives its keeper", "agent alive after the keeper and the second command: %t", lives)
	t.expect(second.code == 75, "75 while the agent lives", "second command exit %d", second.code)
	lines := strings.Count(string(complaint), "\n")
	t.expect(lines == 1, "one line that says why", "%d line: %s", lines, strings.TrimSpace(string(complaint)))
	untouched := len(before) == 1 && maps.Equal(before, after)
	t.expect(untouched, "one marker, not written by the refused command", "marker untouched by it: %t", untouched)

	if err := t.kill(agent...); err != nil {
		return err
	}
	if err := t.gone(ctx); err != nil {
		return err
	}
	third, err := t.finish(ctx)
	if err != nil {
		return err
	}
	t.expectEnd(third, 0, t.agent.done)
	return nil
}

// Keeper and agent are gone, as after a power cut: `run`, which knows the agent by its name, goes on.
func bothKilled(ctx context.Context, t *trial) error {
	return continuedByRun(ctx, t, func(keeper *supervised, agent []process) (*supervised, error) {
		if err := keeper.kill(ctx); err != nil {
			return nil, err
		}
		if err := t.kill(agent...); err != nil {
			return nil, err
		}
		if err := t.gone(ctx); err != nil {
			return nil, err
		}
		return t.startRun(ctx)
	})
}

// The agent lives on under a `run` that was started after its keeper's death, and dies then.
func keeperKilledUnderRun(ctx context.Context, t *trial) error {
	return continuedByRun(ctx, t, func(keeper *supervised, agent []process) (*supervised, error) {
		if err := keeper.kill(ctx); err != nil {
			return nil, err
		}
		r, err := t.startRun(ctx)
		if err != nil {
			return nil, err
		}
		return r, t.kill(agent...)
	})
}

// continuedByRun has a turn die, and a `run` that death starts, go on with it.
func continuedByRun(ctx context.Context, t *trial, death func(*supervised, []process) (*supervised, error)) error {
	t.model.Script(halfAnswer)
	stop := watch(ctx, t.session)
	err := func() error {
		keeper, agent, err := t.startStalled(ctx, 1)
		if err != nil {
			return err
		}
		r, err := death(keeper, agent)
		if err != nil {
			return err
		}
		if err := until(ctx, "the end of the turn", func() (bool, error) {
			markers, err := t.records("turns")
			return len(markers) == 0, err
		}); err != nil {
			return err
		}
		if err := t.gone(ctx); err != nil {
			return err
		}
		if err := r.stop(); err != nil {
			return err
		}
		return r.wait(ctx)
	}()
	seen := stop()
	if err != nil {
		return err
	}
	requests := t.model.Requests()
	t.expectContinued(requests, 2)
	whole := requests[len(requests)-1].State == mockmodel.Completed
	t.expect(whole, "yes", "the model's last answer taken whole: %t", whole)
	t.expectContinuation(seen)
	return t.expectClean(ctx, 0)
}

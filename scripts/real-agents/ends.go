package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"time"

	"hermes-supervisor/scripts/mockmodel"
)

// A turn that nothing disturbs: hermes-supervisor is not to be seen in what the agent gets and prints.
func normalEnd(ctx context.Context, t *trial) error {
	alone, err := t.direct(ctx)
	if err != nil {
		return err
	}
	before := len(t.model.Requests())
	stop := watch(ctx, t.session)
	r, err := t.finish(ctx)
	seen := stop()
	if err != nil {
		return err
	}
	t.expectEnd(r, alone.code, t.agent.done)
	printed, err := os.ReadFile(r.stdout)
	if err != nil {
		return err
	}
	same := without(string(printed)) == without(alone.out)
	t.expect(same, "what the agent prints alone: "+strconv.Quote(alone.out), "%d bytes, the same as without a supervisor: %t", len(printed), same)

	requests := t.model.Requests()[before:]
	t.expect(len(requests) == 1, "1 model request", "model requests: %d", len(requests))
	if len(requests) > 0 {
		t.expectPrompt(requests[0])
	}
	t.expectLaunches(seen, "0")
	return t.expectClean(ctx, 0)
}

// A person ends the turn. Some agents exit with 0 then, others with what looks like a crash.
func interrupted(ctx context.Context, t *trial) error {
	t.model.Script(halfAnswer)
	stop := watch(ctx, t.session)
	r, _, err := t.startStalled(ctx, 1)
	if err == nil {
		err = r.interrupt()
	}
	if err == nil {
		err = r.wait(ctx)
	}
	seen := stop()
	if err != nil {
		return err
	}
	t.expect(true, "", "exit %d", r.code)
	t.expectOutcome(r, "interrupted", "concluded")
	t.expect(len(t.model.Requests()) == 1, "1", "model requests: %d", len(t.model.Requests()))
	t.expectLaunches(seen, "0")
	return t.expectClean(ctx, 0)
}

// refused makes the case of an error that the agent handles: it ends the turn, with the agent's own code.
func refused(status int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.model.Always(mockmodel.Answer{Status: status})
		stop := watch(ctx, t.session)
		r, err := t.finish(ctx)
		seen := stop()
		if err != nil {
			return err
		}
		t.expectEnd(r, t.agent.codes[status], t.agent.failed)
		t.expectOutcome(r, "concluded")
		t.expectNoNote()
		t.expectLaunches(seen, "0")
		return t.expectClean(ctx, 0)
	}
}

// stalled makes the case of an agent that never comes to an end by itself. One that has not asked the model yet when it is
// ended shows nothing: it gets more time, as a busy machine needs.
func stalled(status int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.model.Always(mockmodel.Answer{Status: status})
		var r *supervised
		for limit := 8 * time.Second; len(t.model.Requests()) == 0 && limit < patience; limit *= 2 {
			stop := watch(ctx, t.session)
			var err error
			r, err = t.finish(ctx, "--stall", limit.String(), "--max-attempts", "0")
			seen := stop()
			if err != nil {
				return err
			}
			t.expectLaunches(seen, "0")
		}
		t.expect(r.code == gaveUp, "exit 76", "exit %d", r.code)
		t.expectOutcome(r, "gave-up")
		t.expectNoNote()
		return t.expectClean(ctx, len(t.runs))
	}
}

// gaveUp is the exit code of a turn that went to ended/.
const gaveUp = 76

// expectNoNote notes whether the model was asked, and never told of an interruption.
func (t *trial) expectNoNote() {
	requests := t.model.Requests()
	noted := slices.ContainsFunc(requests, func(r mockmodel.Request) bool { return r.Holds(notePrefix) })
	t.expect(len(requests) > 0 && !noted, "requests without a note", "model requests: %d, told of an interruption: %t", len(requests), noted)
}

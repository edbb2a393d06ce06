package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"hermes-supervisor/scripts/mockmodel"
)

// halfAnswer is answered up to its middle; the second half never comes.
var halfAnswer = mockmodel.Answer{Text: "I had begun, and this half is lost.", Ending: mockmodel.Stall}

// A testCase notes what it observes in its trial. Its error is for what kept it from observing, and fails it as well.
type testCase struct {
	name string
	run  func(ctx context.Context, t *trial) error
}

// cases are all of them, each with a fresh home and session.
var cases = []testCase{
	{"normal end", normalEnd},
	{"native agent killed mid-answer", killed(process.native)},
	{"launcher alone killed mid-answer", killed(process.launcher)},
	{"launcher and agent killed mid-answer", killed(process.launcher, process.native)},
	{"keeper killed, then the agent", keeperKilled},
	{"model refuses with 401", refused},
	{"agent killed after a retry of its own", killedAfterRetry},
}

// try runs one case while its session is watched, and cleans up behind it.
func try(ctx context.Context, c testCase, dir, supervisor, launcher string) *findings {
	t, err := newTrial(ctx, dir, supervisor, launcher)
	if err != nil {
		f := &findings{}
		f.expect(false, "a place to run in", "%v", err)
		return f
	}
	if err := c.run(ctx, t); err != nil {
		t.expect(false, "no error", "%v", err)
	}
	if t.verdict() == fail {
		t.evidence = t.report()
	}
	if err := t.close(context.WithoutCancel(ctx)); err != nil {
		t.expect(false, "a clean end", "%v", err)
	}
	return t.findings
}

// A turn that nothing disturbs: hermes-supervisor is not to be seen in what the agent gets and prints.
func normalEnd(ctx context.Context, t *trial) error {
	alone, err := direct(ctx, t.launcher, t.prompt, t.cwd(), t.env())
	if err != nil {
		return err
	}
	stop := watch(ctx, t.session)
	r, err := t.finish(ctx)
	seen := stop()
	if err != nil {
		return err
	}
	t.expectEnd(r, 0, "turn.completed", 1)
	events, err := codexEvents(r.stdout)
	if err != nil {
		return err
	}
	same := slices.EqualFunc(events, alone, func(a, b codexEvent) bool { return a.line == b.line })
	t.expect(same, "the output of codex alone", "%d events, the same as without a supervisor: %t", len(events), same)

	requests := t.model.Requests()[1:] // the first is of the run without a supervisor
	t.expect(len(requests) == 1, "1 model request", "model requests: %d", len(requests))
	if len(requests) > 0 {
		t.expectPrompt(requests[0])
	}
	t.expectLaunches(seen, "0")
	return t.expectClean(ctx)
}

// killed makes the case in which every process that one of the kinds picks is killed mid-answer, kind after kind.
func killed(kinds ...func(process) bool) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.model.Script(halfAnswer)
		stop := watch(ctx, t.session)
		r, processes, err := t.startStalled(ctx, 1)
		if err == nil {
			err = t.killKinds(processes, kinds...)
		}
		if err == nil && t.skip == "" {
			err = r.wait(ctx)
		}
		seen := stop()
		if err != nil || t.skip != "" {
			return err
		}
		t.expectEnd(r, 0, "turn.completed", 2)
		t.expectContinued(t.model.Requests(), 2)
		t.expectLaunches(seen, "0", "1")
		return t.expectClean(ctx)
	}
}

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
	t.expectLaunches(seen, "0", "1")
	return t.expectClean(ctx)
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
	lives := slices.ContainsFunc(left, process.native) && len(launches(left)) == 1
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
	t.expectEnd(third, 0, "turn.completed", 0)
	return nil
}

// A handled error ends the turn, with the agent's own code.
func refused(ctx context.Context, t *trial) error {
	t.model.Always(mockmodel.Answer{Status: 401})
	stop := watch(ctx, t.session)
	r, err := t.finish(ctx)
	seen := stop()
	if err != nil {
		return err
	}
	t.expectEnd(r, 1, "turn.failed", 1)
	requests := t.model.Requests()
	noted := slices.ContainsFunc(requests, func(r mockmodel.Request) bool { return r.Holds(notePrefix) })
	t.expect(len(requests) > 0 && !noted, "requests without a note", "model requests: %d, told of an interruption: %t", len(requests), noted)
	t.expectLaunches(seen, "0")
	return t.expectClean(ctx)
}

// Codex reports a connection that it lost and is about to retry as an event of type "error", in a turn that goes on: a
// kill after such an event is a crash all the same.
func killedAfterRetry(ctx context.Context, t *trial) error {
	t.model.Script(mockmodel.Answer{Ending: mockmodel.Cut}, halfAnswer)
	stop := watch(ctx, t.session)
	r, processes, err := t.startStalled(ctx, 2)
	if err == nil {
		err = t.killKinds(processes, process.native)
	}
	if err == nil {
		err = r.wait(ctx)
	}
	seen := stop()
	if err != nil {
		return err
	}
	events, err := codexEvents(r.stdout)
	if err != nil {
		return err
	}
	retried := slices.ContainsFunc(events, func(e codexEvent) bool { return e.Type == "error" })
	t.expect(retried, "an error event before the kill", "error event before the kill: %t", retried)
	t.expectEnd(r, 0, "turn.completed", 2)
	t.expectContinued(t.model.Requests(), 3)
	t.expectLaunches(seen, "0", "1")
	return t.expectClean(ctx)
}

package main

import (
	"context"
	"slices"

	"hermes-supervisor/scripts/mockmodel"
)

// halfAnswer is answered up to its middle; the second half never comes.
var halfAnswer = mockmodel.Answer{Text: "I had begun, and this half is lost.", Ending: mockmodel.Stall}

// A testCase notes what it observes in its trial. Its error is for what kept it from observing, and fails it as well.
type testCase struct {
	name string
	// usual is run by default with every agent, the others only with quick ones.
	usual bool
	// fits tells whether an agent can get there at all; nil: each can.
	fits func(agent) bool
	run  func(ctx context.Context, t *trial) error
}

// cases are all of them, each with a fresh home and session.
var cases = []testCase{
	{"normal end", true, nil, normalEnd},
	{"agent killed mid-answer", true, nil, killed((*trial).isNative)},
	{"agent ended by SIGTERM mid-answer", false, nil, cut(terminated)},
	{"launcher alone killed mid-answer", true, hasLauncher, killed((*trial).isLauncher)},
	{"launcher and agent killed mid-answer", false, hasLauncher, killed((*trial).isLauncher, (*trial).isNative)},
	{"agent killed in its first moment", true, nil, killedAtOnce},
	{"agent killed while a tool runs", true, hasTool, killedInTool},
	{"agent killed after a retry of its own", false, func(a agent) bool { return a.retry != "" }, killedAfterRetry},
	{"keeper killed, then the agent", false, nil, keeperKilled},
	{"keeper and agent killed, continued by run", true, nil, bothKilled},
	{"keeper killed, and under run the agent", false, nil, keeperKilledUnderRun},
	{"interrupted by a person", true, nil, interrupted},
	{"model refuses with 401", true, refusedWith(401), refused(401)},
	{"model refuses with 429", false, refusedWith(429), refused(429)},
	{"model refuses with 500", false, refusedWith(500), refused(500)},
	{"tries 429 for ever, ended by --stall", false, triesForEver(429), stalled(429)},
	{"what the keeper adds", false, nil, added},
	{"tries 500 for ever, ended by --stall", false, triesForEver(500), stalled(500)},
}

func hasLauncher(a agent) bool { return a.launcher != "" }
func hasTool(a agent) bool     { return a.tool != nil }

func refusedWith(status int) func(agent) bool {
	return func(a agent) bool { _, known := a.codes[status]; return known }
}

func triesForEver(status int) func(agent) bool {
	return func(a agent) bool { return slices.Contains(a.silent, status) }
}

// try runs one case while its session is watched, and cleans up behind it.
func try(ctx context.Context, c testCase, dir, supervisor string, who agent, bin string) *findings {
	t, err := newTrial(ctx, dir, supervisor, who, bin)
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

package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/handoff"
)

// handoffRecord reads the handoff that an id or a session names; nil where there is none that is whole.
func handoffRecord(ts *testscript.TestScript, word string) *fsstate.Handoff {
	home := ts.Getenv("HERMES_HOME")
	store, err := fsstate.OpenRead(fsstate.Home{Path: home, Root: home})
	if err != nil {
		return nil
	}
	defer store.Close()
	h, err := (&handoff.Queue{Files: fsstate.HandoffFiles{Store: store}}).Find(word)
	if err != nil {
		return nil
	}
	return h
}

// waitHandoff ID|SESSION STATE waits until the handoff is in that state.
func waitHandoff(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "waithandoff ID|SESSION STATE")
	var last *fsstate.Handoff
	err := within(patience, func() (bool, error) {
		last = handoffRecord(ts, args[0])
		if last == nil || last.State != args[1] {
			return false, nil
		}
		// A command that runs is not known by its pid yet.
		c := last.Claim
		return last.State != "running" || c.External || c.Turn != "" || c.Handler.PID != 0, nil
	})
	if err != nil {
		ts.Fatalf("handoff %s in state %s: %v; it is %+v", args[0], args[1], err, last)
	}
}

// killHandoff ID|SESSION claimer|handler kills what the claim names, and waits until it is gone.
func killHandoff(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "killhandoff ID|SESSION claimer|handler")
	h := handoffRecord(ts, args[0])
	if h == nil || h.Claim == nil {
		ts.Fatalf("handoff %s was not claimed", args[0])
	}
	id := h.Claim.Claimer
	if args[1] == "handler" {
		id = h.Claim.Handler
	}
	if ident.Check(id) != ident.Alive { // a recycled pid is somebody else's
		ts.Fatalf("%s of handoff %s, pid %d, does not live", args[1], args[0], id.PID)
	}
	p, err := os.FindProcess(id.PID)
	ts.Check(err)
	ts.Check(p.Kill())
	ts.Check(within(patience, func() (bool, error) { return ident.Check(id) == ident.Dead, nil }))
}

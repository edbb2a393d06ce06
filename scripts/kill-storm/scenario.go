//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A situation is what a call finds.
type situation struct {
	phase   string // of the marker; "" where there is none
	other   bool   // the call gives another prompt than the marker's
	next    int    // the attempt that the call's first run has
	id      bool   // the request has an id
	receipt bool   // a receipt is asked for
	fresh   bool   // a new prompt without a marker: id and receipt may still be chosen
}

// suits tells whether a call in a situation can be made to pass a point.
func (s situation) suits(point string) bool {
	group, _, _ := strings.Cut(point, ".")
	switch {
	case group == "write", group == "witness", group == "admit", point == "finish.remove", point == "finish.durable":
		return true
	case point == "finish.outcome":
		return s.id || s.fresh
	case group == "receipt":
		return s.fresh || s.receipt && s.phase != phaseStopping
	case s.phase == phaseConcluded, s.phase == phaseStopping: // nothing of this prompt runs any more
		return s.other && group != "archive"
	case point == "wait.durable":
		return s.next < limit
	case group == "archive":
		return true
	}
	return s.next <= limit // launch, stop, conclude, crash, drain
}

// A scene is how a call is disturbed and what its agents do.
type scene struct {
	strike strike
	events []event
	script script
	drain  bool // --drain 0s
}

// stage draws the scene in which a call passes a point.
func stage(r *rand.Rand, point string, s situation) scene {
	sc := scene{strike: strike{point: point, action: "kill", nth: 1}}
	if r.IntN(3) == 0 {
		sc.strike.action = "stop"
	}
	dying := func() string { return []string{endDie, endDie, endCode}[r.IntN(3)] }
	var ends []string
	group, _, _ := strings.Cut(point, ".")
	over := !s.other && (s.phase == phaseConcluded || s.phase == phaseStopping)
	switch {
	case group == "write" && over, group == "witness" && over:
		sc.strike.nth = 1 + r.IntN(2)
	case group == "write":
		sc.strike.nth = 1 + r.IntN(4)
	case group == "witness":
		sc.strike.nth = 1 + r.IntN(2)
	case group == "launch" && s.next < limit && r.IntN(3) == 0: // at the fork of a continuation
		sc.strike.nth = 2
		ends = []string{dying()}
	case group == "crash" && r.IntN(3) == 0: // killed rather than dying by itself
		ends = []string{endHang}
		sc.events = []event{{since: sinceAgent, after: upTo(r, 15), what: doKill, whom: []string{toAgent, toLauncher}[r.IntN(2)]}}
	case group == "crash":
		ends = []string{dying()}
	case group == "wait": // the first continuation waits for nothing
		for range limit - s.next {
			ends = append(ends, dying())
		}
	case group == "archive" && !s.other:
		for range limit - s.next + 1 {
			ends = append(ends, dying())
		}
	case group == "stop":
		ends = []string{endHang}
		sc.events = []event{{since: sinceAgent, after: upTo(r, 15), what: doInt, whom: toKeeper}}
	case group == "drain":
		ends = []string{endHang}
		sc.events = []event{{since: sinceAgent, after: upTo(r, 15), what: doTerm, whom: toKeeper}}
		sc.drain = true
	}
	if sc.strike.action == "stop" {
		sc.events = append(sc.events, drawWake(r)...)
	}
	sc.script = drawScript(r, s.next, ends...)
	return sc
}

// chance draws a scene of kills and stops at random moments.
func chance(r *rand.Rand, s situation) scene {
	sc := scene{}
	var end string
	sc.events, end = drawEvents(r)
	sc.script = drawScript(r, s.next, end)
	sc.script.Acts[0].Work = r.IntN(40)
	sc.drain = slices.ContainsFunc(sc.events, func(e event) bool { return e.what == doTerm })
	return sc
}

// calm is a scene in which nothing is done.
func calm(r *rand.Rand, s situation) scene { return scene{script: drawScript(r, s.next)} }

//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The variables of a hermes-supervisor with fault points (package fault).
const (
	faultVar    = "HERMES_SUPERVISOR_FAULT"
	faultLogVar = "HERMES_SUPERVISOR_FAULT_LOG"
)

// A strike is what a keeper does to itself: kill or stop, at the n-th passage of a point. The zero one is none.
type strike struct {
	point, action string
	nth           int
}

func (s strike) String() string { return fmt.Sprintf("%s:%s:%d", s.point, s.action, s.nth) }

// Since when an event's time is counted.
const (
	sinceCall  = "call"  // the keeper was started
	sinceAgent = "agent" // an agent of it has begun
	sinceStop  = "stop"  // it has stopped at its fault point
)

// What is done.
const (
	doKill      = "SIGKILL"
	doStop      = "SIGSTOP"
	doCont      = "SIGCONT"
	doInt       = "SIGINT"
	doTerm      = "SIGTERM"
	doRival     = "another turn run" // of the same session, while this one runs
	doInterrupt = "turn interrupt"
)

// Whom it is done to.
const (
	toKeeper   = "keeper"
	toAgent    = "agent"
	toLauncher = "launcher" // or the agent, where there is none
)

// An event is something that is done to the processes of a call.
type event struct {
	since string
	after time.Duration
	what  string
	whom  string
	done  bool
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// upTo draws a time below so many milliseconds, finer than the moments that it is to hit.
func upTo(r *rand.Rand, n int) time.Duration {
	return time.Duration(r.IntN(n*1000+1)) * time.Microsecond
}

// drawEvents draws kills and stops at random moments, and how the agent of the first attempt ends meanwhile.
func drawEvents(r *rand.Rand) (events []event, end string) {
	since, at := sinceAgent, upTo(r, 15)
	if r.IntN(3) == 0 {
		since, at = sinceCall, upTo(r, 40)
	}
	on := func(what, whom string, later time.Duration) {
		events = append(events, event{since: since, after: at + later, what: what, whom: whom})
	}
	a, b := toKeeper, toAgent
	if r.IntN(2) == 0 {
		a, b = b, a
	}
	switch r.IntN(13) {
	case 0, 1:
		on(doKill, toAgent, 0)
	case 2, 3:
		on(doKill, toKeeper, 0)
	case 4, 5: // both, one closely after the other
		on(doKill, a, 0)
		on(doKill, b, upTo(r, 3))
	case 6:
		on(doKill, toLauncher, 0)
	case 7:
		on(doStop, a, 0)
		on(doCont, a, upTo(r, 60))
	case 8: // one dies while the other cannot see it
		on(doStop, a, 0)
		on(doKill, b, upTo(r, 10))
		on(doCont, a, 10*time.Millisecond+upTo(r, 30))
	case 9: // a stopped keeper still holds the session
		on(doStop, toKeeper, 0)
		on(doRival, "", upTo(r, 5))
		on([]string{doCont, doKill}[r.IntN(2)], toKeeper, 20*time.Millisecond+upTo(r, 60))
	case 10:
		on(doRival, "", 0)
		on(doKill, a, upTo(r, 20))
	case 11, 12:
		on([]string{doInt, doTerm, doInterrupt, doInterrupt}[r.IntN(4)], toKeeper, 0)
		on(doKill, a, upTo(r, 10))
	}
	return events, []string{endOK, endHang, endHang, endDie}[r.IntN(4)]
}

// drawWake draws what becomes of a keeper that has stopped at its fault point.
func drawWake(r *rand.Rand) []event {
	at := func(what, whom string, after time.Duration) event {
		return event{since: sinceStop, after: after, what: what, whom: whom}
	}
	switch r.IntN(8) {
	case 0:
		return []event{at(doKill, toKeeper, upTo(r, 30))}
	case 1, 2:
		return []event{at(doKill, toAgent, upTo(r, 10)), at(doCont, toKeeper, ms(10)+upTo(r, 40))}
	case 3:
		return []event{at(doRival, "", upTo(r, 5)), at(doCont, toKeeper, ms(20)+upTo(r, 60))}
	case 4:
		return []event{at(doRival, "", upTo(r, 5)), at(doKill, toKeeper, ms(10)+upTo(r, 60))}
	}
	return []event{at(doCont, toKeeper, upTo(r, 60))}
}

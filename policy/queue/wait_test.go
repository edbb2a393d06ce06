package queue

import (
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	t.Parallel()
	const long = time.Hour
	for _, tt := range []struct {
		name             string
		state            State
		pending, running time.Duration
		over             bool
		why              Reason
	}{
		{"just asked", Pending, 0, 0, false, ""},
		{"not claimed yet", Pending, ClaimWithin - 1, 0, false, ""},
		{"not claimed in time", Pending, ClaimWithin, 0, true, ReasonNotClaimed},
		{"held back by its session's turn", Pending, 0, 0, false, ""},
		{"claimed at the last moment", Running, ClaimWithin, 0, false, ""},
		{"claimed late, and delivered for long", Running, long, FinishWithin - 1, false, ""},
		{"not finished in time", Running, 0, FinishWithin, true, ReasonRunning},
		{"taken back: its delivery does not count while it waits", Pending, 0, long, false, ""},
		{"delivered", Completed, 0, 0, true, ReasonDelivered},
		{"delivered, however late", Completed, long, long, true, ReasonDelivered},
		{"failed", Failed, 0, 0, true, ReasonHandlerFailed},
		{"failed, however late", Failed, long, long, true, ReasonHandlerFailed},
		{"a state of a later version", "sleeping", 0, 0, false, ""},
	} {
		over, why := Wait(WaitFacts{
			State: tt.state, Pending: tt.pending, Running: tt.running, ClaimWithin: ClaimWithin, FinishWithin: FinishWithin,
		})
		if over != tt.over || why != tt.why {
			t.Errorf("%s: over %v (%s), want %v (%s)", tt.name, over, why, tt.over, tt.why)
		}
	}
}

func TestAClientThatAllowsNoTimeStillLearnsTheOutcome(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]Reason{Pending: ReasonNotClaimed, Running: ReasonRunning, Completed: ReasonDelivered, Failed: ReasonHandlerFailed} {
		if over, why := Wait(WaitFacts{State: state}); !over || why != want {
			t.Errorf("%s: over %v (%s)", state, over, why)
		}
	}
}

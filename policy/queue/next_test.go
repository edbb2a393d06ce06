package queue

import (
	"fmt"
	"testing"

	"hermes-supervisor/policy"
)

// example is a handoff as it mostly is in a state: requested by somebody who may, its platform served, and claimed by
// whoever asks, who lives.
func example(s State) Facts {
	f := Facts{State: s, Verified: true, Served: true}
	if s != Pending {
		f.Claimer, f.SameClaim = policy.LifeAlive, true
	}
	return f
}

func (s Step) String() string {
	if s.Refused {
		return "refused " + string(s.Reason)
	}
	return fmt.Sprintf("%s %s", s.To, s.Reason)
}

// pairs are all of them: the state after and why, or why not.
var pairs = map[State]map[Event]string{
	Pending: {
		Claim:    "running claimed",
		Complete: "refused not-claimed",
		Fail:     "refused not-claimed",
		Cancel:   "failed cancelled",
		Retry:    "refused open",
		Reclaim:  "refused not-claimed",
	},
	Running: {
		Claim:    "refused running",
		Complete: "completed delivered",
		Fail:     "failed handler-failed",
		Cancel:   "running cancel-asked",
		Retry:    "refused open",
		Reclaim:  "refused running",
	},
	Completed: {
		Claim:    "refused finished",
		Complete: "completed delivered",
		Fail:     "refused finished",
		Cancel:   "refused finished",
		Retry:    "refused delivered",
		Reclaim:  "refused not-claimed",
	},
	Failed: {
		Claim:    "refused finished",
		Complete: "refused finished",
		Fail:     "failed handler-failed",
		Cancel:   "refused finished",
		Retry:    "pending retried",
		Reclaim:  "refused not-claimed",
	},
}

// changes turn one fact of an example over.
var changes = map[string]func(*Facts){
	"unverified":      func(f *Facts) { f.Verified = false },
	"claimer unknown": func(f *Facts) { f.Claimer = policy.LifeUnknown },
	"claimer dead":    func(f *Facts) { f.Claimer = policy.LifeDead },
	"claimer odd":     func(f *Facts) { f.Claimer = policy.Life(7) },
	"other claim":     func(f *Facts) { f.SameClaim = false },
	"cancel asked":    func(f *Facts) { f.CancelAsked = true },
	"as turn":         func(f *Facts) { f.AsTurn = true },
	"not served":      func(f *Facts) { f.Served = false },
	"turn open":       func(f *Facts) { f.TurnOpen = true },
	"other open":      func(f *Facts) { f.OtherOpen = true },
}

// matters are the facts that change what an event does, in all states and events; every other one does not.
var matters = map[State]map[Event]map[string]string{
	Pending: {
		Claim: {"unverified": "refused unverified", "not served": "refused not-served", "turn open": "refused turn-open"},
	},
	Running: {
		Complete: {"other claim": "refused other-claim"},
		Fail:     {"other claim": "refused other-claim"},
		Cancel:   {"claimer dead": "failed delivery-cancelled"},
		Reclaim: {
			"claimer dead": "failed claimer-died", "claimer unknown": "refused claimer-unknown",
			"claimer odd": "refused claimer-unknown",
		},
	},
	Completed: {
		Complete: {"other claim": "refused other-claim"},
		Fail:     {"other claim": "refused other-claim"},
	},
	Failed: {
		Complete: {"other claim": "refused other-claim"},
		Fail:     {"other claim": "refused other-claim"},
		Retry:    {"unverified": "refused unverified", "other open": "refused open"},
	},
}

func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	if len(pairs) != 4 {
		t.Fatalf("%d states are written out", len(pairs))
	}
	for state, events := range pairs {
		if len(events) != len(Events()) {
			t.Errorf("%s: %d events are written out", state, len(events))
		}
		for _, event := range Events() {
			want, written := events[event]
			if got := Next(example(state), event).String(); !written || got != want {
				t.Errorf("%s, %s: %q, want %q", state, event, got, want)
			}
		}
	}
}

func TestEachFactChangesWhatItShouldAndNothingElse(t *testing.T) {
	t.Parallel()
	met := 0
	for state, events := range pairs {
		for event, usual := range events {
			for name, change := range changes {
				f := example(state)
				change(&f)
				want, changed := matters[state][event][name]
				if changed {
					met++
				} else {
					want = usual
				}
				if got := Next(f, event).String(); got != want {
					t.Errorf("%s, %s, %s: %q, want %q", state, event, name, got, want)
				}
			}
		}
	}
	if met != 15 {
		t.Errorf("%d facts that matter were tried", met)
	}
}

func TestWhatBecomesOfAHandoffWhoseClaimerDied(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		facts []string
		event Event
		want  string
	}{
		{[]string{"claimer dead"}, Reclaim, "failed claimer-died"},
		{[]string{"claimer dead", "as turn"}, Reclaim, "pending taken-back"},
		{[]string{"claimer dead", "as turn", "unverified"}, Reclaim, "failed claimer-died"},
		{[]string{"claimer dead", "cancel asked"}, Reclaim, "failed delivery-cancelled"},
		{[]string{"claimer dead", "cancel asked", "as turn"}, Reclaim, "failed delivery-cancelled"},
		{[]string{"claimer dead", "unverified"}, Reclaim, "failed claimer-died"},
		{[]string{"claimer dead", "not served"}, Reclaim, "failed claimer-died"},
		{[]string{"claimer dead", "turn open", "as turn"}, Reclaim, "pending taken-back"},
		{[]string{"claimer unknown", "as turn", "cancel asked"}, Reclaim, "refused claimer-unknown"},
		{[]string{"claimer unknown", "cancel asked"}, Cancel, "running cancel-asked"},
		{[]string{"claimer dead", "cancel asked"}, Cancel, "failed delivery-cancelled"},
		{[]string{"claimer dead"}, Claim, "refused running"},
		{[]string{"claimer dead", "other claim"}, Complete, "refused other-claim"},
		{[]string{"claimer dead", "other claim"}, Fail, "refused other-claim"},
		{[]string{"claimer dead"}, Complete, "completed delivered"}, // it says so itself
	} {
		f := example(Running)
		for _, name := range tt.facts {
			changes[name](&f)
		}
		if got := Next(f, tt.event).String(); got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.event, tt.facts, got, tt.want)
		}
	}
}

func TestWhatIsUnknownIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []State{"", "sleeping", "Pending", "RUNNING"} {
		for _, event := range Events() {
			if got := Next(example(state), event); !got.Refused || got.To != state || got.Reason != ReasonStateUnknown {
				t.Errorf("state %q, %s: %+v", state, event, got)
			}
		}
	}
	for state := range pairs {
		for _, event := range []Event{"", "drop", "CLAIM"} {
			if got := Next(example(state), event); !got.Refused || got.To != state {
				t.Errorf("%s, event %q: %+v", state, event, got)
			}
		}
	}
}

func TestARefusalChangesNothing(t *testing.T) {
	t.Parallel()
	for state, events := range pairs {
		for event := range events {
			for name, change := range changes {
				f := example(state)
				change(&f)
				if got := Next(f, event); got.Refused && got.To != state {
					t.Errorf("%s, %s, %s: refused, and %s", state, event, name, got.To)
				}
			}
		}
	}
}

func TestOpenAndKnownStates(t *testing.T) {
	t.Parallel()
	for state, open := range map[State]bool{Pending: true, Running: true, Completed: false, Failed: false, "": false, "sleeping": false} {
		if _, known := pairs[state]; state.Open() != open || state.Known() != known {
			t.Errorf("%q: open %v, known %v", state, state.Open(), state.Known())
		}
	}
}

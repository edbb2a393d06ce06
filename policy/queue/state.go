package queue

// State is where a handoff stands. The words are written to disk and to --json.
type State string

// The four states. A handoff is open in the first two.
const (
	Pending   State = "pending"   // waits for somebody who delivers it
	Running   State = "running"   // claimed: is being delivered
	Completed State = "completed" // delivered
	Failed    State = "failed"    // not delivered, or nobody knows; it can be retried
)

// Open tells whether a handoff in this state still occupies its session.
func (s State) Open() bool { return s == Pending || s == Running }

// Known tells whether it is one of the four.
func (s State) Known() bool { return s.Open() || s == Completed || s == Failed }

// Event is what is asked of a handoff.
type Event string

// All events, whoever they come from.
const (
	Claim    Event = "claim"    // somebody wants to deliver it
	Complete Event = "complete" // its claimer has delivered it
	Fail     Event = "fail"     // its claimer could not deliver it
	Cancel   Event = "cancel"   // a person wants it to end
	Retry    Event = "retry"    // a person wants it delivered after all
	Reclaim  Event = "reclaim"  // its claimer may have died
)

// Events are all of them.
func Events() []Event { return []Event{Claim, Complete, Fail, Cancel, Retry, Reclaim} }

package queue

import "time"

// The defaults of a client that waits: Hermes's own (its issue 98225).
const (
	ClaimWithin  = time.Minute
	FinishWithin = 15 * time.Minute
)

// WaitFacts are how a client's wait stands.
type WaitFacts struct {
	State State
	// Pending is how long the handoff has been seen pending by this client, without one that its own session's turn
	// held back; Running how long since it was claimed.
	Pending, Running time.Duration
	// ClaimWithin and FinishWithin are what the client allows for each.
	ClaimWithin, FinishWithin time.Duration
}

// Wait tells whether a client's wait is over, and why.
func Wait(f WaitFacts) (over bool, why Reason) {
	switch {
	case f.State == Completed:
		return true, ReasonDelivered
	case f.State == Failed:
		return true, ReasonHandlerFailed
	case f.State == Pending && f.Pending >= f.ClaimWithin:
		return true, ReasonNotClaimed
	case f.State == Running && f.Running >= f.FinishWithin:
		return true, ReasonRunning
	}
	return false, ""
}

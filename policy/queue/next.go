package queue

import "hermes-supervisor/policy"

// Facts are everything that the next state of a handoff may depend on.
type Facts struct {
	State State
	// Verified: its seal holds. One that does not verify was not requested by anybody who may, and is never delivered.
	Verified bool
	// Claimer is the life of whoever claimed it, of its handler and of all that this one started: DEAD only when all of
	// them are gone. It counts while the handoff is running.
	Claimer policy.Life
	// SameClaim: who asks is the one whose claim the record holds.
	SameClaim bool
	// CancelAsked: a person wants the delivery that runs to end.
	CancelAsked bool
	// AsTurn: what runs is delivered as a turn of a session, and its platform still is that session: it can be handed the
	// same handoff twice and works on it once.
	AsTurn bool
	// OwnTurn: that turn is open, whoever has it: something of the delivery goes on, or may be continued.
	OwnTurn bool
	// Served: its platform is configured, and who asks is who delivers to it.
	Served bool
	// TurnOpen: its session has an open turn, so that a delivery would have two work on it at once; or the session that it
	// is delivered to has one, which it would push aside. The turn of this very handoff is none.
	TurnOpen bool
	// OtherOpen: its session has another open handoff.
	OtherOpen bool
}

// Step is what an event does to a handoff.
type Step struct {
	To     State  // equals Facts.State where nothing changes
	Reason Reason // why; on a failure it is the one that is recorded
	// Refused: what was asked is not done. A step that neither changes the state nor is refused had been done before, or
	// asks the claimer (ReasonCancelAsked).
	Refused bool
}

// Next decides about an event. Every state and event is written out.
func Next(f Facts, e Event) Step {
	stay := func(r Reason) Step { return Step{To: f.State, Reason: r} }
	refuse := func(r Reason) Step { return Step{To: f.State, Reason: r, Refused: true} }
	if !f.State.Known() {
		return refuse(ReasonStateUnknown)
	}
	switch e {
	case Claim:
		switch {
		case f.State == Running:
			return refuse(ReasonRunning)
		case !f.State.Open():
			return refuse(ReasonFinished)
		case !f.Verified:
			return refuse(ReasonUnverified)
		case !f.Served:
			return refuse(ReasonNotServed)
		case f.TurnOpen:
			return refuse(ReasonTurnOpen)
		}
		return Step{To: Running, Reason: ReasonClaimed}
	case Complete, Fail:
		to, reason := Completed, ReasonDelivered
		if e == Fail {
			to, reason = Failed, ReasonHandlerFailed
		}
		switch {
		case f.State == Pending:
			return refuse(ReasonNotClaimed)
		case !f.SameClaim:
			return refuse(ReasonOtherClaim)
		case f.State == to:
			return stay(reason) // the answer to the first time was lost
		case f.State != Running:
			return refuse(ReasonFinished)
		}
		return Step{To: to, Reason: reason}
	case Cancel:
		switch {
		case !f.State.Open():
			return refuse(ReasonFinished)
		case f.OwnTurn, f.State == Running && f.Claimer != policy.LifeDead:
			return stay(ReasonCancelAsked)
		case f.State == Running:
			return Step{To: Failed, Reason: ReasonDeliveryCancelled}
		case f.State == Pending:
			return Step{To: Failed, Reason: ReasonCancelled}
		}
		return refuse(ReasonFinished)
	case Retry:
		switch {
		case f.State.Open():
			return refuse(ReasonOpen)
		case f.State == Completed:
			return refuse(ReasonDelivered)
		case !f.Verified:
			return refuse(ReasonUnverified)
		case f.OtherOpen:
			return refuse(ReasonOpen)
		}
		return Step{To: Pending, Reason: ReasonRetried}
	case Reclaim:
		switch {
		case f.State != Running:
			return refuse(ReasonNotClaimed)
		case f.Claimer == policy.LifeAlive:
			return refuse(ReasonRunning)
		case f.Claimer != policy.LifeDead:
			return refuse(ReasonClaimerUnknown)
		case f.AsTurn && f.Verified && (f.OwnTurn || !f.CancelAsked):
			return Step{To: Pending, Reason: ReasonTakenBack} // of one that is to be cancelled, the next claimer ends the turn
		case f.OwnTurn:
			return refuse(ReasonRunning)
		case f.CancelAsked:
			return Step{To: Failed, Reason: ReasonDeliveryCancelled}
		}
		return Step{To: Failed, Reason: ReasonClaimerDied}
	}
	return refuse(ReasonStateUnknown)
}

package queue

// Hold is why a pending handoff is not being delivered yet. external: a program of its own takes those of its platform.
func Hold(f Facts, external bool) Reason {
	switch s := Next(f, Claim); {
	case s.Refused:
		return s.Reason
	case external:
		return ReasonAwaitsClaim
	}
	return ReasonWaits
}

// remedies are what a person may do about a handoff, where its error does not say so already.
var remedies = map[Reason]string{
	ReasonWaits:          "`hermes-supervisor run` or `handoff watch` delivers it in its turn; `hermes-supervisor handoff deliver ID` now",
	ReasonAwaitsClaim:    "the program that serves PLATFORM takes it by `hermes-supervisor handoff claim PLATFORM`",
	ReasonTurnOpen:       "it is delivered when that turn ends; `hermes-supervisor turn show KEY` tells of the session's own",
	ReasonNotServed:      "add [handoff.platform.PLATFORM] to hermes.toml, or `hermes-supervisor handoff cancel ID`",
	ReasonUnverified:     "`hermes-supervisor handoff cancel ID`, then request it again",
	ReasonRunning:        "`hermes-supervisor handoff cancel ID` asks whoever delivers it to stop",
	ReasonCancelAsked:    "it ends when whoever delivers it stops; one that knows nothing of it: `hermes-supervisor handoff fail ID --claim` with the claim that `handoff show ID --json` tells",
	ReasonClaimerUnknown: "look whether its claimer lives; nothing takes it away from one that may",
	ReasonClaimerDied:    "`hermes-supervisor run` or `handoff watch` records that it has failed; `hermes-supervisor handoff cancel ID` does too",
	ReasonTakenBack:      "`hermes-supervisor run` or `handoff watch` goes on with it",
}

// Remedy is what a person may do about a handoff that stands as it does for this reason, with ID, PLATFORM and KEY in the
// place of its own; "" where there is nothing to do, or its error says it.
func (r Reason) Remedy() string { return remedies[r] }

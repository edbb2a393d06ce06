package policy

// rule is one line of the decision table. Decide and Explain both walk the
// table and ask the same speak, so what is explained is what is done.
type rule struct {
	name  string
	fact  func(*Facts) string
	speak func(*Facts) (Decision, bool) // true: the rule does not hold, and this is its decision
}

// rules are the decision table, in the order in which it decides. What
// protects work that may be going on comes before what may end a marker: a
// live or unknown owner is never given up as stale, whatever else is true. The
// last rule always speaks.
var rules = []rule{
	{
		name:  "no end is on disk",
		fact:  phaseFact,
		speak: func(f *Facts) (Decision, bool) { return conclude(ReasonConcluded), f.phase() == PhaseConcluded },
	},
	{
		name:  "nobody asked for a stop",
		fact:  stopFact,
		speak: speakStop,
	},
	{
		name:  "the phase is a known one",
		fact:  phaseFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonPhaseUnknown), !knownPhase(f.phase()) },
	},
	{
		name:  "no newer prompt of a person is waiting",
		fact:  newerPromptFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonNewerPrompt), f.NewerPrompt },
	},
	{
		name: "continuations are not paused",
		fact: pauseFact,
		speak: func(f *Facts) (Decision, bool) {
			return Decision{Action: Keep, Reason: ReasonPaused, At: f.PausedUntil}, f.paused()
		},
	},
	{
		name:  "no other driver owns the source",
		fact:  sourceFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonHostedSource), f.hosted() && !f.person() },
	},
	{
		name:  "the keeper is gone",
		fact:  keeperFact,
		speak: func(f *Facts) (Decision, bool) { return speakLife(f.Keeper, ReasonKeeperAlive, ReasonKeeperUnknown) },
	},
	{
		name:  "the owner is gone",
		fact:  ownerFact,
		speak: func(f *Facts) (Decision, bool) { return speakLife(f.Owner, ReasonOwnerAlive, ReasonOwnerUnknown) },
	},
	{
		name:  "Hermes has no lease on the session",
		fact:  leaseFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonLeaseHeld), f.LeaseHeld && f.LeaseOwner != LifeDead },
	},
	{
		name:  "auto-continue is switched on",
		fact:  enabledFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonDisabled), !f.Settings.Enabled && !f.person() },
	},
	{
		name:  "the marker allows it",
		fact:  consentFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonDisabledByMarker), !f.AutoContinue && !f.person() },
	},
	{
		name: "a reported turn may go on unattended",
		fact: reportedFact,
		speak: func(f *Facts) (Decision, bool) {
			return keep(ReasonReported), f.Reported && !f.Unattended && !f.person()
		},
	},
	{
		name:  "the record is verified",
		fact:  verifiedFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonUnverified), !f.Verified && f.Store != StoreHermes },
	},
	{
		name:  "configuration names the agent",
		fact:  agentFact,
		speak: func(f *Facts) (Decision, bool) { return keep(ReasonAgentUnknown), !f.AgentKnown && !f.person() },
	},
	{
		name:  "the turn is fresh",
		fact:  freshFact,
		speak: speakFresh,
	},
	{
		name: "attempts are left",
		fact: attemptsFact,
		speak: func(f *Facts) (Decision, bool) {
			return Decision{Action: End, Reason: ReasonAttemptsExhausted}, f.attempts() >= f.Settings.MaxAttempts
		},
	},
	{
		name: "no back-off is in force",
		fact: retryFact,
		speak: func(f *Facts) (Decision, bool) {
			return Decision{Action: Wait, Reason: f.waitReason(), Attempt: f.attempts() + 1, At: f.retryAt()}, f.retryAt().After(f.now())
		},
	},
	{
		name:  "nothing holds the turn back",
		fact:  endFact,
		speak: speakContinue,
	},
}

func keep(r Reason) Decision { return Decision{Action: Keep, Reason: r} }

func conclude(r Reason) Decision { return Decision{Action: Conclude, Reason: r} }

// knownPhase: a word of another version must not be taken for a running turn.
func knownPhase(phase string) bool {
	switch phase {
	case PhaseIntended, PhaseRunning, PhaseStopping, PhaseConcluded:
		return true
	default:
		return false
	}
}

// speakStop: an interrupt is never continued, and occupies the session until
// its tree is empty.
func speakStop(f *Facts) (Decision, bool) {
	if f.Keeper == LifeDead && f.Owner == LifeDead {
		return conclude(ReasonInterrupted), f.stopAsked()
	}
	return keep(ReasonBeingStopped), f.stopAsked()
}

// speakLife holds back while the process may live.
func speakLife(l Life, alive, unknown Reason) (Decision, bool) {
	if l == LifeAlive {
		return keep(alive), true
	}
	return keep(unknown), l != LifeDead
}

// speakFresh ends what is too old, and only keeps what has no age: a wrong
// clock must neither revive a turn nor throw it away.
func speakFresh(f *Facts) (Decision, bool) {
	proof := Proof(*f)
	switch Fresh(f.Now, proof, f.Settings.Freshness) {
	case StillFresh:
		return Decision{}, false
	case Stale:
		return Decision{Action: End, Reason: ReasonStale}, true
	case Future:
		return Decision{Action: Keep, Reason: ReasonFromTheFuture, At: proof}, true
	default:
		return keep(ReasonAgeUnknown), true
	}
}

func speakContinue(f *Facts) (Decision, bool) {
	reason := ReasonFresh
	if f.EndUnobserved {
		reason = ReasonEndUnobserved
	}
	return Decision{Action: Continue, Reason: reason, Attempt: f.attempts() + 1}, true
}

package policy

// Reason is why a decision, an exit class or an admission is what it is, or
// why a turn came to ended/. The
// constants below are all there are; the words are written to disk and to
// --json, so they stay.
type Reason string

// Reasons of Decide, in the order in which they are looked for. Admit gives
// them too.
const (
	ReasonConcluded         Reason = "concluded"
	ReasonBeingStopped      Reason = "being-stopped"
	ReasonInterrupted       Reason = "interrupted"
	ReasonPhaseUnknown      Reason = "phase-unknown"
	ReasonNewerPrompt       Reason = "newer-prompt"
	ReasonPaused            Reason = "paused"
	ReasonHostedSource      Reason = "hosted-source"
	ReasonKeeperAlive       Reason = "keeper-alive"
	ReasonKeeperUnknown     Reason = "keeper-unknown"
	ReasonOwnerAlive        Reason = "owner-alive"
	ReasonOwnerUnknown      Reason = "owner-unknown"
	ReasonLeaseHeld         Reason = "lease-held"
	ReasonDisabled          Reason = "disabled"
	ReasonDisabledByMarker  Reason = "disabled-by-marker"
	ReasonReported          Reason = "reported"
	ReasonUnverified        Reason = "unverified"
	ReasonAgentUnknown      Reason = "agent-unknown"
	ReasonFromTheFuture     Reason = "from-the-future"
	ReasonAgeUnknown        Reason = "age-unknown"
	ReasonStale             Reason = "stale"
	ReasonAttemptsExhausted Reason = "attempts-exhausted"
	ReasonBackOff           Reason = "back-off"
	ReasonFresh             Reason = "fresh"
	ReasonEndUnobserved     Reason = "end-unobserved"
)

// Reasons of ClassifyExit.
const (
	ReasonEndEvent        Reason = "end-event"
	ReasonBusy            Reason = "busy"
	ReasonRateLimited     Reason = "rate-limited"
	ReasonUnknownSession  Reason = "unknown-session"
	ReasonHandledError    Reason = "handled-error"
	ReasonStopRequested   Reason = "stop-requested" // Admit gives it too
	ReasonDrained         Reason = "drained"
	ReasonStalled         Reason = "stalled"
	ReasonInterruptSignal Reason = "interrupt-signal"
	ReasonKilled          Reason = "killed"
	ReasonCrashCode       Reason = "crash-code"
	ReasonConcludedCode   Reason = "concluded-code"
	ReasonLauncherSignal  Reason = "launcher-signal"
	ReasonNoEnd           Reason = "no-end"
	ReasonSucceeded       Reason = "succeeded"
)

// Reasons of Admit alone.
const (
	ReasonOwnPrompt      Reason = "own-prompt"
	ReasonNoPrompt       Reason = "no-prompt"
	ReasonOtherPrompt    Reason = "other-prompt"
	ReasonReceiptPending Reason = "receipt-pending"
	ReasonReceiptRunning Reason = "receipt-running"
)

// Reasons that no decision gives: they record what was done to a turn.
const (
	ReasonCleared Reason = "cleared" // turn clear
	ReasonTaken   Reason = "taken"   // a keeper finds its record in another's hands
)

// wording is a reason for people: what is, and what would change it.
type wording struct {
	reason       Reason
	text, remedy string
}

// unknownRemedy: the same three ways settle every process that nobody can see.
const unknownRemedy = "look from the machine or container that started it, wait until its witness is free, or `turn clear KEY --force` once you know that it is gone"

var wordings = []wording{
	{ReasonConcluded, "the end of the turn is on disk", ""},
	{ReasonBeingStopped, "the turn is being interrupted and something of it may still live", "wait until its processes are gone"},
	{ReasonInterrupted, "the turn was interrupted on request and nothing of it lives", "give the prompt again to start it anew"},
	{ReasonPhaseUnknown, "the record names a phase that this version does not know", "use the version that wrote it, or `turn clear KEY`"},
	{ReasonNewerPrompt, "a person's newer prompt goes first", ""},
	{ReasonPaused, "continuations are paused in this home", "`unpause`, or wait for the end of the pause"},
	{ReasonHostedSource, "another driver owns turns of this source and brings them back itself", "`turn resume KEY` continues it here"},
	{ReasonKeeperAlive, "the turn's keeper lives", "wait for it, or `turn interrupt KEY`"},
	{ReasonKeeperUnknown, "nobody can tell whether the turn's keeper lives", unknownRemedy},
	{ReasonOwnerAlive, "the process doing the turn, or a descendant of it, lives", "wait for it, or `turn interrupt KEY`"},
	{ReasonOwnerUnknown, "nobody can tell whether the process doing the turn lives", unknownRemedy},
	{ReasonLeaseHeld, "Hermes's registry names a session owner that is not proven dead", "close the session there, or end that Hermes process"},
	{ReasonDisabled, "auto-continue is switched off", "switch it on in hermes.toml, or `turn resume KEY`"},
	{ReasonDisabledByMarker, "the turn was started without consent to be continued", "`turn resume KEY`, or give its prompt again"},
	{ReasonReported, "the turn was reported by hooks and a person may be sitting at it", "report it with --unattended, or `turn resume KEY`"},
	{ReasonUnverified, "the seal on the record is missing or does not hold, so anyone may have written it", "read it with `turn show KEY`, then `turn clear KEY` and give the prompt yourself"},
	{ReasonAgentUnknown, "configuration does not name the turn's agent, and a record may not say what to run", "give the command line again, or name the agent in hermes.toml"},
	{ReasonFromTheFuture, "the last proof of life lies ahead of the clock", "set the clock right, or wait until it has caught up"},
	{ReasonAgeUnknown, "there is no proof of life to tell the turn's age by", "`turn clear KEY` and give the prompt again"},
	{ReasonStale, "the last proof of life is older than the freshness window", "`turn resume KEY` brings it back from ended/; a wider freshness keeps the next one"},
	{ReasonAttemptsExhausted, "every attempt to continue the turn was used up", "find what ends the agent, then `turn resume KEY`"},
	{ReasonBackOff, "the next attempt waits for the end of its back-off", "wait"},
	{ReasonFresh, "the turn was cut a short while ago and nothing of it lives", ""},
	{ReasonEndUnobserved, "nobody saw how the turn ended, so its continuation is told to verify first", ""},

	{ReasonEndEvent, "the agent said that the turn is complete", ""},
	{ReasonBusy, "the agent refused before it began: another owner has the session, or its backend is not up", "close the session there, start the backend, or wait"},
	{ReasonRateLimited, "the provider's rate limit stopped the turn", "wait until the limit is lifted"},
	{ReasonUnknownSession, "the agent does not know the session that it was to resume", ""},
	{ReasonHandledError, "the agent ended the turn with an error of its own", "read its output, then give the prompt again"},
	{ReasonStopRequested, "somebody asked for the turn to be stopped", "give the prompt again to start it anew"},
	{ReasonDrained, "an ordered shutdown stopped the agent, and the turn waits for the next start", "give the command again, or `turn resume KEY`"},
	{ReasonStalled, "the agent showed no sign of life for so long that it was ended", "a longer --stall allows for longer silence"},
	{ReasonInterruptSignal, "the agent was interrupted directly", "give the prompt again to start it anew"},
	{ReasonKilled, "a signal ended the agent in the middle of the turn", ""},
	{ReasonCrashCode, "the agent ended with a code that its preset calls a crash", ""},
	{ReasonConcludedCode, "the agent ended with a code that its preset calls an end", ""},
	{ReasonLauncherSignal, "the exit code says that a signal ended the agent behind its launcher", ""},
	{ReasonNoEnd, "the agent exited with success in the middle of the turn, without its event of the end", ""},
	{ReasonSucceeded, "the agent ended with success", ""},

	{ReasonOwnPrompt, "no turn is open in the session", ""},
	{ReasonNoPrompt, "there is no prompt, and no turn that it could go on with", "give --prompt or --prompt-file"},
	{ReasonOtherPrompt, "another prompt takes the place of the dead turn", "`turn resume KEY` brings the old one back from ended/"},
	{ReasonReceiptPending, "the end of the turn is on disk and its receipt is outstanding", "make the receipt command succeed"},
	{ReasonReceiptRunning, "the receipt of the turn is running", "wait for it"},

	{ReasonCleared, "a person took the turn off the list", "`turn resume KEY` brings it back from ended/"},
	{ReasonTaken, "the turn was taken over while its keeper was not looking", "`turn show KEY` names the keeper that has it now"},
}

// Reasons returns every reason there is, in the order of the constants.
func Reasons() []Reason {
	all := make([]Reason, len(wordings))
	for i, w := range wordings {
		all[i] = w.reason
	}
	return all
}

// Text returns the reason as one line for people, in the present tense. A word
// that is no reason, as a newer version may have written it, is its own text.
func (r Reason) Text() string {
	if w, ok := r.wording(); ok {
		return w.text
	}
	return string(r)
}

// Remedy returns what would change the decision, "" where nothing would or
// need. KEY stands for the session's key; commands are named without the
// program.
func (r Reason) Remedy() string {
	w, _ := r.wording()
	return w.remedy
}

func (r Reason) wording() (wording, bool) {
	for _, w := range wordings {
		if w.reason == r {
			return w, true
		}
	}
	return wording{}, false
}

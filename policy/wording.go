package policy

import (
	"fmt"
	"time"
)

// The facts of the decision table in words. What comes out of a state file is
// quoted: an agent can write there, and a terminal obeys escape sequences.

func phaseFact(f *Facts) string { return fmt.Sprintf("phase %q", f.phase()) }

func stopFact(f *Facts) string {
	if !f.stopAsked() {
		return "no stop asked for"
	}
	return fmt.Sprintf("stop asked for, keeper %s, owner %s", f.Keeper, f.Owner)
}

func newerPromptFact(f *Facts) string {
	if f.NewerPrompt {
		return "a newer prompt is waiting"
	}
	return "none is waiting"
}

func pauseFact(f *Facts) string {
	switch {
	case !f.paused():
		return "not paused"
	case f.PausedUntil.IsZero():
		return "paused until unpaused"
	default:
		return "paused until " + f.PausedUntil.Format(time.RFC3339)
	}
}

func sourceFact(f *Facts) string {
	switch {
	case f.Source == "":
		return "no source named"
	case f.hosted():
		return fmt.Sprintf("source %q has a driver of its own", f.Source)
	default:
		return fmt.Sprintf("source %q", f.Source)
	}
}

func keeperFact(f *Facts) string { return "keeper " + f.Keeper.String() }

func ownerFact(f *Facts) string {
	if f.OwnerWhy == "" {
		return "owner " + f.Owner.String()
	}
	return "owner " + f.Owner.String() + ": " + f.OwnerWhy
}

func leaseFact(f *Facts) string {
	if !f.LeaseHeld {
		return "no lease names the session"
	}
	return "a lease names the session, its holder is " + f.LeaseOwner.String()
}

func enabledFact(f *Facts) string { return onOff("auto-continue", f.Settings.Enabled, f.person()) }

func consentFact(f *Facts) string {
	return onOff("the marker's auto_continue", f.AutoContinue, f.person())
}

func onOff(what string, on, person bool) string {
	switch {
	case on:
		return what + " is on"
	case person:
		return what + " is off, a person asks"
	default:
		return what + " is off"
	}
}

func reportedFact(f *Facts) string {
	switch {
	case !f.Reported:
		return "run by a keeper, not reported"
	case f.Unattended:
		return "reported by hooks, unattended = true"
	case f.person():
		return "reported by hooks, a person asks"
	default:
		return "reported by hooks, unattended = false"
	}
}

func verifiedFact(f *Facts) string {
	switch {
	case f.Store == StoreHermes:
		return "Hermes's own marker, which has no seal"
	case f.Verified:
		return "the seal holds"
	default:
		return "the seal is missing or does not hold"
	}
}

func agentFact(f *Facts) string {
	switch {
	case f.AgentKnown:
		return "configuration names it"
	case f.person():
		return agentUnknown(f) + ", a person asks"
	default:
		return agentUnknown(f)
	}
}

// agentUnknown: a command line of its own is no agent that a file may name, and only a person can give it again.
func agentUnknown(f *Facts) string {
	if f.Agent == "" {
		return "run with a command line of its own"
	}
	return fmt.Sprintf("configuration does not name %q", f.Agent)
}

func freshFact(f *Facts) string {
	proof := Proof(*f)
	window := f.Settings.Freshness.String()
	switch Fresh(f.Now, proof, f.Settings.Freshness) {
	case StillFresh, Stale:
		from := "last proof of life "
		switch {
		case proof.Equal(f.LastProof):
		case proof.Equal(f.BootedAt):
			from = "drained, this boot began "
		case f.retryAt().After(f.now()):
			return "rests until the next try, window " + window
		default:
			from = "the next try was due "
		}
		return from + f.now().Sub(proof).Round(time.Second).String() + " ago, window " + window
	case Future:
		return "last proof of life " + proof.Round(0).Sub(f.now()).Round(time.Second).String() + " ahead of the clock, window " + window
	default:
		return "no proof of life, window " + window
	}
}

func attemptsFact(f *Facts) string {
	return fmt.Sprintf("attempts %d of %d", f.attempts(), f.Settings.MaxAttempts)
}

func retryFact(f *Facts) string {
	if wait := f.retryAt().Sub(f.now()); wait > 0 {
		return "next try in " + wait.Round(time.Millisecond).String()
	}
	return "none in force"
}

func endFact(f *Facts) string {
	if f.EndUnobserved {
		return "nobody saw how the last run ended"
	}
	return "the last run was seen to be cut"
}

package policy

import "time"

// Waiting is what an open turn that does not run now waits for. Its keeper may
// live: Decide then only says that nobody else may continue it.
type Waiting struct {
	Reason  Reason    // ReasonRateLimited, ReasonBackOff, or ReasonStalled while what stalled is being ended
	Cause   Reason    // why the last run ended, "" where its keeper did not see it
	Attempt int       // number of the continuation that follows
	At      time.Time // the time of the next try; zero: as soon as what stalled is gone
	Held    Reason    // what would keep that try from being made, if it stood then as it does now; "": nothing
}

// Waits says whether a turn waits by an order of its keeper's, or of its last
// one, and for what. Where no keeper lives nobody carries the order out but who
// decides as Decide does: then it waits only if that says so.
func Waits(f Facts) (Waiting, bool) {
	w := Waiting{Cause: f.Cause, Attempt: f.attempts() + 1, At: f.retryAt()}
	switch {
	case f.phase() == PhaseConcluded || f.stopAsked():
		return Waiting{}, false
	case f.Keeper != LifeAlive:
		d := Decide(f)
		w.Reason = d.Reason
		return w, d.Action == Wait
	case w.At.After(f.now()):
		w.Reason = f.waitReason()
	case f.Stalled && f.Owner != LifeDead:
		w.Reason, w.Cause, w.At = ReasonStalled, ReasonStalled, time.Time{}
	default:
		return Waiting{}, false
	}
	w.Held = f.heldAt(w.At)
	return w, true
}

// OfKeeper are the facts of a run that its own keeper has seen end: it is gone
// just now, and whose turn it is asks nobody.
func OfKeeper(f Facts) Facts {
	f.Keeper, f.Owner, f.LastProof = LifeDead, LifeDead, f.Now
	f.Verified, f.AgentKnown, f.Reported, f.Store = true, true, false, StoreOwn
	return f
}

// heldAt is what would keep a keeper from its next try. Its settings are those
// that it was started with, which others do not know, and by which it has
// granted that try already.
func (f *Facts) heldAt(at time.Time) Reason {
	then := *f
	if !at.IsZero() {
		then.Now, then.RetryAt = at, time.Time{}
	}
	then.By, then.Settings.Freshness, then.Settings.MaxAttempts = Person, 1, f.attempts()+1
	if d := Decide(OfKeeper(then)); d.Action != Continue {
		return d.Reason
	}
	return ""
}

// waitReason is why RetryAt is in force: a provider's limit is no back-off, and
// who reads it knows whom to ask.
func (f *Facts) waitReason() Reason {
	if f.Cause == ReasonRateLimited {
		return ReasonRateLimited
	}
	return ReasonBackOff
}

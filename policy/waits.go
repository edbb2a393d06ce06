package policy

import "time"

// Waiting is what an open turn that does not run now waits for. Its keeper may
// live: Decide then only says that nobody else may continue it.
type Waiting struct {
	Reason  Reason    // ReasonRateLimited, ReasonBackOff, or ReasonStalled while what stalled is being ended
	Cause   Reason    // why the last run ended, "" where its keeper did not see it
	Attempt int       // number of the continuation that follows
	At      time.Time // the time of the next try; zero: as soon as what stalled is gone
}

// Waits says whether a turn waits by an order of its keeper's, and for what.
func Waits(f Facts) (Waiting, bool) {
	w := Waiting{Cause: f.Cause, Attempt: f.attempts() + 1}
	switch {
	case f.phase() == PhaseConcluded || f.stopAsked():
		return Waiting{}, false
	case f.RetryAt.After(f.now()):
		w.Reason, w.At = f.waitReason(), f.RetryAt
	case f.Stalled && f.Owner != LifeDead:
		w.Reason, w.Cause = ReasonStalled, ReasonStalled
	default:
		return Waiting{}, false
	}
	return w, true
}

// waitReason is why RetryAt is in force: a provider's limit is no back-off, and
// who reads it knows whom to ask.
func (f *Facts) waitReason() Reason {
	if f.Cause == ReasonRateLimited {
		return ReasonRateLimited
	}
	return ReasonBackOff
}

package policy

import "time"

// Freshness is the age of a turn against the window that a person set.
type Freshness int

// Only StillFresh permits a continuation. (It is not called Fresh because the
// function that answers with it is.)
const (
	FreshnessUnknown Freshness = iota // no proof of life, or no time to compare with
	StillFresh                        // within the window, its last instant included
	Stale                             // older than the window
	Future                            // the proof lies ahead of the clock: one of the two is wrong
)

// String returns "unknown", "fresh", "stale" or "future".
func (f Freshness) String() string {
	switch f {
	case StillFresh:
		return "fresh"
	case Stale:
		return "stale"
	case Future:
		return "future"
	default:
		return "unknown"
	}
}

// Fresh compares by the wall clock: the proof was written by another process,
// maybe before a standby, in which the monotonic clock stands still. A window
// of 0 or less means that nothing is fresh, not even what died this instant.
func Fresh(now, proof time.Time, window time.Duration) Freshness {
	if now.IsZero() || proof.IsZero() {
		return FreshnessUnknown
	}
	now, proof = now.Round(0), proof.Round(0)
	switch {
	case proof.After(now):
		return Future
	case window <= 0 || now.Sub(proof) > window:
		return Stale
	default:
		return StillFresh
	}
}

// Proof returns the time from which the turn's age counts: the last proof of
// life, or for a turn that an ordered shutdown left behind the boot after it,
// so that a night switched off does not cost the work, or the end of a wait
// that was ordered: the turn was to rest so long. The latest one counts: a
// machine whose clock starts in the past must not make the turn older.
func Proof(f Facts) time.Time {
	proof := f.LastProof
	if f.Drained && f.OtherBoot && f.BootedAt.After(proof) {
		proof = f.BootedAt
	}
	if proof.IsZero() {
		return proof
	}
	rested := f.retryAt().Round(0)
	if now := f.now(); rested.After(now) { // it rests still
		rested = now
	}
	if rested.After(proof) {
		return rested
	}
	return proof
}

package policy

import "time"

// Backoff returns how long continuation number attempt waits after the death
// of the run before it: the first starts at once, the second waits s.Backoff,
// each further one twice as long, never longer than s.MaxBackoff. There is no
// jitter in it: where many turns start together, the caller spreads them.
func Backoff(s Settings, attempt int) time.Duration {
	if attempt <= 1 || s.Backoff <= 0 {
		return 0
	}
	ceiling := max(s.MaxBackoff, s.Backoff)
	wait := s.Backoff
	for range attempt - 2 {
		// Compared before the doubling, which could overflow.
		if wait > ceiling/2 {
			return ceiling
		}
		wait *= 2
	}
	return wait
}

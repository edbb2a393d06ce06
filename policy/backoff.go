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

// The first wait after a provider's limit doubles with each further one, but so
// often at most; and so many are no attempts.
const (
	rateLimitWait = time.Minute
	maxDoublings  = 5
	maxDeferrals  = 10
)

// RateLimited returns how long a turn waits that a provider's limit has stopped
// this often before; 0 where the limit counts as any crash by now.
func RateLimited(before int) time.Duration {
	if before >= maxDeferrals {
		return 0
	}
	return rateLimitWait << min(max(before, 0), maxDoublings)
}

// LongestWait returns the longest wait that is ever ordered. What lies beyond it
// was written under another clock.
func LongestWait(s Settings) time.Duration {
	return max(rateLimitWait<<maxDoublings, s.Backoff, s.MaxBackoff)
}

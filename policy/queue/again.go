package queue

import "time"

const (
	againFirst = 5 * time.Second
	againMost  = time.Minute
)

// Again is how long a handoff that its claimer's death made pending again waits before it is claimed once more: the first
// time not at all, then longer and longer. tries counts its claims so far.
func Again(tries int) time.Duration {
	if tries <= 1 {
		return 0
	}
	return min(againFirst<<min(tries-2, 10), againMost)
}

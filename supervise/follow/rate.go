package follow

import (
	"slices"
	"time"
)

// window is the time that a rate is counted in.
const window = time.Minute

// allow tells whether one more may be told now, when at most most are in any window, and remembers it. sent are the times of
// the last ones, the oldest first. A time that lies ahead of the clock (it was set back, or is forged) counts as now.
func allow(sent []time.Time, most int, now time.Time) ([]time.Time, bool) {
	kept := make([]time.Time, 0, len(sent)+1)
	for _, at := range sent {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < window {
			kept = append(kept, at)
		}
	}
	if over := len(kept) - most; over > 0 {
		kept = slices.Delete(kept, 0, over)
	}
	if len(kept) >= most {
		return kept, false
	}
	return append(kept, now), true
}

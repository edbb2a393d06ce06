package turn

import (
	"time"

	"hermes-supervisor/supervise/awake"
)

// silenceLook is the longest wait between two looks at a silent agent: so often the machine's sleep is looked for.
const silenceLook = 10 * time.Second

// silence is how long an agent has given no sign of life. Time in which nothing ran is none in which it was silent: the
// agent has its whole limit again from then on.
type silence struct {
	limit time.Duration
	woke  time.Time // when the wait began, or when nothing had run for a while
	asked time.Time // the last look; zero: none yet
	next  time.Duration
}

// wait is until when to look again, given the last sign of life; 0: it has been silent for the limit.
func (s *silence) wait(heard, now time.Time) time.Duration {
	if !s.asked.IsZero() && awake.Late(s.asked, now, s.next) > 0 {
		s.woke = now
	}
	if heard.Before(s.woke) {
		heard = s.woke
	}
	s.asked, s.next = now, max(min(s.limit-now.Sub(heard), silenceLook), 0)
	return s.next
}

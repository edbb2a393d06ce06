package phase

import "time"

// maxStreak keeps a forged record from overflowing; at one restart every five
// minutes it is nine years away.
const maxStreak = 1_000_000

// afterExit is the restart policy: what follows when the leader ended without
// anybody having asked for it, and why. An end that nobody saw is a failure.
func (s *Settings) afterExit(x Exit) (Then, Reason) {
	switch {
	case s.parks(x):
		return ThenPark, ReasonParked
	case s.asksAgain(x):
		return ThenRestart, ReasonAskedAgain
	case !x.Observed:
		return s.afterFailure(), ReasonUnobserved
	case x.Code != 0 || x.Signal != 0:
		return s.afterFailure(), ReasonCrashed
	case s.Policy == Always:
		return ThenRestart, ReasonExited
	default:
		return ThenStop, ReasonExited
	}
}

func (s *Settings) afterFailure() Then {
	if s.Policy == Always || s.Policy == OnFailure {
		return ThenRestart
	}
	return ThenStop
}

// restart starts the service automatically, at once or when its back-off and
// the storm bound allow it.
func (c *change) restart() Act {
	if c.healthy() {
		c.Streak = 0
	}
	c.Streak = min(max(c.Streak, 0), maxStreak)
	at := c.now.Add(c.delay())
	if floor := c.floor(); floor.After(at) {
		at = floor
	}
	if at.After(c.now) {
		return c.wait(at)
	}
	return c.relaunch()
}

// startWhenDue: a timer that fires early, and a clock that was set back while
// it ran, wait again, but never longer than the settings could have said.
func startWhenDue(c *change) Act {
	at := c.NextAt
	if latest := c.now.Add(c.set.longest()); at.After(latest) {
		at = latest
	}
	if floor := c.floor(); floor.After(at) {
		at = floor
	}
	if at.After(c.now) {
		return c.wait(at)
	}
	return c.relaunch()
}

// resume starts what is wanted up and did not end by itself. It is no restart,
// so nothing but the storm bound slows it, but the bound does: whoever kills
// and starts supervisors in a loop starts services in a loop.
func (c *change) resume(why Reason) Act {
	if floor := c.floor(); floor.After(c.now) {
		return c.wait(floor)
	}
	c.remember()
	return c.launch(why)
}

// relaunch is the only place that counts an automatic restart.
func (c *change) relaunch() Act {
	c.remember()
	c.Streak = min(max(c.Streak, 0), maxStreak) + 1
	c.Restarts++
	return c.launch(ReasonRestarted)
}

func (c *change) wait(at time.Time) Act {
	why := ReasonBackOff
	if c.looping() {
		why = ReasonCrashLoop
	}
	c.rest(Waiting, why)
	c.NextAt = at
	return Wait
}

// healthy reports whether the launch that ended had been ready for ResetAfter.
func (c *change) healthy() bool {
	return !c.ReadyAt.IsZero() && c.Last.At.Sub(c.ReadyAt) >= max(c.set.ResetAfter, 0)
}

// delay is the back-off before the next automatic restart. The first one in a
// row is immediate if the service had been up or asked for it. The jitter
// takes up to half of it away, so that services that fell together rise apart.
func (c *change) delay() time.Duration {
	if c.Streak == 0 && (!c.ReadyAt.IsZero() || c.set.asksAgain(*c.Last)) {
		return 0
	}
	full := c.set.backoff(c.Streak)
	half := full / 2
	if c.jitter >= 0 && c.jitter < 1 { // NaN is neither
		return full - half + time.Duration(float64(half)*c.jitter)
	}
	return full
}

// backoff is Delay doubled for each automatic restart in a row but the first.
func (s *Settings) backoff(streak int) time.Duration {
	if s.Delay <= 0 {
		return 0
	}
	ceiling, full := s.ceiling(), s.Delay
	for range streak - 1 {
		// Compared before the doubling, which could overflow.
		if full > ceiling/2 {
			return ceiling
		}
		full *= 2
	}
	return full
}

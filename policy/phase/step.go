package phase

import "time"

// The steps of what happens to a launch, from the fork to the empty tree.

func never(*change) Act { return impossible }
func late(*change) Act  { return Nothing }
func keep(*change) Act  { return Nothing }

func noteLaunched(c *change) Act {
	c.StartedAt = c.now
	return Nothing
}

// stopLaunched: the order to stop came between the act and the fork, so the
// ladder has to be walked for what was forked.
func stopLaunched(c *change) Act {
	c.StartedAt = c.now
	return Stop
}

func killLaunched(c *change) Act {
	c.StartedAt = c.now
	return Kill
}

func becomeReady(c *change) Act {
	c.Phase, c.Reason, c.ReadyAt = Running, ReasonReady, c.now
	return Nothing
}

func stopNotReady(c *change) Act { return c.stop(c.set.afterFailure(), ReasonNotReady) }

func stopUnhealthy(c *change) Act { return c.stop(c.set.afterFailure(), ReasonUnhealthy) }

// launchFailed: nothing lives, so what follows does so at once.
func launchFailed(c *change) Act {
	c.Then, c.Reason = c.set.afterFailure(), ReasonLaunchFailed
	return launchFailedInStop(c)
}

func launchFailedInStop(c *change) Act {
	x := Exit{Code: -1, Observed: true}
	if c.event.Exit != nil {
		x.At, x.Reason = c.event.Exit.At, c.event.Exit.Reason
	}
	c.event.Exit = &x
	return followUp(c)
}

// endRest: the leader is gone, and the next launch has to find its ports and
// files free.
func endRest(c *change) Act {
	c.noteExit()
	c.Then, c.Reason = c.set.afterExit(*c.Last)
	return kill(c)
}

// noteEnd: the leader ended in a stop. What is left of the tree has the rest
// of the grace.
func noteEnd(c *change) Act {
	if c.noteExit() && c.Then == ThenRestart && c.set.parks(*c.Last) {
		c.Then, c.Reason = ThenPark, ReasonParked
	}
	return Nothing
}

func kill(c *change) Act {
	c.Phase = Killing
	return Kill
}

// followUp: the tree is empty.
func followUp(c *change) Act {
	c.noteExit()
	switch c.Then {
	case ThenStart:
		return c.launchOrdered()
	case ThenRestart:
		return c.restart()
	case ThenResume:
		return c.resume(ReasonResumed)
	case ThenPark:
		return c.rest(Parked, ReasonParked)
	case ThenStop:
	}
	return c.rest(Stopped, c.Reason)
}

// stop asks the service to end; then says what follows.
func (c *change) stop(then Then, why Reason) Act {
	c.Phase, c.Then, c.Reason = Stopping, then, why
	return Stop
}

// rest: nothing lives and nothing is pending.
func (c *change) rest(p Phase, why Reason) Act {
	c.Phase, c.Then, c.Reason, c.NextAt = p, ThenStop, why, time.Time{}
	return Nothing
}

func (c *change) launchOrdered() Act {
	c.Streak, c.Recent = 0, nil
	return c.launch(ReasonOrdered)
}

// launch is the only place that gives the act Launch.
func (c *change) launch(why Reason) Act {
	c.rest(Starting, why)
	c.Launch++
	c.StartedAt, c.ReadyAt = time.Time{}, time.Time{}
	return Launch
}

// noteExit records how this launch ended, and reports whether that was not
// known yet: the first word stands.
func (c *change) noteExit() bool {
	if c.Last != nil && c.Last.Launch == c.Launch {
		return false
	}
	var x Exit
	if c.event.Exit != nil {
		x = *c.event.Exit
	}
	if x.At = x.At.Round(0); x.At.IsZero() || x.At.After(c.now) {
		x.At = c.now
	}
	x.Launch = c.Launch
	c.Last = &x
	return true
}

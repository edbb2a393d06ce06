package phase

// The steps of the operator's orders, and of Shutdown, which is an order that
// leaves State.Up as it is.

// start: a person who starts it wants it now, whatever it did before.
func start(c *change) Act {
	c.Up = true
	return c.launchOrdered()
}

// stayDown voids a pending start too.
func stayDown(c *change) Act {
	c.Up = false
	return c.rest(Stopped, ReasonStopped)
}

// parkDown: why it is parked stays worth knowing.
func parkDown(c *change) Act {
	c.Up = false
	return Nothing
}

func stopOrdered(c *change) Act {
	c.Up = false
	return c.stop(ThenStop, ReasonStopped)
}

func restartOrdered(c *change) Act {
	c.Up = true
	return c.stop(ThenStart, ReasonRestartOrdered)
}

// stopTwice: a person who asks twice means it. The first stop order that meets
// a stop for another reason only settles what follows.
func stopTwice(c *change) Act {
	if !c.Up {
		return kill(c)
	}
	return stopAfter(c)
}

func stopAfter(c *change) Act {
	c.Up, c.Then, c.Reason = false, ThenStop, ReasonStopped
	return Nothing
}

func startAfter(c *change) Act {
	c.Up, c.Then, c.Reason = true, ThenStart, ReasonRestartOrdered
	return Nothing
}

func shutDown(c *change) Act { return c.stop(ThenStop, ReasonShutdown) }

func shutDownWaiting(c *change) Act { return c.rest(Stopped, ReasonShutdown) }

// stayDownAfter: a start that was to follow is the next supervisor's to make.
func stayDownAfter(c *change) Act {
	switch c.Then {
	case ThenStart, ThenRestart, ThenResume:
		c.Then, c.Reason = ThenStop, ReasonShutdown
	case ThenStop, ThenPark: // starts nothing
	}
	return Nothing
}

// note takes an order for a service that is held, for the Resume that can tell
// whether it lives. Whatever else comes is about a launch that nobody watches.
func note(c *change) {
	switch c.event.Kind {
	case OrderStop:
		c.Up, c.Then = false, ThenStop
		if c.Phase != Parked {
			c.Held = ReasonStopped
		}
	case OrderStart:
		c.Up = true
		if c.Phase != Starting && c.Phase != Running {
			c.noteStart()
		}
	case OrderRestart:
		c.Up = true
		c.noteStart()
	default:
	}
}

func (c *change) noteStart() {
	c.Then = ThenStart
	if c.Phase.Live() {
		c.Held = ReasonRestartOrdered
	}
}

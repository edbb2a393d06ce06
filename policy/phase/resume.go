package phase

import "time"

// Life is what is known of the last launch: the verdict on its identity, with
// its witness. Where nothing was ever launched, or the record names nobody that
// could live, it is Dead. A value outside the three counts as Unknown.
type Life int

// The three verdicts. The zero value is the one that permits nothing.
const (
	Unknown Life = iota // nobody can tell: no signal, no start
	Alive               // it, or a descendant of it, lives
	Dead                // the leader is proven gone
)

// String returns "unknown", "alive" or "dead".
func (l Life) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	case Unknown:
	}
	return "unknown"
}

// Resume is what a new supervisor does with a record, and at every rescan with
// one that is held (ReasonOwnerUnknown). sameBoot says that the launch belongs
// to this boot of this machine or container; it counts only with Dead.
//
// Alive: the service is adopted in its phase, a stop goes on, and what lives in
// a phase that has nothing alive is killed. Dead in this boot: its end was not
// observed, and whether something of its tree is left is found out by the act
// Kill. Dead in another boot: nothing is left, and what is wanted up starts
// afresh, which is no restart; the streak is kept, for a loop that takes the
// machine down with it. What ended by itself, and was left so by the restart
// policy, starts with the next boot, not with the next supervisor.
//
// Where the runner can tell how a dead one ended, it gives Next the Exited
// event instead.
func Resume(s State, life Life, sameBoot bool, set Settings, now time.Time, jitter float64) (State, Act) {
	c := newChange(s, Event{Kind: Adopted, Epoch: s.Launch}, set, now, jitter)
	if s.Phase < 0 || int(s.Phase) >= phases || (life != Alive && life != Dead) {
		c.hold()
		return c.State, Nothing
	}
	c.release()
	var act Act
	switch {
	case life == Alive:
		act = table[c.Phase][Adopted](c)
	case sameBoot:
		act = resumeDead(c)
	default:
		act = resumeBoot(c)
	}
	return c.State, act
}

func resumeDead(c *change) Act {
	ordered := c.Up && c.Then == ThenStart // while it was held
	switch c.Phase {
	case Starting, Running:
		if !c.Up || ordered {
			c.noteExit()
			return kill(c)
		}
		return endRest(c)
	case Stopping, Killing:
		c.noteExit()
		return killAdopted(c)
	case Stopped, Waiting, Parked:
	}
	switch {
	case ordered:
		return c.launchOrdered()
	case c.Phase == Parked || !c.Up && c.Phase == Stopped:
		return Nothing
	case !c.Up:
		return c.rest(Stopped, ReasonStopped)
	case c.Phase == Waiting:
		return startWhenDue(c)
	case c.Reason.ended():
		return Nothing
	default:
		return c.resume(ReasonResumed)
	}
}

func resumeBoot(c *change) Act {
	switch {
	case c.Up && c.Then == ThenStart:
		return c.launchOrdered()
	case c.Phase == Parked || c.Then == ThenPark:
		return c.rest(Parked, ReasonParked)
	case !c.Up && c.Phase == Stopped:
		return Nothing
	case !c.Up:
		return c.rest(Stopped, ReasonStopped)
	default:
		return c.resume(ReasonBoot)
	}
}

// adopt carries out what was ordered while it was held.
func adopt(c *change) Act {
	switch {
	case !c.Up:
		return c.stop(ThenStop, ReasonStopped)
	case c.Then == ThenStart:
		return c.stop(ThenStart, ReasonRestartOrdered)
	default:
		c.Reason = ReasonAdopted
		return Nothing
	}
}

func stopAdopted(c *change) Act {
	c.undoShutdown()
	return Stop
}

func killAdopted(c *change) Act {
	c.undoShutdown()
	return kill(c)
}

// undoShutdown: a supervisor died in its own shutdown. The service that it was
// stopping cannot be called back, but it is wanted up.
func (c *change) undoShutdown() {
	if c.Up && c.Then == ThenStop && c.Reason == ReasonShutdown {
		c.Then = ThenResume
	}
}

// killLeftover: the tree was seen empty, yet something of the launch lives.
func killLeftover(c *change) Act {
	switch {
	case c.Up && c.Then == ThenStart: // ordered while it was held
		c.Reason = ReasonLeftover
	case c.Phase == Parked:
		c.Then = ThenPark
	case !c.Up:
		c.Then = ThenStop
	case c.Phase == Waiting:
		c.Then, c.Reason = ThenRestart, ReasonLeftover
	case !c.Reason.ended():
		c.Then, c.Reason = ThenResume, ReasonLeftover
	}
	c.NextAt = time.Time{}
	return kill(c)
}

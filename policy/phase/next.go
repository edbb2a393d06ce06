package phase

import (
	"fmt"
	"time"
)

// ImpossibleError is an event that cannot happen in the phase: a bug of the
// runner, or a record that something else wrote.
type ImpossibleError struct {
	Phase  Phase
	Kind   Kind
	Launch int64 // State.Launch
	Epoch  int64 // Event.Epoch
}

// Error names the phase and the event.
func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("event %s (%d) in phase %s of launch %d: cannot be", e.Kind, e.Epoch, e.Phase, e.Launch)
}

// change is one Next or Resume on its way: a copy of the state, which steps
// write to, and what they may read besides.
type change struct {
	State
	event  Event
	set    Settings
	now    time.Time
	jitter float64
}

// step carries out one cell of the table.
type step func(*change) Act

// Next returns the state after the event and the one thing to do about it.
// jitter is a number in [0,1) that the caller drew. Events that are stale (an
// order not newer than State.Epoch, an event of an older launch) change nothing.
// The error is an *ImpossibleError; the state is then returned as it came.
func Next(s State, e Event, set Settings, now time.Time, jitter float64) (State, Act, error) {
	if s.Phase < 0 || int(s.Phase) >= phases || e.Kind < 0 || int(e.Kind) >= kinds {
		return refuse(s, e)
	}
	c := newChange(s, e, set, now, jitter)
	switch {
	case e.Kind.order():
		if e.Epoch <= s.Epoch {
			return s, Nothing, nil
		}
		c.Epoch = e.Epoch
	case e.Kind == Shutdown: // tells of no launch
	case e.Epoch < s.Launch:
		return s, Nothing, nil
	case e.Epoch > s.Launch:
		return refuse(s, e)
	}
	if s.held() {
		note(c)
		return c.State, Nothing, nil
	}
	act := table[s.Phase][e.Kind](c)
	if act == impossible {
		return refuse(s, e)
	}
	return c.State, act, nil
}

func refuse(s State, e Event) (State, Act, error) {
	return s, Nothing, &ImpossibleError{Phase: s.Phase, Kind: e.Kind, Launch: s.Launch, Epoch: e.Epoch}
}

// newChange strips the monotonic reading: the times that now is compared with
// come from a file.
func newChange(s State, e Event, set Settings, now time.Time, jitter float64) *change {
	return &change{State: s, event: e, set: set, now: now.Round(0), jitter: jitter}
}

// table is every phase with every event. late is a timer or a probe that was
// on its way when its launch ended or the question was settled; never is a bug.
// Due is late only where an order took the service out of Waiting without a
// new launch; a stop has a deadline only from Stopping on.
var table = [phases][kinds]step{
	Stopped: {
		OrderStart:    start,
		OrderStop:     stayDown,
		OrderRestart:  start,
		Launched:      never,
		LaunchFailed:  never,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        never,
		Unhealthy:     late,
		Due:           late,
		StopDeadline:  late,
		Gone:          never,
		Adopted:       killLeftover,
		Shutdown:      keep,
	},
	Waiting: {
		OrderStart:    start,
		OrderStop:     stayDown,
		OrderRestart:  start,
		Launched:      never,
		LaunchFailed:  never,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        never,
		Unhealthy:     late,
		Due:           startWhenDue,
		StopDeadline:  late,
		Gone:          never,
		Adopted:       killLeftover,
		Shutdown:      shutDownWaiting,
	},
	Starting: {
		OrderStart:    keep,
		OrderStop:     stopOrdered,
		OrderRestart:  restartOrdered,
		Launched:      noteLaunched,
		LaunchFailed:  launchFailed,
		Ready:         becomeReady,
		ReadyDeadline: stopNotReady,
		Exited:        endRest,
		Unhealthy:     stopUnhealthy,
		Due:           never,
		StopDeadline:  never,
		Gone:          never,
		Adopted:       adopt,
		Shutdown:      shutDown,
	},
	Running: {
		OrderStart:    keep,
		OrderStop:     stopOrdered,
		OrderRestart:  restartOrdered,
		Launched:      never,
		LaunchFailed:  never,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        endRest,
		Unhealthy:     stopUnhealthy,
		Due:           never,
		StopDeadline:  never,
		Gone:          never,
		Adopted:       adopt,
		Shutdown:      shutDown,
	},
	Stopping: {
		OrderStart:    startAfter,
		OrderStop:     stopTwice,
		OrderRestart:  startAfter,
		Launched:      stopLaunched,
		LaunchFailed:  launchFailedInStop,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        noteEnd,
		Unhealthy:     late,
		Due:           never,
		StopDeadline:  kill,
		Gone:          followUp,
		Adopted:       stopAdopted,
		Shutdown:      stayDownAfter,
	},
	Killing: {
		OrderStart:    startAfter,
		OrderStop:     stopAfter,
		OrderRestart:  startAfter,
		Launched:      killLaunched,
		LaunchFailed:  launchFailedInStop,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        noteEnd,
		Unhealthy:     late,
		Due:           never,
		StopDeadline:  late,
		Gone:          followUp,
		Adopted:       killAdopted,
		Shutdown:      stayDownAfter,
	},
	Parked: {
		OrderStart:    start,
		OrderStop:     parkDown,
		OrderRestart:  start,
		Launched:      never,
		LaunchFailed:  never,
		Ready:         late,
		ReadyDeadline: late,
		Exited:        never,
		Unhealthy:     late,
		Due:           never,
		StopDeadline:  late,
		Gone:          never,
		Adopted:       killLeftover,
		Shutdown:      keep,
	},
}

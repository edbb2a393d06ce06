package config

import (
	"fmt"
	"time"
)

// The restart policies.
const (
	RestartAlways    = "always"     // whatever the exit
	RestartOnFailure = "on-failure" // after an exit code that is not 0, or a signal
	RestartNever     = "never"
)

// Restart says when a service is started again without a person, and how fast.
type Restart struct {
	// Policy is RestartAlways (default), RestartOnFailure or RestartNever.
	Policy string `toml:"policy"`
	// Delay is the first step of the back-off, after the restart that is immediate; each further one waits twice as long.
	// Default: 1s.
	Delay Wait `toml:"delay"`
	// MaxDelay is the longest wait, not below Delay. Default: 5m.
	MaxDelay Duration `toml:"max_delay"`
	// ResetAfter is how long a service has to be up for the back-off to begin anew. Default: 10m.
	ResetAfter Duration `toml:"reset_after"`
	// StormStarts is how many automatic starts there are at most within StormWindow, 1 to 1000. Default: 10 in 1m.
	StormStarts int      `toml:"storm_starts"`
	StormWindow Duration `toml:"storm_window"`
	// RestartExit are exit codes that ask for a restart whatever the policy, ParkExit those that ask never to be started
	// again without a person; none is in both. Defaults: 75, 78.
	RestartExit []int `toml:"restart_exit"`
	ParkExit    []int `toml:"park_exit"`
}

func defaultRestart() Restart {
	return Restart{
		Policy:      RestartAlways,
		Delay:       Wait(time.Second),
		MaxDelay:    Duration(5 * time.Minute),
		ResetAfter:  Duration(10 * time.Minute),
		StormStarts: 10,
		StormWindow: Duration(time.Minute),
		RestartExit: []int{75},
		ParkExit:    []int{78},
	}
}

// maxStorm bounds storm_starts, since the window is kept on disk.
const maxStorm = 1000

func (r Restart) check() *fault {
	if f := oneOf("policy", r.Policy, RestartAlways, RestartOnFailure, RestartNever); f != nil {
		return f
	}
	if Duration(r.Delay) > r.MaxDelay {
		return &fault{
			key: "delay", other: "max_delay",
			problem: fmt.Sprintf("delay (%v) must not be above max_delay (%v)", r.Delay, r.MaxDelay),
		}
	}
	if r.StormStarts < 1 || r.StormStarts > maxStorm {
		return &fault{key: "storm_starts", problem: fmt.Sprintf("must be 1 to %d, not %d", maxStorm, r.StormStarts)}
	}
	return checkExits("restart_exit", r.RestartExit, "park_exit", r.ParkExit)
}

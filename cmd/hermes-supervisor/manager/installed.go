package manager

import (
	"time"

	"hermes-supervisor/fsstate"
)

// Unit is an installed unit of ours.
type Unit struct {
	Manager string // Systemd, Launchd or WindowsTask
	Scope   string // User or System
	Name    string // as its manager names it
	Path    string // its file
	Home    string // the HERMES_HOME that it runs, "" where that could not be read
	// Stop is how long its manager waits for an ordered stop (TimeoutStopSec, ExitTimeOut): 0 where it says nothing, and
	// the manager's own default holds; Forever where it waits as long as it takes.
	Stop time.Duration
	Text string // what is in the file
}

// Forever is a Unit.Stop without an end.
const Forever = time.Duration(1<<63 - 1)

// Rival is a unit of Hermes's own that runs the same home: two that keep up one gateway end each other's.
type Rival struct {
	Manager string // Systemd, Launchd, WindowsTask or S6
	Scope   string // User or System
	Name    string // as its manager names it
	Path    string // its file
	Home    string // the HERMES_HOME that it runs, "" where that could not be read
	Remove  string // the command that takes it away
}

// Installed finds our own units for the home, in every scope and under every name. A file that cannot be read is among
// them, without a home. The error is of a folder that cannot be listed.
func Installed(roots Roots, home fsstate.Home) ([]Unit, error) {
	return nil, nil
}

// Rivals finds Hermes's own gateway units for the home, and where that is a root, for its profiles too. One whose home
// cannot be told is among them. The error is of a folder that cannot be listed.
func Rivals(roots Roots, home fsstate.Home) ([]Rival, error) {
	return nil, nil
}

package process

import (
	"strconv"
)

// Exit is how a process ended.
type Exit struct {
	Code     int  // the exit code; 128+Signal when Signaled, as a shell reports it; -1 when nobody can tell
	Signal   int  // the signal that ended it, 0 when none did
	Signaled bool // ended by a signal rather than by its own exit
}

// String says it for people: "exit 3", "signal SIGKILL", "exit unknown".
func (e Exit) String() string {
	switch {
	case e.Signaled:
		return "signal " + signalName(e.Signal)
	case e.Code < 0:
		return "exit unknown"
	default:
		return "exit " + strconv.Itoa(e.Code)
	}
}

package hermes

import (
	"errors"
	"fmt"
	"math"
	"os"

	"hermes-supervisor/fsstate/ident"
)

// WriterState is the verdict about the process that wrote a marker.
type WriterState = ident.Verdict

// Writer says whether the process that wrote the marker lives, and why, in one
// phrase for people. The identity is all that Hermes records, a pid and psutil's
// create time, which moves when the clock is stepped: within 1 ms it is the same
// process; within 2 s, or further off while the pid is still visibly a Hermes, it
// is Unknown; otherwise the pid was recycled and the writer is Dead. A marker
// without a writer, or a pid without a create time, cannot be told: Unknown.
func Writer(m Marker) (ident.Verdict, string) {
	if !m.HasWriter {
		return ident.Unknown, "the marker names no writer"
	}
	return owner(m.WriterPID, m.WriterStart)
}

const (
	sameProcess = 0.001 // seconds: Hermes's own tolerance
	clockDrift  = 2.0   // seconds: facts of a create time that moved by one second under a live process
)

// owner judges the process that a file of Hermes's names by pid and create time.
func owner(pid int, start float64) (ident.Verdict, string) {
	if pid <= 0 || pid > math.MaxInt32 {
		return ident.Unknown, "no usable pid is recorded"
	}
	switch _, err := ident.Of(pid, ""); {
	case errors.Is(err, os.ErrProcessDone):
		return ident.Dead, fmt.Sprintf("pid %d is gone", pid)
	case err != nil:
		return ident.Unknown, fmt.Sprintf("pid %d cannot be looked at: %v", pid, err)
	}
	if start == 0 {
		return ident.Unknown, fmt.Sprintf("pid %d lives, and its start was not recorded", pid)
	}
	created, err := ident.Created(pid)
	if err != nil {
		return ident.Unknown, fmt.Sprintf("pid %d lives: %v", pid, err)
	}
	return compareStart(pid, start, created, func() (bool, error) {
		argv, err := ident.CommandLine(pid)
		return isHermes(argv), err
	})
}

// compareStart is the rule of Writer for a pid that lives. The command line is
// asked for only where the two times are too far apart to settle it.
func compareStart(pid int, recorded, created float64, visiblyHermes func() (bool, error)) (ident.Verdict, string) {
	apart := math.Abs(recorded - created)
	// Elsewhere than on Linux gopsutil cuts at whole milliseconds what psutil gives in microseconds.
	const rounding = 1e-5
	switch {
	case math.IsNaN(apart):
		return ident.Unknown, fmt.Sprintf("the recorded start of pid %d is not a time", pid)
	case apart <= sameProcess+rounding:
		return ident.Alive, fmt.Sprintf("pid %d lives and started at the recorded time", pid)
	case apart <= clockDrift+rounding:
		return ident.Unknown, fmt.Sprintf("pid %d lives and started %.3f s from the recorded time", pid, apart)
	}
	switch hermes, err := visiblyHermes(); {
	case err != nil:
		return ident.Unknown, fmt.Sprintf("pid %d lives with another start: %v", pid, err)
	case hermes:
		return ident.Unknown, fmt.Sprintf("pid %d is a Hermes with another start: another process, or the clock was stepped", pid)
	default:
		return ident.Dead, fmt.Sprintf("pid %d was recycled: it started %.0f s from the recorded time", pid, apart)
	}
}

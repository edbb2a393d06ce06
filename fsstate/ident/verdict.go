package ident

import (
	"errors"
	"fmt"
	"os"
)

// Verdict is the answer about another process. The zero value is [Unknown], which acts as alive everywhere: it never
// permits a signal, a takeover or a second run.
type Verdict int

// The three verdicts.
const (
	Unknown Verdict = iota
	Alive
	Dead
)

// String is UNKNOWN, ALIVE or DEAD.
func (v Verdict) String() string {
	switch v {
	case Alive:
		return "ALIVE"
	case Dead:
		return "DEAD"
	default:
		return "UNKNOWN"
	}
}

// MarshalText writes what String says; it does not fail.
func (v Verdict) MarshalText() ([]byte, error) {
	return []byte(v.String()), nil
}

// Check answers by pid alone. [Unknown] when the identity comes from another boot or pid namespace, when it does not
// say from which, and when the process cannot be read. [Dead] when no process has the pid, when it is a zombie
// without living threads, and when the pid has gone to a process that started at another time. Else [Alive].
func Check(id Ident) Verdict {
	at := here()
	if at.localityOf(id) != local {
		return Unknown
	}
	v, _ := compare(id, at, look)
	return v
}

// Stopped says that the process of this identity is stopped by a signal (state T): it lives, and holds what it
// holds, for as long as nobody continues it. For display; false where that is unknown.
func Stopped(id Ident) bool {
	at := here()
	if at.localityOf(id) != local || (id.TimeNS != 0 && id.TimeNS != at.timens) {
		return false
	}
	p, err := look(id.PID)
	return err == nil && p.start == id.Start && p.stopped
}

// process is what the kernel tells about a process that lives.
type process struct {
	start   int64 // as Ident.Start
	stopped bool  // by a signal
}

// lookup reads a process that lives; the error wraps os.ErrProcessDone when there is none with this pid.
type lookup func(pid int) (process, error)

// compare settles an identity by pid, given that pids mean the same there and here.
func compare(id Ident, at place, look lookup) (Verdict, string) {
	if id.PID <= 0 {
		return Unknown, "no pid was recorded"
	}
	p, err := look(id.PID)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return Dead, fmt.Sprintf("pid %d is gone", id.PID)
	case err != nil:
		return Unknown, fmt.Sprintf("pid %d cannot be examined: %v", id.PID, err)
	case id.TimeNS != 0 && at.timens != 0 && id.TimeNS != at.timens:
		// The kernel shifts start ticks by the reader's time namespace: unequal ticks prove nothing.
		return Unknown, fmt.Sprintf("pid %d lives, but its start was recorded in another time namespace", id.PID)
	case p.start != id.Start:
		return Dead, fmt.Sprintf("pid %d now belongs to a process that started at another tick", id.PID)
	default:
		return Alive, fmt.Sprintf("pid %d lives and started at the recorded tick", id.PID)
	}
}

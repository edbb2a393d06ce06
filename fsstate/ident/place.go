package ident

import (
	"runtime"
	"sync/atomic"
)

// place is where this process runs, as far as an identity depends on it. Zero fields could not be read, or do not
// exist on this system.
type place struct {
	bootID        string
	pidns, timens uint64
}

// known holds the place once it could be read whole: none of it changes while this process lives. What could not be read
// is tried again.
var known atomic.Pointer[place]

// here is where this process runs.
func here() place {
	if at := known.Load(); at != nil {
		return *at
	}
	at := readPlace()
	if at.bootID != "" && (runtime.GOOS != "linux" || at.pidns != 0 && at.timens != 0) {
		known.Store(&at)
	}
	return at
}

// locality is how the place of a recorded identity relates to ours.
type locality int

const (
	unsure    locality = iota // one side does not know its boot or pid namespace
	elsewhere                 // another boot or another pid namespace
	local                     // pids mean the same there and here
)

// localityOf compares places. A boot id that differs means rebooted, another machine, or a container runtime that
// invents one per container: elsewhere, which is not yet dead.
func (at place) localityOf(id Ident) locality {
	switch {
	case id.BootID != "" && at.bootID != "" && id.BootID != at.bootID:
		return elsewhere
	case id.PIDNS != 0 && at.pidns != 0 && id.PIDNS != at.pidns:
		return elsewhere
	case id.BootID == "" || at.bootID == "":
		return unsure
	case runtime.GOOS == "linux" && (id.PIDNS == 0 || at.pidns == 0):
		return unsure
	default:
		return local
	}
}

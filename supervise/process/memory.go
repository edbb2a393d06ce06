package process

import (
	"runtime"
	"runtime/debug"
)

// halvings: a collection halves a goroutine's stack at most, and what starts a program has one of 32 KB.
const halvings = 2

// GiveBackMemory returns to the system what the start of this program needed and the hours after it do not: freed heap,
// and the pages of the program itself that it only ran through once (Linux; they are read back when they are needed). A
// machine runs one keeper for each turn. It costs one to some ten milliseconds, so it is for when nothing is urgent.
func GiveBackMemory() {
	for range halvings {
		runtime.GC()
	}
	debug.FreeOSMemory()
	dropProgramPages()
}

// GiveBackPages is the second half of it: for after a look around that happens now and then and allocates next to nothing.
func GiveBackPages() { dropProgramPages() }

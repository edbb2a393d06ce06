package process

import "runtime/debug"

// GiveBackMemory returns to the system what the start of this program needed and the hours after it do not: freed heap,
// and the pages of the program itself that it only ran through once (Linux; they are read back when they are needed). A
// machine runs one keeper for each turn. It costs about a millisecond, so it is for when nothing is urgent.
func GiveBackMemory() {
	debug.FreeOSMemory()
	dropProgramPages()
}

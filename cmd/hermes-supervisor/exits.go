package main

import (
	"cmp"
	"strconv"
)

// exit is one exit code of a command and what it says there.
type exit struct {
	code  int // or one of the two below
	means string
}

const (
	exitSignal = 128 // and the number of the signal
	exitOwn    = -1  // the code of the program that was run
)

// String is the code as help shows it.
func (e exit) String() string {
	switch e.code {
	case exitSignal:
		return "128+n"
	case exitOwn:
		return "n"
	}
	return strconv.Itoa(e.code)
}

// exitMeans is what a code says where a command has nothing particular to say.
func exitMeans(code int) string {
	switch code {
	case exitFailed:
		return "it could not be done"
	case exitUsage:
		return "the command line is wrong; nothing was done"
	case exitState:
		return "state could not be read or written"
	case exitBusy:
		return "somebody holds a lock: try again"
	case exitConfiguration:
		return "hermes.toml has a fault, or does not name what was asked for"
	}
	return ""
}

// exitsOf are the exit codes that a command may return, in ascending order: this is where a command says them, and a test
// fails for one that does not (exits_commands.go has the list). The path is the command's below the root ("turn run"). It is a function, since a table would be
// filled at the start of every command.
func exitsOf(path string) []exit {
	exits := exitsAsWritten(path)
	for i := range exits {
		exits[i].means = cmp.Or(exits[i].means, exitMeans(exits[i].code))
	}
	return exits
}

package ident

import (
	"bytes"
	"fmt"
	"strconv"
)

// stat is what we need of /proc/PID/stat, proc_pid_stat(5).
type stat struct {
	state   byte  // field 3
	parent  int   // field 4: 0 for the first process, and for one whose parent is in another namespace
	threads int64 // field 20: those not yet reaped, the zombie leader included
	start   int64 // field 22: clock ticks since boot
}

// Where the fields stand behind the command name, which is field 2.
const (
	fieldState   = 0
	fieldParent  = 1
	fieldThreads = 17
	fieldStart   = 19
)

// parseStat reads the stat line of process pid. The name in it is whatever the program calls itself, for example
// "a) S 1 (b": only the last parenthesis ends it.
func parseStat(line []byte, pid int) (stat, error) {
	bad := func(what string) (stat, error) {
		return stat{}, fmt.Errorf("parse stat of process %d: %s", pid, what)
	}
	if !bytes.HasPrefix(line, []byte(strconv.Itoa(pid)+" (")) {
		return bad("it is of another process")
	}
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return bad("the command name has no end")
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) <= fieldStart {
		return bad("fields are missing")
	}
	if len(fields[fieldState]) != 1 {
		return bad("no state")
	}
	parent, err := strconv.Atoi(string(fields[fieldParent]))
	if err != nil || parent < 0 {
		return bad("no parent")
	}
	threads, err := strconv.ParseInt(string(fields[fieldThreads]), 10, 64)
	if err != nil || threads < 0 {
		return bad("no thread count")
	}
	start, err := strconv.ParseInt(string(fields[fieldStart]), 10, 64)
	if err != nil || start < 0 {
		return bad("no start time")
	}
	return stat{state: fields[fieldState][0], parent: parent, threads: threads, start: start}, nil
}

// ended says that no thread of the process runs any more. A leader that has exited is a zombie as well while its
// other threads work on, and then it is not dead.
func (s stat) ended() bool {
	return (s.state == 'Z' || s.state == 'X' || s.state == 'x') && s.threads <= 1
}

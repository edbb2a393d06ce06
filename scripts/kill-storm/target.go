//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A target is a process of this storm: a pid, and the clock ticks at which it was started.
type target struct {
	pid   int
	start int64
}

// procStat is what /proc/PID/stat tells of a process.
type procStat struct {
	state string
	ppid  int
	start int64
}

// readStat reads one process; false when there is none. The name of the program may hold anything, also what looks
// like its end.
func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return procStat{}, false
	}
	const state, parent, started = 0, 1, 19 // counted from the field after the name
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= started {
		return procStat{}, false
	}
	ppid, err1 := strconv.Atoi(fields[parent])
	start, err2 := strconv.ParseInt(fields[started], 10, 64)
	return procStat{fields[state], ppid, start}, err1 == nil && err2 == nil
}

// targetOf is the process that has this number now.
func targetOf(pid int) (target, error) {
	s, ok := readStat(pid)
	if !ok {
		return target{}, fmt.Errorf("read the start of pid %d: %w", pid, os.ErrProcessDone)
	}
	return target{pid, s.start}, nil
}

func (t target) lives() bool {
	s, ok := readStat(t.pid)
	return ok && s.start == t.start && s.state != "Z" && s.state != "X"
}

func (t target) stopped() bool {
	s, ok := readStat(t.pid)
	return ok && s.start == t.start && s.state == "T"
}

// signal sends a signal to exactly this process, if it lives: the handle is taken first, then what it stands for is
// compared, so that nobody else can be hit.
func (t target) signal(sig syscall.Signal) bool {
	if t.pid <= 1 || t.pid == os.Getpid() {
		return false
	}
	handle, err := os.FindProcess(t.pid)
	if err != nil {
		return false
	}
	defer handle.Release() //nolint:errcheck // frees the handle, whatever it says
	return t.lives() && handle.Signal(sig) == nil
}

// descendants are all processes below this one.
func descendants() ([]target, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := map[int]int{}
	starts := map[int]int64{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if s, ok := readStat(pid); ok {
				parents[pid], starts[pid] = s.ppid, s.start
			}
		}
	}
	var found []target
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == os.Getpid() {
				found = append(found, target{pid, starts[pid]})
				break
			}
		}
	}
	return found, nil
}

// command is the command line of a process, for people.
func (t target) command() string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(t.pid), "cmdline"))
	if err != nil || errors.Is(err, os.ErrNotExist) {
		return "?"
	}
	text := strings.ReplaceAll(strings.Trim(string(data), "\x00"), "\x00", " ")
	return text[:min(len(text), 200)]
}

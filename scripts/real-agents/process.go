package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables by which hermes-supervisor marks what it launches.
const (
	sessionVar  = "HERMES_SUPERVISOR_SESSION"
	instanceVar = "HERMES_SUPERVISOR_INSTANCE"
	attemptVar  = "HERMES_SUPERVISOR_ATTEMPT"
)

// A process is one that lives and carries our session in its environment.
type process struct {
	pid      int
	start    string // clock ticks since boot; with pid, this process and no other
	instance string // which launch it belongs to
	attempt  string // which continuation that is; "0": a person's own prompt
	program  string // file name of its executable
}

// scan lists the living processes of a session. One that is ending is no longer among them from the moment it gives up
// its memory, and with it its environment; its files and connections follow a little later (see ended).
func scan(session string) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []process
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := inspect(pid, session); ok {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// inspect reads one process, which may end meanwhile: then it is not one of ours.
func inspect(pid int, session string) (process, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || variable(environ, sessionVar) != session {
		return process{}, false
	}
	exe, err := os.Readlink(filepath.Join(dir, "exe"))
	if err != nil {
		return process{}, false
	}
	start, over := stat(pid)
	if over {
		return process{}, false
	}
	program := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	return process{
		pid:      pid,
		start:    start,
		instance: variable(environ, instanceVar),
		attempt:  variable(environ, attemptVar),
		program:  program,
	}, true
}

// ended reports whether a process is over, so that it holds no file any more: gone, or a zombie of which no thread is
// left. The first thread of a killed program is often a zombie while others are still ending, with the files open.
func (p process) ended() bool {
	start, over := stat(p.pid)
	return over || start != p.start
}

// stat reads from /proc/PID/stat when a process was started, and whether it is over. The program's name in it may hold
// anything, also what looks like the end of the name.
func stat(pid int) (start string, over bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", true
	}
	const state, threads, started = 0, 17, 19 // counted from the field after the name
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= started {
		return "", true
	}
	zombie := fields[state] == "Z" || fields[state] == "X"
	return fields[started], zombie && (fields[threads] == "0" || fields[threads] == "1")
}

func variable(environ []byte, name string) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// kill sends SIGKILL, as signal does.
func (p process) kill(session string) error { return p.signal(session, os.Kill) }

// signal sends a signal to exactly this process: the handle is taken first, then what it stands for is compared, so a pid
// that was recycled since the scan cannot be hit. One that is gone by itself is no error.
func (p process) signal(session string, s os.Signal) error {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return err
	}
	defer handle.Release() //nolint:errcheck // frees the handle, whatever it says
	if now, ok := inspect(p.pid, session); !ok || now != p {
		return nil
	}
	if err := handle.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s, pid %d: %w", s, p.program, p.pid, err)
	}
	return nil
}

// launches is the distinct instances among processes.
func launches(processes []process) []string {
	var instances []string
	for _, p := range processes {
		if !slices.Contains(instances, p.instance) {
			instances = append(instances, p.instance)
		}
	}
	return instances
}

// A sighting is what a watch has seen of a session from its start to its end.
type sighting struct {
	samples  int
	launches []string    // every launch seen, in order
	attempts []string    // of each of them
	together [][]process // samples in which two launches lived at once
	err      error
}

// watch samples the processes of a session until stop is called.
func watch(ctx context.Context, session string) (stop func() sighting) {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan sighting, 1)
	go func() {
		var seen sighting
		defer func() { result <- seen }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			processes, err := scan(session)
			if err != nil {
				seen.err = err
				return
			}
			seen.samples++
			for _, p := range processes {
				if !slices.Contains(seen.launches, p.instance) {
					seen.launches = append(seen.launches, p.instance)
					seen.attempts = append(seen.attempts, p.attempt)
				}
			}
			if both := stillThere(processes, session); len(launches(both)) > 1 {
				seen.together = append(seen.together, both)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() sighting {
		cancel()
		return <-result
	}
}

// stillThere is those of a finished scan that live now. A scan is not one moment: the first process may have ended before
// the last one began. Those that are there again after it all lived at the moment between the two.
func stillThere(processes []process, session string) []process {
	if len(launches(processes)) < 2 {
		return nil
	}
	var again []process
	for _, p := range processes {
		if now, ok := inspect(p.pid, session); ok && now == p {
			again = append(again, now)
		}
	}
	return again
}

// until waits for a state that nothing announces, such as the end of somebody else's child.
func until(ctx context.Context, what string, reached func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := reached(); err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
}

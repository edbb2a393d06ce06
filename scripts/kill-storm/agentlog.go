//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of lines that agents and what belongs to them write.
const (
	lineStart    = "start"    // an agent has begun on a prompt
	lineEnd      = "end"      // it is about to exit by itself, with this code
	lineDie      = "die"      // it is about to crash by itself
	lineTool     = "tool"     // a tool of it runs
	lineLauncher = "launcher" // the parent that it was started through
	lineOverlap  = "overlap"  // something of an earlier run still lives
	lineWrong    = "wrong"    // what it was given is not what it should have been given
	lineReceipt  = "receipt"  // a receipt command has run
)

// A line is one line of a session's log.
type line struct {
	kind    string
	at      int64 // ns of CLOCK_MONOTONIC, which all processes share
	who     target
	prompt  string
	attempt int
	code    int
	text    string // as it stands in the file
}

func (l line) String() string {
	return fmt.Sprintf("%s %d %d %d %s %d %d", l.kind, l.at, l.who.pid, l.who.start, l.prompt, l.attempt, l.code)
}

// write appends the line in one write, so that lines of several processes never mix.
func (l line) write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(l.String() + "\n")
	return errors.Join(err, f.Close())
}

func parseLine(text string) (line, error) {
	fields := strings.Fields(text)
	if len(fields) != 7 {
		return line{}, fmt.Errorf("read agents' log: line %q has %d fields", text, len(fields))
	}
	numbers := make([]int64, len(fields))
	for i, f := range fields {
		if i == 0 || i == 4 {
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return line{}, fmt.Errorf("read agents' log: line %q: %w", text, err)
		}
		numbers[i] = n
	}
	return line{
		kind: fields[0], at: numbers[1], who: target{int(numbers[2]), numbers[3]},
		prompt: fields[4], attempt: int(numbers[5]), code: int(numbers[6]), text: text,
	}, nil
}

// An agentLog is what was read of one session's log so far.
type agentLog struct {
	path  string
	file  *os.File
	rest  []byte // the beginning of a line that was not whole yet
	read  int64
	lines []line
}

func openLog(path string) (*agentLog, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &agentLog{path: path, file: f}, nil
}

// update reads what was appended since.
func (l *agentLog) update() error {
	var buf [8192]byte
	for {
		n, err := l.file.ReadAt(buf[:], l.read)
		l.read += int64(n)
		l.rest = append(l.rest, buf[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	for {
		text, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return nil
		}
		parsed, err := parseLine(string(text))
		if err != nil {
			return err
		}
		l.lines, l.rest = append(l.lines, parsed), rest
	}
}

func (l *agentLog) count(kind string) int {
	n := 0
	for _, at := range l.lines {
		if at.kind == kind {
			n++
		}
	}
	return n
}

// living are the processes of the log that live, the newest last.
func (l *agentLog) living(kinds ...string) []target {
	var found []target
	for _, at := range l.lines {
		for _, kind := range kinds {
			if at.kind == kind && at.who.lives() {
				found = append(found, at.who)
			}
		}
	}
	return found
}

// mono is the time that all processes of this machine share, and that nobody steps.
func mono() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano()).Nanoseconds()
}

//go:build unix

// Package childtest is a scripted program for tests to supervise. A test binary is that program by calling Main where
// it is told to, before its tests:
//
//	func TestMain(m *testing.M) {
//		if len(os.Args) > 1 && os.Args[1] == "child" {
//			os.Exit(childtest.Main(os.Args[2:]))
//		}
//		os.Exit(m.Run())
//	}
//
// so that {os.Args[0], "child", "say", "ready", "sleep", "1s", "exit", "3"} is a service. The words of the script:
//
//	say TEXT, warn TEXT   a line to stdout, to stderr
//	number FILE N EVERY   N lines "line COUNT PID" to stdout (0: without end), one every EVERY; FILE keeps the count over
//	                      restarts. A number is taken before its line is written, so none comes twice, and a kill loses
//	                      one at most, the last of its pid
//	number-err FILE N EVERY   the same to stderr
//	pad N                 N dots, after a space, at the end of each of these lines from here on
//	flood BYTES           so many bytes to stdout, in lines of 16
//	sleep D               as time.ParseDuration reads it
//	hold                  live, with stdout open
//	exit N                end with that code; the end of the script is "exit 0"
//	ignore NAME           a signal: TERM, INT, HUP…
//	stop-self             SIGSTOP
//	close-stdin           give up descriptor 0
//	touch FILE            make it, or give it the time of now
//	listen FILE           on a port of 127.0.0.1, whose address FILE then holds; answers each request with HTTP 200
//	record FILE           append "start PID NANOSECONDS", and at SIGTERM "end PID NANOSECONDS" (CLOCK_MONOTONIC) before
//	                      dying of it
//	alone FILE            append "start PID NANOSECONDS", and hold a lock on FILE for life, as does all that is started
//	                      from here on; "overlap PID NANOSECONDS" where another one holds it
//	fork W, setsid W      start the script W in the same group, in a session of its own
//	double-fork W         the same by way of a process that ends at once
//
// W is all that follows, or what stands between "{" and its "}".
//
// What it does not do: it never lives longer than Life. What is stopped is not ended by that; its test does it.
package childtest

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Life bounds every child, so that a test that is killed leaves nothing behind.
const Life = 5 * time.Minute

// exitBadScript is the exit code of a script that cannot be carried out. Its reason is on stderr.
const exitBadScript = 96

// Main carries out the script args, which is the end of os.Args, and returns the exit code.
func Main(args []string) int {
	time.AfterFunc(Life, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	c := &child{self: os.Args[:len(os.Args)-len(args)], rest: args}
	for len(c.rest) > 0 && !c.ended {
		word := c.next()
		act := c.read(word)
		err := c.bad
		if err == nil {
			err = act()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "child: %s: %v\n", word, err)
			return exitBadScript
		}
	}
	return c.code
}

// child is what is left of a script, what went wrong in reading it, and how it ended.
type child struct {
	self, rest []string
	bad        error
	pad        string // after each numbered line
	ended      bool
	code       int
}

// read takes what belongs to a word, and returns what it does.
func (c *child) read(word string) (act func() error) {
	switch word {
	case "say", "warn":
		to, text := os.Stdout, c.next()
		if word == "warn" {
			to = os.Stderr
		}
		return func() error { _, err := fmt.Fprintln(to, text); return err }
	case "number", "number-err":
		to, file, n, every := os.Stdout, c.next(), c.number(), c.duration()
		if word == "number-err" {
			to = os.Stderr
		}
		return func() error { return count(to, file, n, every, c.pad) }
	case "pad":
		n := c.number()
		return func() error { c.pad = Padding(n); return nil }
	case "flood":
		n := c.number()
		return func() error { return flood(n) }
	case "sleep":
		d := c.duration()
		return func() error { time.Sleep(d); return nil }
	case "hold":
		return func() error { time.Sleep(2 * Life); return nil }
	case "exit":
		c.code, c.ended = c.number(), true
		return func() error { return nil }
	case "ignore":
		sig := c.signal()
		return func() error { signal.Ignore(sig); return nil }
	case "stop-self":
		return func() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
	case "close-stdin":
		return os.Stdin.Close
	case "touch":
		file := c.next()
		return func() error { return touch(file) }
	case "listen":
		file := c.next()
		return func() error { return listen(file) }
	case "record":
		file := c.next()
		return func() error { return record(file) }
	case "alone":
		file := c.next()
		return func() error { return alone(file) }
	case "fork", "setsid":
		words := c.script()
		return func() error { return c.start(word == "setsid", words) }
	case "double-fork":
		words := c.script()
		return func() error { return c.leave(words) }
	}
	c.bad = errors.New("no such word")
	return nil
}

func (c *child) next() string {
	if len(c.rest) == 0 {
		c.bad = errors.New("too few words")
		return ""
	}
	word := c.rest[0]
	c.rest = c.rest[1:]
	return word
}

func (c *child) number() int {
	n, err := strconv.Atoi(c.next())
	if err != nil && c.bad == nil {
		c.bad = err
	}
	return n
}

func (c *child) signal() syscall.Signal {
	name := c.next()
	sig := unix.SignalNum("SIG" + name)
	if sig == 0 && c.bad == nil {
		c.bad = fmt.Errorf("no signal %q", name)
	}
	return sig
}

func (c *child) duration() time.Duration {
	d, err := time.ParseDuration(c.next())
	if err != nil && c.bad == nil {
		c.bad = err
	}
	return d
}

// script takes the words of another child.
func (c *child) script() []string {
	words := c.rest
	c.rest = nil
	if len(words) == 0 || words[0] != "{" {
		return words
	}
	depth := 0
	for i, word := range words {
		switch word {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 {
			c.rest = words[i+1:]
			return words[1:i]
		}
	}
	c.bad = fmt.Errorf("no } for the { in %q", strings.Join(words, " "))
	return nil
}

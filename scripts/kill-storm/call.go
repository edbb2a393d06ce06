//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What a call gives to `turn run`.
const (
	giveOwn  = "the prompt"
	giveNone = "no prompt"
)

// A call is one execution of `turn run`.
type call struct {
	scene

	name   string // of its files
	giving string
	prompt *prompt // whose end it reports
	wait   bool    // --wait
	beside bool    // it was started while another call of the session ran

	child   *child
	began   time.Time
	agents  int       // starts in the log before the call
	agentAt time.Time // the first of its agents was seen
	stopAt  time.Time // it has stopped at its fault point
	sent    map[syscall.Signal]bool
	rivals  []*call
	order   *child   // `turn interrupt`, beside it
	did     []string // what was done to it, for the story

	died     bool // by a signal
	answered bool // `turn interrupt` has ended
	obeyed   bool // `turn interrupt` beside it has ended a turn
	struck   bool // it has reached its fault point
	code     int
	outcome  outcome
}

// argv is the command line of the keeper.
func (c *call) argv(supervisor string, p place, program string) []string {
	session := c.prompt.session
	argv := []string{
		supervisor, "--home", p.home(), "-c", p.config(), "turn", "run", "--session", session,
		"--max-attempts", strconv.Itoa(limit), "--outcome", c.outcomeFile(p),
	}
	if c.giving == giveOwn {
		argv = append(argv, "--prompt", promptOf(c.prompt.name))
	}
	if c.prompt.id && (c.giving == giveOwn || c.beside) {
		argv = append(argv, "--id", c.prompt.name)
	}
	if c.prompt.receipt {
		argv = append(argv, "--receipt", receiptCommand(p, session, c.prompt.name))
	}
	if c.drain {
		argv = append(argv, "--drain", "0s")
	}
	if c.wait {
		argv = append(argv, "--wait", "3s")
	}
	return append(append(argv, "--"), c.script.argv(program, p.log(session), p.lock(session))...)
}

// receiptCommand fails the first time, for one prompt in two, and then says that it has run.
func receiptCommand(p place, session, name string) string {
	told := line{kind: lineReceipt, prompt: "-"}.String()
	command := fmt.Sprintf("echo '%s' >>'%s'", told, p.log(session))
	if name[len(name)-1]%2 == 0 {
		failed := p.call(name + ".failed")
		command = fmt.Sprintf("[ -e '%s' ] || { : >'%s'; exit 1; }; %s", failed, failed, command)
	}
	return command
}

func (c *call) outputFile(p place) string  { return p.call(c.name + ".txt") }
func (c *call) outcomeFile(p place) string { return p.call(c.name + ".json") }
func (c *call) faultLog(p place) string    { return p.call(c.name + ".fault") }

// hasStruck tells whether the keeper has reached its fault point.
func (c *call) hasStruck(p place) bool {
	if c.strike.point == "" {
		return false
	}
	info, err := os.Stat(c.faultLog(p))
	return err == nil && info.Size() > 0
}

// running tells whether a process was started and has not been reaped yet.
func running(c *child) bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

func (c *call) note(format string, args ...any) {
	since := time.Since(c.began).Round(100 * time.Microsecond)
	c.did = append(c.did, fmt.Sprintf("%v ", since)+fmt.Sprintf(format, args...))
}

// due tells whether it is time for an event.
func (c *call) due(e event) bool {
	var since time.Time
	switch e.since {
	case sinceCall:
		since = c.began
	case sinceAgent:
		since = c.agentAt
	case sinceStop:
		since = c.stopAt
	}
	return !since.IsZero() && time.Since(since) >= e.after
}

// String is the call as the story tells it.
func (c *call) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "call %s gives %s of %s", c.name, c.giving, c.prompt.name)
	if c.prompt.id {
		s.WriteString(", with its id")
	}
	if c.strike.point != "" {
		fmt.Fprintf(&s, ", strike %v", c.strike)
	}
	fmt.Fprintf(&s, "; agents %+v", c.script)
	for _, did := range c.did {
		s.WriteString("\n    " + did)
	}
	return s.String()
}

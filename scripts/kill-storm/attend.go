//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pollEvery = 2 * time.Millisecond
	nudgeAt   = 1500 * time.Millisecond // an agent that waits for its end gets it, if nothing else came
	callBound = 60 * time.Second        // no call takes so long unless it hangs
)

// start executes a call.
func (w *worker) start(c *call) error {
	out, err := os.Create(c.outputFile(w.place))
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the child writes it
	if err := w.log.update(); err != nil {
		return err
	}
	c.sent = map[syscall.Signal]bool{}
	c.agents = w.log.count(lineStart)
	c.began = time.Now()
	w.tally.called()
	// Once a call asked for a receipt, every later one of the same prompt does: it may be due.
	c.prompt.receipt = w.wantsReceipt() || c.prompt.receipt
	argv := c.argv(w.supervisor, w.place, w.program)
	c.child, err = w.children.start(argv, w.place.env(c.strike, c.faultLog(w.place)), w.place.cwd(), out)
	return err
}

// attend does to a running call what was drawn for it, until it has ended.
func (w *worker) attend(ctx context.Context, c *call) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	nudged := c.began
	for running(c.child) || running(c.order) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := w.log.update(); err != nil {
			return err
		}
		if c.agentAt.IsZero() && w.log.count(lineStart) > c.agents {
			c.agentAt = time.Now()
		}
		if c.strike.action == "stop" && c.stopAt.IsZero() && c.hasStruck(w.place) && c.child.stopped() {
			c.stopAt = time.Now()
			c.note("stopped at %s", c.strike.point)
		}
		if err := errors.Join(w.act(c), w.hearInterrupt(c)); err != nil {
			return err
		}
		if !w.quiet && time.Since(nudged) > nudgeAt {
			nudged = time.Now()
			c.child.signal(unix.SIGCONT)
			w.killAgents(c, lineStart, lineLauncher)
		}
		if time.Since(c.began) > callBound {
			return w.broken(fmt.Sprintf("call %s did not end within %v", c.name, callBound))
		}
	}
	for _, t := range w.log.living(lineStart, lineLauncher, lineTool) { // what the storm stopped and nobody woke
		if t.stopped() && t.signal(unix.SIGCONT) {
			c.note("SIGCONT to pid %d", t.pid)
		}
	}
	if err := w.hearInterrupt(c); err != nil {
		return err
	}
	return w.finish(c)
}

// act carries out the events that are due.
func (w *worker) act(c *call) error {
	for i := range c.events {
		e := &c.events[i]
		if e.done || !c.due(*e) {
			continue
		}
		e.done = true
		switch e.what {
		case doRival:
			if err := w.rival(c); err != nil {
				return err
			}
		case doInterrupt:
			if err := w.interrupt(c); err != nil {
				return err
			}
		case doKill, doStop, doCont, doInt, doTerm:
			w.send(c, *e)
		}
	}
	return nil
}

var signals = map[string]syscall.Signal{
	doKill: unix.SIGKILL, doStop: unix.SIGSTOP, doCont: unix.SIGCONT, doInt: unix.SIGINT, doTerm: unix.SIGTERM,
}

// send sends the signal of an event, if whom it is meant for lives.
func (w *worker) send(c *call, e event) {
	var whom target
	switch e.whom {
	case toKeeper:
		whom = c.child.target
	case toAgent:
		whom = newest(w.log.living(lineStart))
	case toLauncher:
		if whom = newest(w.log.living(lineLauncher)); whom == (target{}) {
			whom = newest(w.log.living(lineStart))
		}
	}
	sig := signals[e.what]
	if e.what == doInt && e.whom == toKeeper {
		c.prompt.ordered = true // before the signal: it may be obeyed at once
	}
	if !whom.signal(sig) {
		return
	}
	c.note("%s to %s, pid %d", e.what, e.whom, whom.pid)
	switch e.what {
	case doKill:
		w.countKill(whom)
	case doStop:
		w.tally.stopped()
	}
	if e.whom == toKeeper {
		c.sent[sig] = true
	}
}

func newest(found []target) target {
	if len(found) == 0 {
		return target{}
	}
	return found[len(found)-1]
}

// countKill counts a process once: it may live on for a moment after its signal, and get another one.
func (w *worker) countKill(t target) {
	if !w.killed[t] {
		w.killed[t] = true
		w.tally.killed()
	}
}

// killAgents kills what lives of a session's agents, which is meant to be killed or is in the way.
func (w *worker) killAgents(c *call, kinds ...string) {
	for _, t := range w.log.living(kinds...) {
		if t.signal(unix.SIGKILL) {
			c.note("SIGKILL to pid %d, which is in the way", t.pid)
			w.countKill(t)
		}
	}
}

// rival starts another call of the same session while one runs. It gives no prompt, so it begins nothing anew; the call
// itself would, rightly, if it came to its turn only after the rival had brought the prompt that both found to its end.
func (w *worker) rival(c *call) error {
	late := c.giving == giveOwn && c.script.First > 0 && c.agentAt.IsZero()
	if len(w.open) != 1 || len(c.rivals) > 0 || late {
		return nil
	}
	r := w.newCall(c.prompt, giveNone, calm(w.rand, situation{next: c.script.First}))
	r.beside, r.wait = true, w.rand.IntN(3) == 0
	c.rivals = append(c.rivals, r)
	c.note("call %s starts beside it", r.name)
	return w.start(r)
}

// interrupt starts `turn interrupt` beside a call. It names the session, so whatever is open there may end by it.
func (w *worker) interrupt(c *call) error {
	out, err := os.Create(w.interruptFile(c))
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the child writes it
	for _, p := range w.open {
		p.ordered = true
	}
	c.note("turn interrupt")
	argv := []string{w.supervisor, "--home", w.place.home(), "-c", w.place.config(), "turn", "interrupt", c.prompt.session}
	c.order, err = w.children.start(argv, w.place.env(strike{}, ""), w.place.cwd(), out)
	return err
}

func (w *worker) interruptFile(c *call) string { return w.place.call(c.name + ".interrupt") }

// hearInterrupt notes what `turn interrupt` has answered, at once: when it says that the turn is over, the turn never
// starts again.
func (w *worker) hearInterrupt(c *call) error {
	if c.order == nil || c.answered || running(c.order) {
		return nil
	}
	c.answered = true
	said, err := os.ReadFile(w.interruptFile(c))
	if err != nil {
		return err
	}
	code := c.order.status.ExitStatus()
	c.note("turn interrupt: exit %d, %s", code, strings.TrimSpace(string(said)))
	c.obeyed = code == 0 && strings.Contains(string(said), " interrupted: ")
	switch {
	case c.obeyed && len(w.open) == 1:
		c.prompt.durable = mono()
	case code != 0 && code != 75 && code != 124:
		return w.broken(fmt.Sprintf("turn interrupt exits with %d", code))
	}
	return nil
}

// finish reads how a call has ended, and holds it against the ways in which it may end.
func (w *worker) finish(c *call) error {
	if c.struck = c.hasStruck(w.place); c.struck {
		w.tally.hit(c.strike.action, c.strike.point)
		c.note("%s at %s", c.strike.action, c.strike.point)
		if c.strike.action == "kill" {
			c.sent[unix.SIGKILL] = true
		}
	}
	if c.strike.point != "" {
		w.tally.over(c.strike.point)
	}
	status := c.child.status
	if c.died = status.Signaled(); c.died {
		c.note("ended by %v", status.Signal())
		if !c.sent[status.Signal()] {
			return w.broken(fmt.Sprintf("the keeper of call %s was ended by %v, which nobody sent", c.name, status.Signal()))
		}
		return nil
	}
	c.code = status.ExitStatus()
	found, err := readJSON(c.outcomeFile(w.place), &c.outcome)
	if err != nil {
		return err
	}
	c.note("exit %d, %s: %s %s", c.code, c.outcome.State, c.outcome.Reason, c.outcome.Detail)
	if !found || c.outcome.Code != c.code {
		return w.broken(fmt.Sprintf("call %s exits with %d and its outcome file says %+v", c.name, c.code, c.outcome))
	}
	return nil
}

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// broken is the error of a rule that did not hold.
func (w *worker) broken(rule string) error { return &brokenError{rule, w.story(rule)} }

// settle judges the session after calls of it have ended, and none runs.
func (w *worker) settle(calls []*call) error {
	if err := w.log.update(); err != nil {
		return err
	}
	m, err := w.place.marker(w.session)
	if err != nil {
		return err
	}
	ended, err := w.place.ended(w.session)
	if err != nil {
		return err
	}
	for _, c := range calls {
		rule := cmp.Or(c.keptPromise(m), w.hear(c, m, ended))
		if rule == "" && m == nil && !c.died && !w.free() {
			rule = fmt.Sprintf("call %s has ended, its marker is gone, and something of the agent lives", c.name)
		}
		if rule != "" {
			return w.broken(rule)
		}
	}
	unheard := slices.ContainsFunc(calls, func(c *call) bool { return c.died || c.obeyed || c.wait })
	for _, p := range w.open {
		if rule := w.look(p, m, ended, unheard); rule != "" {
			return w.broken(rule)
		}
	}
	if rule := judge(w.log.lines, w.all); rule != "" {
		return w.broken(rule)
	}
	for _, p := range w.open {
		if p.how != "" {
			w.tally.ended(p.how)
		}
	}
	w.open = slices.DeleteFunc(w.open, func(p *prompt) bool { return p.how != "" })
	return nil
}

// hear takes a returned call at its word, if what it says can be.
func (w *worker) hear(c *call, m *marker, ended map[string]string) (rule string) {
	p := c.prompt
	if c.died {
		return ""
	}
	switch state := c.outcome.State; state {
	case concluded:
		if code, exited := lastEnd(w.log.lines, p.name); !exited || code != c.code {
			return fmt.Sprintf("call %s says that %s concluded with %d; its agent exited by itself: %t, with %d", c.name, p.name, c.code, exited, code)
		}
		p.end(concluded)
	case interrupted:
		if !p.ordered || c.code != 130 {
			return fmt.Sprintf("call %s says that %s was interrupted, exit %d; ordered: %t", c.name, p.name, c.code, p.ordered)
		}
		if c.wait && m.prompt() == p.name { // its wait was interrupted, not the turn that it waited for
			return ""
		}
		p.end(interrupted)
	case "gave-up":
		if _, there := ended[p.name]; !there || c.code != 76 {
			return fmt.Sprintf("call %s says that %s was given up, exit %d; in ended/: %t", c.name, p.name, c.code, there)
		}
		p.end(givenUp)
	case "left-open":
		if c.code == 143 && !c.sent[unix.SIGTERM] {
			return fmt.Sprintf("call %s says that it was shut down, and nobody did", c.name)
		}
	case "refused":
		if c.outcome.Reason == "taken" {
			return fmt.Sprintf("the turn was taken from the keeper of call %s while it lived", c.name)
		}
	case "receipt-failed", "wait-ran-out":
	case "error":
		locked := c.code == 75
		nothing := c.code == 2 && c.giving == giveNone && (m == nil || c.beside) // beside: before the other call had begun
		if !locked && !nothing {
			return fmt.Sprintf("call %s ends with an error, exit %d: %s", c.name, c.code, c.outcome.Detail)
		}
	default:
		return fmt.Sprintf("call %s ends in state %q", c.name, state)
	}
	return ""
}

// look judges one open prompt by the files. unheard says that what became of it may not have been told by a call: its
// keeper was killed, or the agent that it left was ended by `turn interrupt`, or seen to end by a call that waited to give
// another prompt.
func (w *worker) look(p *prompt, m *marker, ended map[string]string, unheard bool) (rule string) {
	reason, archived := ended[p.name]
	_, exited := lastEnd(w.log.lines, p.name)
	starts := starts(w.log.lines, p.name)
	switch {
	case m.prompt() == p.name:
		return w.lookAtMarker(p, m)
	case archived:
		if reason != "attempts-exhausted" && (reason != "other-prompt" || p == w.all[len(w.all)-1]) {
			return fmt.Sprintf("prompt %s is in ended/ with the reason %q", p.name, reason)
		}
		p.end(givenUp)
	case p.how != "":
	case starts == 0 && !p.seen && p.durable == 0: // it never began, and its caller knows: given again
		return ""
	case p.ordered && !p.ran && (unheard || p.durable != 0): // also where the agent ended by itself in that moment
		p.end(interrupted)
	case p.durable != 0, unheard && exited:
		p.end(concluded)
	default:
		return fmt.Sprintf("prompt %s has vanished: started %d times, no marker, not in ended/, and no call said why", p.name, starts)
	}
	if p.how == concluded && p.receipt && !receipted(w.log.lines, p.name) {
		return fmt.Sprintf("prompt %s was let go, and its receipt has not run since its agent ended", p.name)
	}
	return ""
}

func (w *worker) lookAtMarker(p *prompt, m *marker) (rule string) {
	p.seen = true
	if p.how != "" {
		return fmt.Sprintf("prompt %s is %s and its marker stands, %s", p.name, p.how, m.Phase)
	}
	if m.Phase == phaseStopping && !p.ordered {
		return fmt.Sprintf("prompt %s is being stopped, and nobody ordered that", p.name)
	}
	p.ran = p.ran || m.Phase == phaseConcluded && m.End.Code != 130
	if p.durable == 0 && (m.Phase == phaseStopping || m.Phase == phaseConcluded) {
		p.durable = mono()
		if m.Phase == phaseStopping {
			p.launched = m.Attempts
		}
	}
	return ""
}

// end notes how a prompt came to its end, once.
func (p *prompt) end(how string) {
	if p.how == "" {
		p.how = how
	}
	if p.durable == 0 {
		p.durable = mono()
	}
}

// free tells whether nothing of the session's agents lives, by the lock that all of them hold. No process is forked
// meanwhile: until its exec it would hold what is tried out here, and an agent that begins would find it taken.
func (w *worker) free() bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.Open(w.place.lock(w.session))
	if err != nil {
		return true // no agent has begun yet
	}
	defer f.Close() //nolint:errcheck // only read
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}

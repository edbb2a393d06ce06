//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// A prompt is one task that a worker gives, and what is known of it.
type prompt struct {
	name, session string
	id            bool // it has an --id
	receipt       bool
	ordered       bool   // its interrupt was asked for
	seen          bool   // its marker was on disk
	ran           bool   // its marker said that it concluded, and not by an interrupt
	durable       int64  // when its end was seen to be on disk, 0: never
	launched      int    // the attempt that had been launched when the turn was seen to be stopping, -1: never
	how           string // it came to its end; "" while it is open
}

// A worker gives prompts, one after the other, in sessions of its own.
type worker struct {
	*round

	n       int  // which worker
	quiet   bool // nothing is done to its calls
	given   int  // prompts so far
	made    int  // calls so far
	rand    *rand.Rand
	session string
	log     *agentLog
	all     []*prompt // of this session
	open    []*prompt // given and not at their end, the latest last
	calls   []*call   // since nothing was open
	killed  map[target]bool
}

const (
	perSession  = 8 // prompts that follow each other in one session
	disturbed   = 5 // calls of one prompt that are disturbed
	promptBound = 90 * time.Second
)

// work gives prompts until enough was killed.
func (w *worker) work(ctx context.Context) error {
	defer w.close()
	for !w.enough() {
		w.rand = rand.New(rand.NewPCG(w.seed, uint64(w.number)<<40|uint64(w.n)<<20|uint64(w.given))) //nolint:gosec // not secret
		if w.given%perSession == 0 {
			if err := w.openSession(); err != nil {
				return err
			}
		}
		if err := w.carryOn(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) openSession() error {
	w.close()
	w.session = fmt.Sprintf("w%ds%d", w.n, w.given/perSession)
	w.all = nil
	var err error
	w.log, err = openLog(w.place.log(w.session))
	return err
}

func (w *worker) close() {
	if w.log != nil {
		_ = w.log.file.Close() // only read
		w.log = nil
	}
}

func (w *worker) newPrompt() *prompt {
	p := &prompt{
		name: fmt.Sprintf("r%dw%dp%d", w.number, w.n, w.given), session: w.session,
		launched: -1, id: w.rand.IntN(3) == 0, receipt: w.rand.IntN(3) == 0,
	}
	w.given++
	w.all, w.open = append(w.all, p), append(w.open, p)
	return p
}

func (w *worker) newCall(p *prompt, giving string, s scene) *call {
	w.made++
	c := &call{scene: s, name: fmt.Sprintf("%s-%d", p.name, w.made), giving: giving, prompt: p}
	w.calls = append(w.calls, c)
	return c
}

func (w *worker) wantsReceipt() bool {
	for _, p := range w.open {
		if p.receipt {
			return true
		}
	}
	return false
}

// carryOn gives a prompt, and whatever replaces it, until all of them have come to their ends.
func (w *worker) carryOn(ctx context.Context) error {
	deadline := time.Now().Add(promptBound)
	w.newPrompt()
	for step := 0; len(w.open) > 0; step++ {
		m, err := w.place.marker(w.session)
		if err != nil {
			return err
		}
		c := w.draw(step, m)
		if err := w.start(c); err != nil {
			return err
		}
		if err := w.attend(ctx, c); err != nil {
			return err
		}
		ended := []*call{c}
		for _, r := range c.rivals {
			if err := w.attend(ctx, r); err != nil {
				return err
			}
			ended = append(ended, r)
		}
		if err := w.settle(ended); err != nil {
			return err
		}
		if len(w.open) > 0 && (c.code == 75 || c.code == 124) {
			w.unblock(ctx, c)
		}
		if time.Now().After(deadline) {
			return w.broken(fmt.Sprintf("prompt %s came to no end within %v", w.open[0].name, promptBound))
		}
	}
	if err := w.echo(ctx); err != nil {
		return err
	}
	for _, c := range w.calls {
		files, _ := filepath.Glob(w.place.call(c.name + ".*")) // the pattern is well formed
		for _, file := range files {
			_ = os.Remove(file) // thrown away with the round at the latest
		}
	}
	w.calls = nil
	clear(w.killed)
	return nil
}

// draw decides what to call next, from what the last call left.
func (w *worker) draw(step int, m *marker) *call {
	r, last := w.rand, w.open[len(w.open)-1]
	giving := giveOwn
	if m != nil && m.prompt() == last.name {
		switch n := r.IntN(10); {
		case n < 2 && len(w.open) < 3, m.Phase == phaseStopping && n < 6:
			last = w.newPrompt() // another prompt: the person goes on with something else
		case n < 5, m.Phase == phaseStopping: // given again, a stopped prompt would rightly begin anew
			giving = giveNone
		}
	}
	s := situation{id: last.id, receipt: w.wantsReceipt()}
	if m != nil {
		s.phase, s.other = m.Phase, giving == giveOwn && m.prompt() != last.name
		s.next = m.Attempts + 1
	}
	if m == nil || s.other {
		s.next = 0
	}
	s.fresh = m == nil && step == 0
	sc, wait := calm(r, s), false
	switch n := r.IntN(10); {
	case w.enough() || step >= disturbed || step > 0 && n < 3:
	case n < 7:
		point := w.tally.choose(r, s.suits)
		if s.fresh {
			last.id = last.id || point == "finish.outcome"
			last.receipt = last.receipt || point == "receipt.start" || point == "receipt.ended"
		}
		sc = stage(r, point, s)
	default:
		sc = chance(r, s)
	}
	if m != nil && (s.phase == phaseIntended || s.phase == phaseRunning) && len(w.log.living(lineStart)) > 0 {
		// The agent lives on without its keeper: it may die in the moment in which somebody asks for it.
		if wait = r.IntN(3) == 0; wait || r.IntN(2) == 0 {
			sc.events = append(sc.events, event{since: sinceCall, after: upTo(r, 40), what: doKill, whom: toAgent})
		}
	}
	c := w.newCall(last, giving, sc)
	c.wait = wait
	return c
}

// unblock waits, after a call was refused, until that may have changed: everything that was left behind has ended or is
// killed, or the agent alone, so that what it started stands in the way of the next call.
func (w *worker) unblock(ctx context.Context, c *call) {
	until := time.Now().Add(time.Duration(5+w.rand.IntN(300)) * time.Millisecond)
	kinds := []string{lineStart, lineLauncher, lineTool}
	how := w.rand.IntN(3)
	if how == 0 {
		kinds = kinds[:2]
	}
	for ctx.Err() == nil && w.log.update() == nil && len(w.log.living(kinds...)) > 0 {
		if how < 2 || time.Now().After(until) {
			w.killAgents(c, kinds...)
		}
		time.Sleep(pollEvery)
	}
	time.Sleep(pollEvery)
}

// echo asks again for requests that have ended: the same answer, and nothing runs.
func (w *worker) echo(ctx context.Context) error {
	p := w.all[len(w.all)-1]
	if !p.id || p.how != concluded {
		return nil
	}
	c := w.newCall(p, giveOwn, calm(w.rand, situation{}))
	if err := w.start(c); err != nil {
		return err
	}
	if err := w.attend(ctx, c); err != nil {
		return err
	}
	if c.outcome.State != concluded || !c.outcome.Replayed {
		return w.broken(fmt.Sprintf("call %s asks again for a request that has ended, and is not told its end", c.name))
	}
	return w.settle([]*call{c})
}

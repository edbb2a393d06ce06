package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/supervise/awake"
)

// UnstoppedError names what still lived when End gave up.
type UnstoppedError struct {
	PIDs []int
	Err  error // the end of the context, and the last reason why a signal could not be sent
}

func (e *UnstoppedError) Error() string {
	pids := strings.Trim(fmt.Sprint(e.PIDs), "[]")
	if len(e.PIDs) == 0 {
		pids = "no process seen, but the tree did not settle"
	}
	if e.Err == nil {
		return "end the process tree: still alive: " + pids
	}
	return fmt.Sprintf("end the process tree: still alive: %s: %v", pids, e.Err)
}

// Unwrap is why: context.DeadlineExceeded, syscall.EPERM…
func (e *UnstoppedError) Unwrap() error { return e.Err }

// End walks the ladder until the tree is empty, members that appear meanwhile included, and returns nil then, at once
// if it is empty already. Each signal goes through a handle whose identity was verified. SIGKILL as the last step is
// repeated until the tree is empty. When the ladder is at its end or ctx is, the error is an *UnstoppedError; another
// error says that the processes could not be listed.
func (t Tree) End(ctx context.Context, l Ladder) error {
	e := &ender{looker: newLooker(t), sent: map[syscall.Signal]map[key]bool{}}
	for i, step := range l {
		empty, err := e.step(ctx, step, i == len(l)-1)
		if empty || err != nil {
			return err
		}
	}
	return e.unstopped(nil)
}

const (
	shortWait  = 200 * time.Microsecond // between two looks at a tree that is changing
	longWait   = 50 * time.Millisecond  // between two looks at one that is not
	busyRounds = 50                     // ends that are waited for one by one
	sureLooks  = 2                      // empty looks in a row that prove an empty tree
)

// ender is one run of End.
type ender struct {
	*looker
	sent    map[syscall.Signal]map[key]bool // who has had which signal
	last    []proc                          // the members of the last look
	refused error                           // why the last signal was not sent
}

func (e *ender) unstopped(cause error) error {
	pids := make([]int, 0, len(e.last))
	for _, p := range e.last {
		pids = append(pids, p.pid)
	}
	slices.Sort(pids)
	return &UnstoppedError{PIDs: pids, Err: errors.Join(cause, e.refused)}
}

// step does one rung and tells whether the tree is empty.
func (e *ender) step(ctx context.Context, s Step, last bool) (empty bool, err error) {
	deadline := time.Now().Add(s.Wait)
	repeat := s.Signal == syscall.SIGKILL && last
	wait := shortWait
	for round, calm := 0, 0; ; round++ {
		seen, err := e.look()
		if err != nil {
			return false, err
		}
		e.last = seen.members
		if len(seen.members) == 0 && seen.settled {
			if calm++; seen.final || calm == sureLooks {
				return true, nil
			}
			continue
		}
		calm = 0
		scope := e.within(s.Scope, seen.members)
		told := e.tell(scope, s, round == 0)
		switch {
		case len(seen.members) == 0: // not settled: look again
		case len(scope) == 0, round == 0 && told == 0 && !repeat:
			return false, nil
		case !repeat && !time.Now().Before(deadline):
			return false, nil
		}
		if repeat && told > 0 {
			wait = shortWait // they multiply: be quicker than they are
		}
		pause, watched := wait, scope
		if !repeat {
			pause = min(pause, max(time.Until(deadline), 0))
			if round > busyRounds {
				watched = nil // members come and go all the time: do not look at each of them go
			}
		}
		paused := time.Now()
		if err := awaitAny(ctx, watched, pause); err != nil {
			return false, e.unstopped(err)
		}
		deadline = deadline.Add(awake.Late(paused, time.Now(), pause)) // who was stopped with us has had no time to end
		wait = min(2*wait, longWait)
	}
}

func (e *ender) leads(p proc) bool { return p.key() == key{e.tree.Leader.PID, e.tree.Leader.Start} }

// within keeps the members that a scope covers.
func (e *ender) within(s Scope, members []proc) []proc {
	var scope []proc
	for _, p := range members {
		switch {
		case s == ScopeTree,
			s == ScopeLeader && e.leads(p),
			s == ScopeGroup && p.pgid == e.tree.Leader.PID && e.ownGroup(p):
			scope = append(scope, p)
		}
	}
	return scope
}

// ownGroup tells whether all of p's group belongs to the tree. A group lies within one session, and a session holds
// only descendants of the process that made it: a session that is not ours was made below us. In ours, where a leader
// with our terminal is, only its own group is known to be such a one; of an orphan's tree, only the leader's session.
func (e *ender) ownGroup(p proc) bool {
	if e.tree.Orphan {
		return p.sid == e.tree.Leader.PID && p.pgid == e.tree.Leader.PID && p.pgid > 1
	}
	return p.pgid > 1 && p.sid > 1 && (p.sid != ownSession() || p.pgid == e.tree.Leader.PID)
}

// tell signals those who have not had the signal, everybody for SIGKILL, and says how many had it for the first time.
// Groups are signalled as such where nobody in them has had it: the kernel does that in one stroke, and a fork cannot
// get away from it.
func (e *ender) tell(scope []proc, s Step, first bool) (told int) {
	had := e.sent[s.Signal]
	if had == nil {
		had = map[key]bool{}
		e.sent[s.Signal] = had
	}
	kill := s.Signal == syscall.SIGKILL
	groups := map[int]bool{} // true: signalled as a group
	if kill && s.Scope == ScopeTree || first && s.Scope == ScopeGroup {
		for _, p := range scope {
			if !kill && had[p.key()] || !e.ownGroup(p) {
				groups[p.pgid] = false
			}
		}
		for _, p := range scope {
			if _, done := groups[p.pgid]; !done && e.sending(signalGroup(p, s.Signal)) {
				groups[p.pgid] = true
			}
		}
	}
	for _, p := range scope {
		again := had[p.key()]
		if again && !kill || !groups[p.pgid] && !e.sending(signalOne(p, s.Signal, e.leads(p))) {
			continue
		}
		had[p.key()] = true
		if !again {
			told++
		}
	}
	return told
}

// sending remembers why a signal was not sent. A process that is gone is no reason.
func (e *ender) sending(err error) bool {
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.refused = err
	}
	return err == nil
}

// Pause waits for d or for the end of ctx, which is the error.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

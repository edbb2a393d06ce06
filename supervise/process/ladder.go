package process

import (
	"syscall"
	"time"
)

// Scope is whom a step of a stop ladder signals.
type Scope int

// The scopes, from the narrowest.
const (
	ScopeLeader Scope = iota // the process that was started, for programs that shut their own workers down
	ScopeGroup               // its process group: what Ctrl-C at a terminal would reach
	ScopeTree                // every member of the tree, those in sessions of their own included
)

// Step is one rung: send Signal to Scope and give it Wait to end.
//
// Each process gets a signal once, however many steps name it: a second SIGINT means "at once, without saving" to many
// agents. A step that finds nobody to signal is passed over, and its wait is over as soon as nobody in its scope is
// left: then the next step begins. SIGCONT follows each signal except SIGKILL, since a stopped process would not see it.
type Step struct {
	Signal syscall.Signal
	Scope  Scope
	Wait   time.Duration // ignored where SIGKILL is the last step, which is repeated until the tree is empty
}

// Ladder is a stop, step by step. It should end with SIGKILL to ScopeTree: another one may leave members.
type Ladder []Step

// leftoverGrace is what processes outside the leader's group get between SIGTERM and SIGKILL. They are tools with a
// session of their own and servers that the agent started: what the agent itself ended in its own way is gone by then.
const leftoverGrace = 2 * time.Second

// InterruptLadder is a person's interrupt: SIGINT to the group for 5 s, which agents answer by saving the session,
// SIGTERM to the group for 5 s, SIGTERM to what is outside of the group for 2 s, SIGKILL to all.
func InterruptLadder() Ladder {
	return Ladder{
		{syscall.SIGINT, ScopeGroup, 5 * time.Second},
		{syscall.SIGTERM, ScopeGroup, 5 * time.Second},
		{syscall.SIGTERM, ScopeTree, leftoverGrace},
		{syscall.SIGKILL, ScopeTree, 0},
	}
}

// StopLadder is a shutdown: SIGTERM to the group for the grace, SIGTERM to what is outside of the group for 2 s (or the
// grace, if that is shorter), SIGKILL to all.
func StopLadder(grace time.Duration) Ladder {
	return Ladder{
		{syscall.SIGTERM, ScopeGroup, grace},
		{syscall.SIGTERM, ScopeTree, min(grace, leftoverGrace)},
		{syscall.SIGKILL, ScopeTree, 0},
	}
}

// KillLadder ends what a crash has left, or a leader that may do nothing further: SIGKILL to the leader, if it lives,
// SIGTERM to the others for 2 s, SIGKILL to all. Alone in its tree, a leader is gone at once.
func KillLadder() Ladder {
	return Ladder{
		{syscall.SIGKILL, ScopeLeader, 0},
		{syscall.SIGTERM, ScopeTree, leftoverGrace},
		{syscall.SIGKILL, ScopeTree, 0},
	}
}

//go:build linux

package main

import (
	"encoding/json"
	"math/rand/v2"
)

// How the agent of one attempt ends.
const (
	endOK    = "ok"    // exits with 0
	endError = "error" // exits with 3, which is the agent's own handled error
	endDie   = "die"   // kills itself
	endCode  = "139"   // exits with 139, as a launcher does whose agent has crashed
	endHang  = "hang"  // works until somebody ends it
)

// What the agent does with its stdin, its witness, once it has read the prompt.
const (
	stdinKeep    = "keep"
	stdinClose   = "close"
	stdinReplace = "replace"
)

// Where a tool lives that the agent leaves behind.
const (
	toolGroup   = "group"   // in the agent's own group
	toolSession = "session" // in a session of its own
	toolDouble  = "double"  // in a session of its own, by a parent that is gone
)

// A toolPlan is one process that the agent starts and does not wait for.
type toolPlan struct {
	Where string `json:"where"`
	Life  int    `json:"life"`           // ms
	Stdin bool   `json:"stdin"`          // keeps the witness
	Bare  bool   `json:"bare,omitempty"` // wipes its environment; only with Stdin, or nobody could find it after the keeper's death
	Deaf  bool   `json:"deaf,omitempty"` // ignores SIGTERM
}

// An act is what the agent does in one attempt.
type act struct {
	Work  int        `json:"work"` // ms before the end
	End   string     `json:"end"`
	Stdin string     `json:"stdin"`
	Tools []toolPlan `json:"tools,omitempty"`
}

// A script is what the agents of one call do, attempt by attempt from First on; the last act repeats.
type script struct {
	Launcher string `json:"launcher"` // "", "sh", "session"
	First    int    `json:"first"`
	Acts     []act  `json:"acts"`
}

func (s script) act(attempt int) act {
	return s.Acts[max(0, min(attempt-s.First, len(s.Acts)-1))]
}

// argv is the command line of the agent, as it stands after -- of `turn run`.
func (s script) argv(program, log, lock string) []string {
	data, err := json.Marshal(s)
	if err != nil {
		return nil // strings and numbers: cannot fail
	}
	agent := []string{program, "agent", log, lock, string(data)}
	switch s.Launcher {
	case "sh":
		return append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, agent...)
	case "session":
		return append([]string{program, "launcher"}, agent[2:]...)
	}
	return agent
}

// drawScript draws how an agent is started and what it does when it is neither to die nor to hang; ends are the ends of
// the acts before the last, which is always one that concludes.
func drawScript(r *rand.Rand, first int, ends ...string) script {
	s := script{First: first}
	switch r.IntN(10) {
	case 0, 1:
		s.Launcher = "sh"
	case 2, 3:
		s.Launcher = "session"
	}
	last := endOK
	if r.IntN(5) == 0 {
		last = endError
	}
	for _, end := range append(ends, last) {
		a := act{Work: r.IntN(12), End: end, Stdin: stdinKeep}
		switch r.IntN(6) {
		case 0:
			a.Stdin = stdinClose
		case 1:
			a.Stdin = stdinReplace
		}
		for range max(0, r.IntN(5)-2) {
			t := toolPlan{Where: []string{toolGroup, toolSession, toolDouble}[r.IntN(3)], Life: 20 + r.IntN(300), Stdin: r.IntN(3) > 0}
			t.Bare = t.Stdin && r.IntN(3) > 0
			t.Deaf = r.IntN(60) == 0
			a.Tools = append(a.Tools, t)
		}
		s.Acts = append(s.Acts, a)
	}
	return s
}

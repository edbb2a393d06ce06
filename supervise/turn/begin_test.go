//go:build linux

package turn

import (
	"regexp"
	"testing"

	"hermes-supervisor/policy"
)

// streams is an agent that prints its events, as Gemini CLI does: init first, the result last.
var streams = Events{Begin: regexp.MustCompile(`^\{"type":"init"`), End: resultLine, Error: regexp.MustCompile(`^\{"type":"error"`)}

// Gemini CLI exits 0 when anyone sends it SIGTERM in the middle of its answer.
func TestAnAgentThatLeavesItsAnswerWithExitZeroIsContinued(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]string{
		"at once":                 {"print", "half an ans"},
		"after more than is kept": {"flood", "4194304"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			steps := append([]string{"read", "print", `{"type":"init"}`}, answer...)
			c := h.run("the prompt", append(steps, "once", "./cut", "exit", "0", "else", "print", `{"type":"result"}`)...)
			c.Request.Agent.Events = streams
			if o := h.start(c).want(Concluded, policy.ReasonEndEvent, 0); o.Attempts != 1 {
				t.Errorf("%d attempts were charged", o.Attempts)
			}
			h.ran(2)
			h.wantContinuation(h.texts("prompt")[1], "the prompt")
		})
	}
}

// In another format of its output, as a person may ask for, it prints none of its events.
func TestAnAgentThatPrintsNoEventsEndsByItsExitCode(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("the prompt", "print", "the answer")
	c.Request.Agent.Events = streams
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestAResumedRunThatBeganAndFailsHasEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"kill", "9"}, []string{"print", `{"type":"init"}`, "err", noSession, "print", `{"type":"error"}`, "exit", "1"})
	c.Request.Agent.Events = streams
	h.start(c).want(Concluded, policy.ReasonHandledError, 1)
	h.wantWays("start resume")
}

// Claude Code says so as an error of its own too.
func TestASessionThatIsNotKnownWhileNobodyWatchesIsStartedAfresh(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"once", "./dead", "kill", "9"}, []string{"print", `{"type":"error"}`, "err", noSession, "touch", "./told", "await", "./go", "exit", "1"})
	c.Request.Agent.Events = streams
	k := h.start(c)
	h.until("it is not known", func() bool { return h.exists("told") })
	h.launched()
	k.kill()
	h.touch("go")
	h.awaitGone(h.started(2))
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantWays("start resume resume start")
	h.wantNotes()
	h.noMarker()
}

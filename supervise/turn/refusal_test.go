//go:build linux

package turn

import (
	"regexp"
	"syscall"
	"testing"

	"hermes-supervisor/policy"
)

// refusalLine is how the agents of these tests say that somebody else owns the session.
var refusalLine = regexp.MustCompile(`^refused: SESSION_NOT_OWNED`)

// An agent that is asked about refusals quotes one, and is killed then.
func TestACrashWithTheWordsOfARefusalInTheAnswerKeepsThePrompt(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"print", "err"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("the prompt", "read", "once", "./quoted", stream, "refused: SESSION_NOT_OWNED", "kill", "9")
			c.Request.Agent.Events.Busy = refusalLine
			if o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
				t.Errorf("%d attempts were charged", o.Attempts)
			}
			h.ran(2)
			h.wantContinuation(h.texts("prompt")[1], "the prompt")
		})
	}
}

func TestAnInterruptThatIsAnsweredWithARefusalIsAnInterrupt(t *testing.T) {
	t.Parallel()
	for name, first := range map[string][]string{"of a first run": nil, "of a continuation": {"once", "./dead", "kill", "9", "else"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("the prompt", append(first, "err", "refused: SESSION_NOT_OWNED", "polite", "75", "touch", "./up", "await", "never")...)
			c.Request.Agent.Events.Busy = refusalLine
			k := h.start(c)
			h.until("it is at work", func() bool { return h.exists("up") })
			h.launched()
			k.signal(syscall.SIGINT)
			k.want(Interrupted, policy.ReasonStopRequested, 130)
			h.noMarker()
		})
	}
}

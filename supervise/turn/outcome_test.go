//go:build linux

package turn

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

var resultLine = regexp.MustCompile(`^\{"type":"result"`)

func TestHeldOutputIsThatOfTheRunThatConcluded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "once", "./first", "print", "half an ans", "err", "warning 1", "kill", "9", "else", "print", "the answer", "err", "warning 2", "exit", "3")
	c.Request.HoldOutput = true
	k := h.start(c)
	k.want(Concluded, policy.ReasonHandledError, 3)
	if got := k.stdout.String(); got != "the answer\n" {
		t.Errorf("stdout %q", got)
	}
	if got := k.said(); strings.Contains(got, "warning 1") || !strings.Contains(got, "warning 2\n") {
		t.Errorf("stderr %q", got)
	}
}

func TestHeldOutputOfATurnThatIsGivenUpIsNotPrinted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "print", "half an ans", "kill", "9")
	c.Request.HoldOutput = true
	c.Settings.MaxAttempts = 1
	k := h.start(c)
	k.want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	if got := k.stdout.String(); got != "" {
		t.Errorf("stdout %q", got)
	}
}

func TestFollowedOutputIsWholeAndDoesNotFillTheDiskTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const size = 8 << 20
	c := h.run("prompt", "flood", "8388608", "touch", "./written", "await", "./go", "print", "last")
	k := h.start(c)
	h.until("the agent has written", func() bool { return h.exists("written") })
	path := h.room.Store.Path(fsstate.Run, h.mustTurn().Owner.Instance+".out")
	h.until("what was followed is freed", func() bool {
		var st syscall.Stat_t
		return syscall.Stat(path, &st) == nil && st.Size >= size && st.Blocks*512 < size/2
	})
	h.touch("go")
	k.want(Concluded, policy.ReasonSucceeded, 0)
	if got := k.stdout.Len(); got != size+len("last\n") {
		t.Errorf("%d bytes came through, want %d", got, size+len("last\n"))
	}
}

func TestRequestThatConcludedReturnsItsOutcome(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "print", "the answer", "exit", "3")
	c.Request.ID = "nightly 2026-07-25"
	first := h.start(c)
	want := first.want(Concluded, policy.ReasonHandledError, 3)
	h.noMarker()
	again := h.start(c)
	got := again.want(Concluded, policy.ReasonHandledError, 3)
	if !got.Replayed || want.Replayed || got.Instance != want.Instance || !got.StartedAt.Equal(want.StartedAt) || !got.EndedAt.Equal(want.EndedAt) {
		t.Errorf("outcome %+v, first %+v", got, want)
	}
	if again.stdout.String() != "the answer\n" || first.stdout.String() != "the answer\n" {
		t.Errorf("printed %q, first %q", again.stdout.String(), first.stdout.String())
	}
	other := c
	other.Request.Prompt = "another prompt"
	if r := h.start(other).wait(); !r.Usage {
		t.Errorf("the same id with another prompt: %+v", r)
	}
	h.ran(1)
	elsewhere := other
	elsewhere.Request.Session = "another session"
	h.start(elsewhere).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(2)
}

func TestInterruptedRequestStaysInterrupted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "await", "never")
	c.Request.ID = "job"
	h.interrupted("prompt", func(m *fsstate.Turn) { m.RequestID, m.Phase, m.StopAskedAt = "job", fsstate.PhaseStopping, time.Now() })
	for range 2 {
		h.start(c).want(Interrupted, policy.ReasonInterrupted, 130)
		h.noMarker()
	}
	h.ran(0)
}

func TestKeeperKilledBetweenTheOutcomeAndTheRemoval(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "print", "the answer")
	c.Request.ID = "job"
	c.Request.Receipt = "cp " + h.markerPath() + " " + h.file("marker")
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	// The outcome is on disk, its marker too.
	if err := h.room.Store.Write(fsstate.Turns, fsstate.Name(theSession)+".json", []byte(h.read("marker"))); err != nil {
		t.Fatal(err)
	}
	m := h.mustTurn()
	m.Keeper = h.dead()
	if err := h.room.files().Put(m); err != nil {
		t.Fatal(err)
	}
	c.Request.Receipt = "false" // was acknowledged: not due again
	k := h.start(c)
	k.want(Concluded, policy.ReasonSucceeded, 0)
	if got := k.stdout.String(); got != "the answer\n" {
		t.Errorf("printed %q", got)
	}
	h.noMarker()
	h.ran(1)
}

func TestAgentThatIsBusyIsNotCharged(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	busy := regexp.MustCompile(`SESSION_NOT_OWNED`)
	c := h.run("prompt", "err", "error: SESSION_NOT_OWNED", "exit", "1")
	c.Request.Agent.Events.Busy = busy
	h.start(c).want(Refused, policy.ReasonBusy, 0)
	h.noMarker()
	h.interrupted("prompt")
	h.start(c).want(LeftOpen, policy.ReasonBusy, 0)
	if m := h.mustTurn(); m.Attempts != 0 {
		t.Errorf("attempts %d", m.Attempts)
	}
}

func TestRateLimitWaitsAndIsNoAttempt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "err", "429 rate limit", "exit", "1")
	c.Request.Agent.Events.RateLimit = regexp.MustCompile(`rate limit`)
	k := h.start(c)
	h.until("it waits", func() bool { m := h.turn(); return m != nil && m.Deferrals == 1 })
	m := h.mustTurn()
	if wait := time.Until(m.RetryAt); wait < 30*time.Second || m.Attempts != 0 {
		t.Errorf("waits %s, attempts %d", wait, m.Attempts)
	}
	k.signal(syscall.SIGTERM)
	k.want(LeftOpen, policy.ReasonDrained, 143)
	h.ran(1)
}

// What will not be tried again is not waited for.
func TestRateLimitOfATurnThatMayNotGoOnIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(h *home, c *call)
		state  State
		reason policy.Reason
	}{
		"no attempts":      {func(_ *home, c *call) { c.Settings.MaxAttempts = 0 }, GaveUp, policy.ReasonAttemptsExhausted},
		"switched off":     {func(_ *home, c *call) { c.Settings.Enabled = false }, LeftOpen, policy.ReasonDisabled},
		"off for the turn": {func(_ *home, c *call) { c.Request.AutoContinue = false }, LeftOpen, policy.ReasonDisabledByMarker},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "err", "429 rate limit", "exit", "1")
			c.Request.Agent.Events.RateLimit = regexp.MustCompile(`rate limit`)
			tc.change(h, &c)
			k := h.start(c)
			if o := k.outcome(); o.State != tc.state || o.Reason != tc.reason {
				t.Errorf("outcome %s, %s", o.State, o.Reason)
			}
			if strings.Contains(k.said(), "waiting") {
				t.Error(k.said())
			}
			h.ran(1)
		})
	}
}

func TestUntilNextTry(t *testing.T) {
	t.Parallel()
	now := time.Now()
	settings := policy.Settings{Backoff: time.Second, MaxBackoff: 5 * time.Minute}
	for name, tc := range map[string]struct {
		retry time.Time
		want  time.Duration
	}{
		"no wait":                          {time.Time{}, 0},
		"over":                             {now.Add(-time.Hour), 0},
		"now":                              {now, 0},
		"in a minute":                      {now.Add(time.Minute), time.Minute},
		"the longest":                      {now.Add(32 * time.Minute), 32 * time.Minute},
		"written when the clock was wrong": {now.AddDate(100, 0, 0), 32 * time.Minute},
		"of another age":                   {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 32 * time.Minute},
	} {
		if got := untilNext(&fsstate.Turn{RetryAt: tc.retry}, settings, now); got != tc.want {
			t.Errorf("%s: %s, not %s", name, got, tc.want)
		}
	}
	settings.MaxBackoff = 3 * time.Hour
	if got := untilNext(&fsstate.Turn{RetryAt: now.Add(2 * time.Hour)}, settings, now); got != 2*time.Hour {
		t.Errorf("of a long back-off: %s", got)
	}
}

func TestAgentKilledAfterItsOwnWordOnTheEndHasConcluded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "print", `{"type":"result"}`, "kill", "9")
	c.Request.Agent.Events.End = resultLine
	h.start(c).want(Concluded, policy.ReasonEndEvent, 0)
	h.noMarker()
	h.ran(1)
}

func TestFailedStartOfAHermesTurnLeavesItToBeContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	dead := h.dead()
	h.hermesMarker("prompt", dead.PID, float64(time.Now().Add(-time.Hour).Unix()), 0)
	c := h.run("", "read")
	c.Request.Agent.Resume = []string{h.file("no such program")}
	if r := h.start(c).wait(); r.Err == "" || r.Usage {
		t.Errorf("result %+v", r)
	}
	c.Request.Agent.Resume = nil
	if o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.wantContinuation(h.texts("prompt")[0], "prompt")
	h.ran(1)
}

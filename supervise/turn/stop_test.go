//go:build linux

package turn

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

func TestDrainedAgentThatFinishesInTimeConcludes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "await", "./go", "print", "done")
	c.Request.Drain = patience
	k := h.start(c)
	h.started(1)
	h.launched()
	k.signal(syscall.SIGTERM)
	h.touch("go")
	k.want(Concluded, policy.ReasonSucceeded, 0)
	h.noMarker()
	h.ran(1)
}

func TestDrainedAgentIsStoppedAndTheMarkerStays(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"after its time": 50 * time.Millisecond, "at once at the second signal": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "polite", "0", "read", "once", "./first", "await", "never")
			c.Request.Drain = drain
			k := h.start(c)
			h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
			h.launched()
			k.signal(syscall.SIGTERM)
			if drain == time.Hour { // two signals at once are one: until the second has come
				h.until("the keeper has ended", func() bool { k.signal(syscall.SIGTERM); return k.hasEnded() })
			}
			k.want(LeftOpen, policy.ReasonDrained, 143)
			if m := h.mustTurn(); !m.Drained || m.Attempts != 0 || m.Phase != fsstate.PhaseRunning {
				t.Errorf("marker %+v", m)
			}
			if got := h.texts("end"); len(got) != 1 || got[0] != "0" {
				t.Errorf("ends %v: the agent had no chance to save", got)
			}
			// Another boot, hours later: a drained turn's age starts again with it.
			m := h.mustTurn()
			m.Owner.BootID, m.Keeper.BootID = "the boot before", "the boot before"
			m.StartedAt = time.Now().Add(-100 * time.Hour)
			if err := h.room.files().Put(m); err != nil {
				t.Fatal(err)
			}
			h.age(99 * time.Hour)
			c.Settings.Freshness = 100 * 365 * 24 * time.Hour // the machine of the tests may be up for long
			h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
			h.wantContinuation(h.texts("prompt")[1], "prompt")
			h.ran(2)
		})
	}
}

func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "ignore", "2", "ignore", "15", "touch", "./here", "await", "never"))
	h.until("the agent ignores signals", func() bool { return h.exists("here") })
	h.launched()
	begun := time.Now()
	k.signal(syscall.SIGINT)
	h.awaitPhase(fsstate.PhaseStopping)
	k.signal(syscall.SIGINT)
	k.want(Interrupted, policy.ReasonStopRequested, 130)
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %s: the first interrupt's patience was waited for", took)
	}
	h.noMarker()
	h.ran(1)
}

func TestInterruptedTurnRunsItsReceipt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "leisurely", "0", "touch", "./here", "await", "never")
	c.Request.Receipt = "sleep 0.3; cat >" + h.file("receipt")
	k := h.start(c)
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	k.signal(syscall.SIGINT)
	k.want(Interrupted, policy.ReasonStopRequested, 130)
	if h.read("receipt") == "" {
		t.Error("no receipt")
	}
	h.noMarker()
}

// stallOnABusyMachine is more than what the start of an agent takes that is to be no stalled one.
const stallOnABusyMachine = 3 * time.Second

func TestStalledAgentIsEndedAsACrash(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "print", "at work", "once", "./first", "await", "never", "else", "print", "done")
	c.Request.Stall = stallOnABusyMachine
	k := h.start(c)
	k.want(Concluded, policy.ReasonSucceeded, 0)
	if got := k.stdout.String(); got != "at work\nat work\ndone\n" {
		t.Errorf("printed %q", got)
	}
	h.noMarker()
	h.ran(2)
}

// The ladder that ended a run takes every descendant of the keeper for its own: it must be over before the next one.
func TestLadderOfAStalledRunSparesItsContinuation(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "once", "./first", "leisurely", "5", "print", "begun", "await", "never", "else", "await", "./go")
	c.Request.Stall = stallOnABusyMachine
	k := h.start(c)
	h.started(2)
	time.AfterFunc(100*time.Millisecond, func() { h.touch("go") }) // twice as long as a ladder sleeps between two looks
	k.want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(2)
}

func TestInterruptWhileACrashIsBeingClearedUp(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "setsid", "[", "ignore", "15", "touch", "./ready", "await", "never", "]", "await", "./ready", "touch", "./here", "await", "never"))
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	h.killPID(h.started(1)) // its tool takes two seconds to go
	if in, err := h.room.Interrupt(t.Context(), theSession, patience); err != nil || !in.Ended {
		t.Fatalf("interrupt: %+v, %v", in, err)
	}
	// Whether the order is read before or after the agent's end does not change what it comes to.
	if o := k.outcome(); o.State != Interrupted || o.Code != 130 {
		t.Errorf("outcome %+v", o)
	}
	h.noMarker()
	h.ran(1)
}

func TestPauseHoldsEverythingBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if _, err := h.room.Pause(0); err != nil {
		t.Fatal(err)
	}
	c := h.run("prompt", "read", "once", "./first", "kill", "9")
	h.start(c).want(LeftOpen, policy.ReasonPaused, 0) // a new prompt runs, and is not continued
	h.start(c).want(Refused, policy.ReasonPaused, 0)  // by a person neither
	if v, err := h.room.Show(theSession); err != nil || v.Decision.Reason != policy.ReasonPaused {
		t.Errorf("decision %v, %v", v.Decision, err)
	}
	h.ran(1)
	if err := h.room.Unpause(); err != nil {
		t.Fatal(err)
	}
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(2)
}

func TestPauseThatCannotBeReadHoldsBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := h.room.Store.Write(fsstate.Requests, pauseFile, []byte("{")); err != nil {
		t.Fatal(err)
	}
	h.interrupted("prompt")
	h.start(h.run("", "read")).want(Refused, policy.ReasonPaused, 0)
	h.ran(0)
}

func TestBackOffIsWaitedOutAndEndedByAnInterrupt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "kill", "9")
	c.Settings.Backoff = time.Hour
	k := h.start(c)
	h.until("the second continuation waits", func() bool { m := h.turn(); return m != nil && !m.RetryAt.IsZero() })
	if m := h.mustTurn(); m.Attempts != 1 || m.Phase != fsstate.PhaseRunning || m.Crash == nil {
		t.Errorf("marker %+v", m)
	}
	h.start(c).want(Refused, policy.ReasonKeeperAlive, 0)
	in, err := h.room.Interrupt(t.Context(), theSession, patience)
	if err != nil || !in.Ended {
		t.Fatalf("interrupt: %+v, %v", in, err)
	}
	k.want(Interrupted, policy.ReasonInterrupted, 130)
	h.noMarker()
	h.ran(2)
}

func TestBackOffOutlivesItsKeeper(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt", func(m *fsstate.Turn) {
		m.Attempts, m.RetryAt = 1, time.Now().Add(500*time.Millisecond).UTC()
		m.Crash = &fsstate.End{Code: 137, Signal: 9, Reason: string(policy.ReasonKilled), At: time.Now()}
	})
	due := h.mustTurn().RetryAt
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	if time.Now().Before(due) {
		t.Error("the back-off was not waited out")
	}
	h.wantContinuation(h.texts("prompt")[0], "prompt")
}

func TestInterruptEndsTheOrphanOfADeadKeeper(t *testing.T) {
	t.Parallel()
	for name, verified := range map[string]bool{"its record verifies": true, "its record is forged": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			k := h.start(h.run("prompt", "touch", "./here", "await", "never"))
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			agent := h.started(1)
			k.kill()
			if !verified {
				h.forge()
			}
			in, err := h.room.Interrupt(t.Context(), theSession, patience)
			if _, refused := errors.AsType[*PermissionError](err); refused == verified {
				t.Fatalf("interrupt: %+v, %v", in, err)
			}
			if gone(agent) != verified {
				t.Errorf("agent gone: %v", gone(agent))
			}
			if verified {
				h.noMarker()
				return
			}
			m := h.mustTurn()
			if m.Verified || m.Phase != fsstate.PhaseStopping {
				t.Errorf("phase %s, verified %v", m.Phase, m.Verified)
			}
			if _, err := h.room.Clear(t.Context(), theSession, true); err == nil || gone(agent) {
				t.Errorf("clear --force of a forged record: %v", err)
			}
			h.killPID(agent)
			h.start(h.run("")).want(Interrupted, policy.ReasonInterrupted, 130)
			h.noMarker()
			h.ran(1)
		})
	}
}

func TestClearRefusesALiveTurnAndEndsItByForce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "polite", "0", "touch", "./here", "await", "never"))
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	before := h.state()
	if _, err := h.room.Clear(t.Context(), theSession, false); !isBusy(err) {
		t.Fatalf("clear: %v", err)
	}
	h.unchanged(before)
	if _, err := h.room.Clear(t.Context(), theSession, true); err != nil {
		t.Fatal(err)
	}
	if !gone(h.started(1)) {
		t.Error("a cleared session is still worked on")
	}
	k.awaitEnd()
	h.noMarker()
	h.ran(1)
}

func TestClearByForceEndsTheOrphanOfADeadKeeper(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "touch", "./here", "await", "never"))
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	k.kill()
	cleared, err := h.room.Clear(t.Context(), theSession, true)
	if err != nil || cleared.File == "" {
		t.Fatalf("clear: %+v, %v", cleared, err)
	}
	if !gone(h.started(1)) {
		t.Error("a cleared session is still worked on")
	}
	h.noMarker()
	h.wantEnded("prompt", policy.ReasonCleared)
}

func TestClearOfADeadTurnKeepsThePrompt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	m := h.interrupted("prompt")
	cleared, err := h.room.Clear(t.Context(), theSession, false)
	if err != nil || cleared.File == "" || filepath.Base(cleared.File) != cleared.File {
		t.Fatalf("clear: %+v, %v", cleared, err)
	}
	h.wantEnded("prompt", policy.ReasonCleared)
	if _, err := h.room.Clear(t.Context(), theSession, false); !errors.Is(err, ErrNoTurn) {
		t.Errorf("clear again: %v", err)
	}
	if sessions, _ := h.room.Resumable(); len(sessions) > 0 {
		t.Errorf("resumed by --all: %v", sessions)
	}
	if back, err := h.room.Resumed(theSession); err != nil || back.Prompt != "prompt" || !back.StartedAt.Equal(m.StartedAt) {
		t.Errorf("restore: %+v, %v", back, err)
	}
}

func TestTurnOfEndedCanBeResumedAfterAReboot(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "kill", "9")
	c.Settings.MaxAttempts = 0
	h.start(c).want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	for _, m := range h.ended() { // the same record, as another boot sees it
		m.Owner.BootID, m.Keeper.BootID = "the boot before", "the boot before"
		reason := m.Ended.Reason
		if _, err := h.room.files().Archive(m, reason, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	h.room.Sweep(t.Context(), time.Now().Add(2*time.Hour))
	h.start(h.resume("read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[1], "prompt")
	h.ran(2)
}

func TestResumeThatCannotStartLeavesTheTurnInEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "kill", "9")
	c.Settings.MaxAttempts = 0
	h.start(c).want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	broken := h.resume("read")
	broken.Request.Agent.Resume = []string{h.dir + "/no such program"}
	if r := h.start(broken).wait(); r.Err == "" {
		t.Error("a program that does not exist was started")
	}
	h.noMarker()
	h.wantEnded("prompt", policy.ReasonAttemptsExhausted)
	h.start(h.resume("read")).want(Concluded, policy.ReasonSucceeded, 0)
	if left := h.ended(); len(left) != 0 {
		t.Errorf("%d records left in ended/", len(left))
	}
	h.ran(2)
}

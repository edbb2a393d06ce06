package handoff

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// otherSession is the one that handoffs to platform "agent" are delivered to.
const otherSession = "agent:main:desk"

// agent configures a platform that is a session with a scripted agent.
func (h *home) agent(steps ...string) {
	h.place.Platforms["agent"] = Platform{Session: otherSession, Agent: "scripted", Timeout: time.Minute}
	h.place.Agents["scripted"] = h.handler(steps...)
	q, err := h.place.open()
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = q.Files.Store.Close() })
	h.queue = q
}

// turn is the open turn of the platform's session, nil when there is none.
func (h *home) turn() *fsstate.Turn {
	t, err := fsstate.TurnFiles{Store: h.queue.Files.Store, Key: testKey}.Get(otherSession)
	if err != nil {
		return nil
	}
	return t
}

// atWork waits until the agent's pid is in its turn's record.
func (h *home) atWork(said string) int {
	h.Helper()
	pid := h.said(said)
	h.until("the turn is running", func() bool { t := h.turn(); return t != nil && t.Phase == fsstate.PhaseRunning })
	return pid
}

// pendingAgain is what a look of a dispatcher's makes of a delivery whose keeper is dead: it is due at once.
func (h *home) pendingAgain(id string) {
	h.Helper()
	d := &Desk{Queue: h.queue}
	defer d.Close()
	d.Look(h.Context(), time.Now(), 3)
	h.wantState(id, queue.Pending)
	if p := d.Look(h.Context(), time.Now(), 3); len(p.Start) != 1 || p.Start[0].ID != id {
		h.Errorf("a dispatcher starts %+v", p.Start)
	}
}

func TestHandoffToASessionIsATurnUnderItsID(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("read", "say", "here", "await", "./go")
	id := h.request("agent")
	k := h.keep(id)
	h.atWork("here")
	if m := h.turn(); m.RequestID != id || m.Source != "handoff" {
		t.Errorf("turn %+v", m)
	}
	h.touch("go")
	k.want(queue.Completed)
	h.wantState(id, queue.Completed)
	h.ran(1)
	if read := h.logged("read")[0].Text; read != queue.Prompt(theSession, "a note", `{"a":1}`) {
		t.Errorf("the agent was asked %q", read)
	}
	if h.turn() != nil {
		t.Error("the turn is still open")
	}
	if left := slices.DeleteFunc(h.runFiles(), func(f string) bool { return !strings.HasSuffix(f, ".in") }); len(left) > 0 {
		t.Errorf("run/ still holds %v", left)
	}
}

func TestAgentOfADeadKeeperWorksOnAndTheNextKeeperWaitsForIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "./go")
	id := h.request("agent")
	k := h.keep(id)
	agent := h.atWork("here")
	k.kill()
	h.pendingAgain(id)
	second := h.keep(id)
	h.until("the second one waits", func() bool { return strings.Contains(second.said(), "waiting for the agent") })
	h.wantState(id, queue.Running)
	if gone(agent) {
		t.Error("the agent was ended")
	}
	h.touch("go")
	second.want(queue.Completed)
	h.wantState(id, queue.Completed)
	h.ran(1)
}

func TestTurnThatConcludedBeforeItsHandoffWasCompletedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "./go")
	id := h.request("agent")
	k := h.keep(id)
	h.atWork("here")
	// Its keeper cannot complete the handoff: its lock is taken, and then it is killed.
	unlock, err := h.queue.Files.Store.Lock(t.Context(), fsstate.HandoffLock(id), "test")
	if err != nil {
		t.Fatal(err)
	}
	h.touch("go")
	h.until("the turn has concluded", func() bool { return h.turn() == nil })
	k.kill()
	unlock()
	h.wantState(id, queue.Running)
	h.pendingAgain(id)
	h.keep(id).want(queue.Completed)
	h.ran(1)
}

func TestFailedTurnFailsTheHandoffAndARetryRunsItAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("once", "./first", "3")
	id := h.request("agent")
	h.keep(id).want(queue.Failed)
	hd := h.wantFailed(id, queue.ReasonHandlerFailed, "exit code 3")
	if hd.End.Code == nil || *hd.End.Code != 3 {
		t.Errorf("code %v", hd.End.Code)
	}
	if _, err := h.queue.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	h.keep(id).want(queue.Completed)
	h.ran(2)
}

func TestTurnIsInterruptedWhenItsHandoffIsCancelledOrTakesTooLong(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"cancel", "timeout", "cancel, after the first keeper's death"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.agent("say", "here", "await", "never")
			reason := queue.ReasonDeliveryCancelled
			if what == "timeout" {
				p := h.place.Platforms["agent"]
				p.Timeout = 2 * time.Second
				h.place.Platforms["agent"] = p
				reason = queue.ReasonTimedOut
			}
			id := h.request("agent")
			k := h.keep(id)
			agent := h.atWork("here")
			if strings.Contains(what, "death") {
				k.kill()
				h.pendingAgain(id)
				k = h.keep(id)
				h.until("the second one waits", func() bool { return strings.Contains(k.said(), "waiting for the agent") })
			}
			if what != "timeout" {
				if _, err := h.queue.Cancel(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			h.until("it has failed", func() bool { return h.get(id).State == string(queue.Failed) })
			if !gone(agent) {
				t.Error("it has failed, and its agent lives")
			}
			k.want(queue.Failed)
			h.wantFailed(id, reason, mayBe)
			if h.turn() != nil {
				t.Error("the turn is still open")
			}
			h.ran(1)
		})
	}
}

func TestDrainedTurnIsCompletedByTheNextKeeper(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "./go")
	id := h.request("agent")
	c := h.call(id)
	c.Drain = 0
	k := h.start(c)
	h.atWork("here")
	k.signal(syscall.SIGTERM)
	k.want(queue.Running)
	h.wantState(id, queue.Running)
	h.touch("go")
	h.pendingAgain(id)
	h.keep(id).want(queue.Completed)
	h.ran(2) // the agent was stopped by the shutdown, and goes on as a continuation
}

func TestDrainThatAnAgentOutlastsLeavesNothingToRunTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "./go")
	id := h.request("agent")
	k := h.keep(id)
	h.atWork("here")
	k.signal(syscall.SIGTERM)
	h.until("the keeper drains", func() bool { return strings.Contains(k.said(), "shutting down") })
	h.touch("go")
	k.want(queue.Completed)
	h.ran(1)
}

// TestCancelOfATurnWhoseKeeperIsDeadEndsTheTurnFirst cancels a handoff whose agent works on alone: the session is not free,
// and nothing is continued.
func TestCancelOfATurnWhoseKeeperIsDeadEndsTheTurnFirst(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken back %t", taken), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.agent("say", "here", "await", "never")
			id := h.request("agent")
			k := h.keep(id)
			agent := h.atWork("here")
			k.kill()
			state := queue.Running
			if taken {
				h.pendingAgain(id)
				state = queue.Pending
			}
			hd, err := h.queue.Cancel(t.Context(), id)
			if err != nil || hd.State != string(state) || hd.CancelAsked.IsZero() {
				t.Fatalf("%+v, %v", hd, err)
			}
			if !taken {
				h.pendingAgain(id)
			}
			if gone(agent) {
				t.Fatal("the agent was ended by nobody who could know")
			}
			h.keep(id).want(queue.Failed)
			h.wantFailed(id, queue.ReasonDeliveryCancelled, mayBe)
			if !gone(agent) || h.turn() != nil {
				t.Errorf("it has failed; its agent is gone: %t, its turn: %+v", gone(agent), h.turn())
			}
			h.ran(1)
		})
	}
}

func TestCancelAfterTheTurnHasEndedFailsTheHandoffAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "never")
	id := h.request("agent")
	k := h.keep(id)
	agent := h.atWork("here")
	k.kill()
	h.killPID(agent)
	h.awaitGone(agent)
	if _, err := h.queue.Room.Interrupt(t.Context(), h.get(id).Claim.Turn, patience); err != nil {
		t.Fatal(err)
	}
	if hd, err := h.queue.Cancel(t.Context(), id); err != nil || hd.State != string(queue.Failed) || hd.End.Reason != string(queue.ReasonDeliveryCancelled) {
		t.Errorf("%+v, %v", hd, err)
	}
	h.ran(1)
}

// TestDeliveryIsJudgedByHowItBeganAndNotByWhatItsPlatformIsNow changes the platform while a delivery has lost its keeper.
func TestDeliveryIsJudgedByHowItBeganAndNotByWhatItsPlatformIsNow(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("say", "handler", "await", "never")
	pid := h.said("handler")
	k.kill()
	h.killPID(pid)
	h.awaitGone(pid)
	h.agent("say", "agent", "exit", "0")
	h.place.Platforms["chat"] = h.place.Platforms["agent"]
	h.until("it is taken back", func() bool { _, err := h.queue.Reclaim(t.Context(), id); return err == nil })
	h.wantFailed(id, queue.ReasonClaimerDied, mayBe)
	h.ran(1)
}

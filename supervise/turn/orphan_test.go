//go:build linux

package turn

import (
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

// An agent that has lost its keeper holds its session for as long as it lives: one that hangs, for ever.
func TestAnAgentThatStallsWithoutItsKeeperIsEnded(t *testing.T) {
	t.Parallel()
	h, k := orphaned(t)
	v, o, now := h.view(), Orphan{}, time.Now()
	look := func(after time.Duration) bool {
		t.Helper()
		stalled, again := h.room.Silent(&o, v, now.Add(after))
		if stalled != (again == 0) {
			t.Errorf("after %s: %v, and again after %s", after, stalled, again)
		}
		return stalled
	}
	for _, after := range []time.Duration{0, 4 * time.Second, 8 * time.Second} {
		if look(after) {
			t.Errorf("it has stalled after %s", after)
		}
	}
	h.output(v.Turn.Owner.Instance, "a sign of life")
	if look(9*time.Second) || look(10*time.Second) || look(18*time.Second) || !look(19*time.Second) {
		t.Error("the limit does not begin with the sign of life")
	}
	if err := h.room.EndStalled(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	h.awaitGone(h.started(1))
	if h.mustTurn().StalledAt.IsZero() {
		t.Error("the record does not say why")
	}
	k.Request.Agent.Command = h.agent("read")
	h.start(k).want(Concluded, "succeeded", 0)
	h.ran(2)
}

// Agents can write the record: by itself it authorizes no signal. Nor is an agent ended that is none of the one that stalled.
func TestNoAgentIsEndedAsStalledByARecordThatDoesNotHold(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *home){
		"forged":        func(h *home) { h.forge() },
		"without limit": func(h *home) { m := h.mustTurn(); m.Stall = ""; h.put(m, testKey) },
		"another run": func(h *home) {
			m := h.mustTurn()
			m.Owner.Instance = "0123456789abcdef0123456789abcdef"
			h.put(m, testKey)
		},
		"stopping": func(h *home) { m := h.mustTurn(); m.Phase = fsstate.PhaseStopping; h.put(m, testKey) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := orphaned(t)
			v := h.view()
			change(h)
			before := h.state()
			if err := h.room.EndStalled(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if gone(h.started(1)) {
				t.Error("it was ended")
			}
			h.unchanged(before)
		})
	}
}

// orphaned is an agent that hangs, with a limit of ten seconds, and whose keeper was killed; and the call that started it.
func orphaned(t *testing.T) (*home, call) {
	t.Helper()
	h := newHome(t)
	c := h.run("prompt", "read", "await", "never")
	c.Request.Stall = 10 * time.Second
	k := h.start(c)
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	h.launched()
	k.kill()
	h.room.Agents = func(string) (Agent, bool) { return c.Request.Agent, true }
	return h, c
}

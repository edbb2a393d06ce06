package handoff

import (
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// A keeper that was stopped for so long that its handoff was taken back, and claimed by another one, writes nothing into
// the record of that one.
func TestKeeperWritesNothingIntoTheClaimOfAnotherOne(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := h.request("own")
	first, second := h.dead(), h.dead()
	annotate := func(claim string) error {
		return h.queue.annotate(t.Context(), id, claim, func(c *fsstate.Claim) { c.Handler = first })
	}
	refused := func() {
		t.Helper()
		before := h.state()
		h.refused(annotate(first.Instance), queue.ReasonOtherClaim)
		for name, text := range h.state() {
			if text != before[name] {
				t.Errorf("%s was changed from\n%s\nto\n%s", name, before[name], text)
			}
		}
	}
	refused() // nobody has claimed it
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: first, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := annotate(first.Instance); err != nil || h.get(id).Claim.Handler.PID != first.PID {
		t.Fatalf("of its own claim: %v", err)
	}
	if err := h.reclaim(id); err != nil {
		t.Fatal(err)
	}
	refused() // it has failed
	if _, err := h.queue.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	refused() // it waits
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: second, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	refused()
	if c := h.get(id).Claim; c.Claimer.Instance != second.Instance || c.Handler.PID != 0 {
		t.Errorf("the claim is %+v", c)
	}
}

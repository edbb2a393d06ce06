package handoff

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// waiting leaves n handoffs that wait for a program's own platform, the oldest first.
func (h *home) waiting(n int) (ids []string) {
	h.Helper()
	now := time.Now().UTC()
	for i := range n {
		session, at := fmt.Sprintf("session %d", i), now.Add(time.Duration(i-n)*time.Second)
		ids = append(ids, fsstate.NewHandoffID(session, "own", "", at))
		if err := h.queue.Files.Put(&fsstate.Handoff{
			ID: ids[i], Session: session, Platform: "own", State: string(queue.Pending), RequestedAt: at, Verified: true,
		}); err != nil {
			h.Fatal(err)
		}
	}
	return ids
}

// take claims the oldest, as a command does: with a memory of its own.
func (h *home) take(claimer ident.Ident, want string) {
	h.Helper()
	hd, err := h.queue.ClaimOldest(h.Context(), "own", fsstate.Claim{Claimer: claimer, External: true})
	switch {
	case want == "" && errors.Is(err, ErrNone):
	case err != nil:
		h.Fatal(err)
	case hd.ID != want:
		h.Fatalf("%s was claimed, and the oldest is %q", hd.ID, want)
	}
}

// The oldest of many are remembered from one claim to the next: no claim may go by that alone.
func TestOldestOfALongQueueIsClaimedWhateverWasRemembered(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ids := h.waiting(2*batch + 3)
	claimer := h.dead()
	h.take(claimer, ids[0])
	if h.queue.Files.Next("own", time.Now()) == nil {
		t.Fatal("nothing is remembered of a long queue")
	}
	if _, err := h.queue.Fail(t.Context(), ids[0], claimer.Instance, "why"); err != nil {
		t.Fatal(err)
	}
	h.queue.Files.ForgetNext("own")
	h.take(h.dead(), ids[1]) // and what is remembered now is without the one that failed
	if _, err := h.queue.Retry(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	h.take(h.dead(), ids[0]) // it waits again, before all others
	h.take(h.dead(), ids[2])
	for _, id := range ids[3:] { // through more than one look at the folder
		h.take(h.dead(), id)
	}
	h.take(h.dead(), "")
}

func TestRequestThatIsOlderThanWhatIsRememberedIsClaimed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ids := h.waiting(batch)
	for _, id := range ids {
		h.take(h.dead(), id)
	}
	h.queue.Files.RememberNext("own", ids) // a moment ago, while the clock was ahead
	at := time.Now().Add(-time.Hour)
	late := fsstate.NewHandoffID("late", "own", "", at)
	if err := h.queue.Files.Put(&fsstate.Handoff{
		ID: late, Session: "late", Platform: "own", State: string(queue.Pending), RequestedAt: at, Verified: true,
	}); err != nil {
		t.Fatal(err)
	}
	h.take(h.dead(), late)
}

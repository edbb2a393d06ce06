package handoff

import (
	"context"
	"os"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// endedAgo is a handoff that failed so long ago.
func (h *home) endedAgo(session string, ago time.Duration) string {
	h.Helper()
	hd, _, err := h.queue.Request(h.Context(), Request{Session: session, Platform: "own"})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.queue.Cancel(h.Context(), hd.ID); err != nil {
		h.Fatal(err)
	}
	at := time.Now().Add(-ago)
	if err := os.Chtimes(h.queue.Files.Store.Path(fsstate.Handed, hd.ID+".json"), at, at); err != nil {
		h.Fatal(err)
	}
	return hd.ID
}

func (h *home) there(id string) bool {
	h.Helper()
	_, err := h.queue.Files.Get(id)
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	return err == nil
}

func TestSweepRemovesWhatEndedBeforeAndNothingElse(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	old, young, open := h.endedAgo("old", 2*time.Hour), h.endedAgo("young", 0), h.request("own")
	at := time.Now().Add(-3 * time.Hour)
	if err := h.queue.Files.Heartbeat(open, at); err != nil { // however long ago
		t.Fatal(err)
	}
	h.queue.Sweep(t.Context(), time.Now().Add(-time.Hour))
	if h.there(old) {
		t.Error("the old one is still there")
	}
	if !h.there(young) || !h.there(open) {
		t.Error("more than the old one was removed")
	}
}

// The sweep saw it ended, and takes the lock after the retry.
func TestHandoffThatIsRetriedWhileASweepIsAboutToDropItStays(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	before := time.Now().Add(-time.Hour)
	id := h.endedAgo("s", 2*time.Hour)
	if _, err := h.queue.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := h.queue.drop(t.Context(), id, before); err != nil {
		t.Fatal(err)
	}
	h.wantState(id, queue.Pending)
	if _, err := h.queue.Cancel(t.Context(), id); err != nil { // it fails again, which makes it a young one
		t.Fatal(err)
	}
	if err := h.queue.drop(t.Context(), id, before); err != nil {
		t.Fatal(err)
	}
	h.wantState(id, queue.Failed)
}

func TestSweepDropsNothingInTheMiddleOfARetry(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := h.endedAgo("s", 2*time.Hour)
	unlock, err := h.queue.Files.Store.Lock(t.Context(), fsstate.HandoffLock(id), "a retry that is in its middle")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.queue.drop(ctx, id, time.Now().Add(-time.Hour)); err == nil || !h.there(id) {
		t.Errorf("it was dropped under another one's lock: %v", err)
	}
}

package handoff_test

import (
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// queueAt is a home with a queue whose every platform is a command.
func queueAt(t *testing.T) *handoff.Queue {
	t.Helper()
	home := t.TempDir()
	store, err := fsstate.Open(fsstate.Home{Path: home, Root: home}, fsstate.Options{UnsafeFilesystem: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	key := []byte("0123456789abcdef0123456789abcdef")
	return &handoff.Queue{
		Files: fsstate.HandoffFiles{Store: store, Key: key}, Room: &turn.Room{Store: store, Key: key},
		Platform: func(string) (handoff.Platform, error) {
			return handoff.Platform{Command: []string{"true"}, Timeout: time.Minute, MaxConcurrent: 3}, nil
		},
	}
}

func asked(t *testing.T, q *handoff.Queue, session string) *fsstate.Handoff {
	t.Helper()
	h, _, err := q.Request(t.Context(), handoff.Request{Session: session, Platform: "telegram"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A dispatcher that looked while a handoff was being retried took the open record that had just been written for one that
// was left over, and removed it: with the end gone too, the handoff was lost.
func TestALookInTheMiddleOfARetryLosesNothing(t *testing.T) {
	t.Parallel()
	q := queueAt(t)
	h := asked(t, q, "a")
	if _, err := q.Cancel(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	desk := &handoff.Desk{Queue: q}
	defer desk.Close()
	unlock, err := q.Files.Store.Lock(t.Context(), fsstate.HandoffLock(h.ID), "a retry that is in its middle")
	if err != nil {
		t.Fatal(err)
	}
	h.State = string(queue.Pending)
	if err := q.Files.Put(h); err != nil { // the first half of HandoffFiles.Reopen
		t.Fatal(err)
	}
	if p := desk.Look(t.Context(), time.Now(), 3); len(p.Start) != 0 || p.Next.IsZero() {
		t.Errorf("in the middle of a retry the plan is %+v: nothing is due, and it has to be looked at again", p)
	}
	if err := q.Files.Reopen(h); err != nil {
		t.Fatal(err)
	}
	unlock()
	if got, err := q.Files.Get(h.ID); err != nil || got.State != string(queue.Pending) {
		t.Fatalf("after the retry the handoff is %+v, %v", got, err)
	}
	if p := desk.Look(t.Context(), time.Now(), 3); len(p.Start) != 1 || p.Start[0].ID != h.ID {
		t.Errorf("after the retry the plan is %+v, not to start %s", p, h.ID)
	}
}

func TestWhatIsLeftOfAnOpenRecordGoes(t *testing.T) {
	t.Parallel()
	q := queueAt(t)
	h := asked(t, q, "a")
	if _, err := q.Cancel(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	if err := q.Files.Put(h); err != nil { // as a power loss brings it back
		t.Fatal(err)
	}
	desk := &handoff.Desk{Queue: q}
	defer desk.Close()
	if p := desk.Look(t.Context(), time.Now(), 3); len(p.Start) != 0 || p.Busy {
		t.Errorf("the plan is %+v: the handoff has ended", p)
	}
	if ids, err := q.Files.Open(); err != nil || len(ids) != 0 {
		t.Errorf("left open: %v, %v", ids, err)
	}
	if got, err := q.Files.Get(h.ID); err != nil || got.State != string(queue.Failed) {
		t.Errorf("the handoff is %+v, %v", got, err)
	}
}

package handoff_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
)

// Each pending handoff asks whether a turn of its session is open, and a session may have been renamed, so that asking one
// by one reads every turn for every handoff.
func TestAListReadsEachTurnOnceAndNotForEachHandoff(t *testing.T) {
	t.Parallel()
	const pending, turns = 300, 100
	q := queueAt(t)
	now := time.Now()
	for i := range pending {
		session := fmt.Sprintf("s%d", i)
		err := q.Files.Put(&fsstate.Handoff{
			ID: fsstate.NewHandoffID(session, "telegram", "", now.Add(time.Duration(i))), Session: session, Platform: "telegram",
			State: string(queue.Pending), RequestedAt: now, Verified: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files := fsstate.TurnFiles{Store: q.Files.Store, Key: q.Files.Key}
	for i := range turns {
		err := files.Put(&fsstate.Turn{
			Session: fmt.Sprintf("other%d", i), Aliases: []string{fmt.Sprintf("s%d", i)}, Phase: fsstate.PhaseRunning, StartedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	ids, err := q.Files.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := q.Files.Get(id); err != nil {
			t.Fatal(err)
		}
	}
	once := time.Since(began)
	began = time.Now()
	views, bad := q.List(false)
	took := time.Since(began)
	if len(views) != pending || len(bad) != 0 {
		t.Fatalf("%d handoffs, errors: %v", len(views), bad)
	}
	held := 0
	for _, v := range views {
		if v.Reason == queue.ReasonTurnOpen {
			held++
		}
	}
	if held != turns {
		t.Errorf("%d handoffs are held back by open turns, not %d", held, turns)
	}
	if took > 20*once { // asking one by one takes a hundred times as long
		t.Errorf("the list took %s, reading each handoff once %s", took, once)
	}
}

func TestAListTellsWhyEachStandsAsItDoes(t *testing.T) {
	t.Parallel()
	q := queueAt(t)
	platform := handoff.Platform{Command: []string{"true"}}
	unknown := errors.New("no such platform")
	q.Platform = func(name string) (handoff.Platform, error) {
		switch name {
		case "telegram":
			return platform, nil
		case "desk":
			return handoff.Platform{External: true}, nil
		}
		return handoff.Platform{}, unknown
	}
	reasonOf := func(session string) queue.Reason {
		t.Helper()
		views, bad := q.List(true)
		for _, err := range bad {
			t.Error(err)
		}
		for _, v := range views {
			if v.Session == session {
				return v.Reason
			}
		}
		t.Fatalf("no handoff of session %s", session)
		return ""
	}
	want := func(session string, r queue.Reason) {
		t.Helper()
		if got := reasonOf(session); got != r {
			t.Errorf("session %s: %q, not %q", session, got, r)
		}
	}
	asked(t, q, "a")
	want("a", queue.ReasonWaits)
	if _, _, err := q.Request(t.Context(), handoff.Request{Session: "b", Platform: "desk"}); err != nil {
		t.Fatal(err)
	}
	want("b", queue.ReasonAwaitsClaim)
	turns := fsstate.TurnFiles{Store: q.Files.Store, Key: q.Files.Key}
	if err := turns.Put(&fsstate.Turn{Session: "a", Phase: fsstate.PhaseRunning, StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	want("a", queue.ReasonTurnOpen)
	if err := turns.Delete("a"); err != nil {
		t.Fatal(err)
	}
	unserved := q.Platform
	q.Platform = func(string) (handoff.Platform, error) { return handoff.Platform{}, unknown }
	want("a", queue.ReasonNotServed)
	q.Platform = unserved
	key := q.Files.Key
	q.Files.Key = []byte("another key of thirty-two bytes!")
	want("a", queue.ReasonUnverified)
	q.Files.Key = key
	if _, err := q.Cancel(t.Context(), idOf(t, q, "a")); err != nil {
		t.Fatal(err)
	}
	want("a", queue.ReasonCancelled)
}

func idOf(t *testing.T, q *handoff.Queue, session string) string {
	t.Helper()
	h, err := q.Find(session)
	if err != nil {
		t.Fatal(err)
	}
	return h.ID
}

package handoff_test

import (
	"context"
	"errors"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/handoff"
)

func TestFindByIDBySessionAndByBeginning(t *testing.T) {
	t.Parallel()
	q := queueAt(t)
	ctx := context.Background()
	want := func(word string, h *fsstate.Handoff) {
		t.Helper()
		got, err := q.Find(word)
		if err != nil || got.ID != h.ID {
			t.Errorf("Find(%q) = %+v, %v, not %s", word, got, err, h.ID)
		}
	}
	none := func(word string) {
		t.Helper()
		if got, err := q.Find(word); !errors.Is(err, handoff.ErrNone) {
			t.Errorf("Find(%q) = %+v, %v, not ErrNone", word, got, err)
		}
	}
	none("")
	none("a")
	first := asked(t, q, "a")
	want(first.ID, first)
	want("a", first)
	want(first.ID[:4], first)
	want(first.ID[:len(first.ID)-1], first)
	none(first.ID + "x")
	none(first.ID[1:])
	if _, err := q.Cancel(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	want("a", first) // the latest that has ended
	second := asked(t, q, "a")
	want("a", second) // the open one
	want(first.ID, first)
	ambiguous, is := errors.AsType[*handoff.AmbiguousError](func() error { _, err := q.Find(first.ID[:2]); return err }())
	if !is || len(ambiguous.IDs) != 2 || ambiguous.IDs[0] != first.ID {
		t.Errorf("the beginning of two: %+v", ambiguous)
	}
	if _, err := q.Cancel(ctx, second.ID); err != nil {
		t.Fatal(err)
	}
	want("a", second)
	if _, err := q.Retry(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Cancel(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	want("a", first) // it ended last, though it was requested first

	// A session's key goes before the beginning of an id, and an id before a session's key.
	named := asked(t, q, first.ID[:3])
	want(first.ID[:3], named)
	other := asked(t, q, second.ID)
	want(second.ID, second)
	want(other.ID, other)
}

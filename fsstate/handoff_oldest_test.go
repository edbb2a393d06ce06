package fsstate

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

func TestOldestAreTheFirstOfThoseThatAreMeant(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	hf := HandoffFiles{Store: s}
	var mine []string
	for i := range 300 { // more than one read of the folder gives
		at, platform := turnEpoch.Add(time.Duration(i*7919%300)*time.Second), "p"
		if i%3 == 0 {
			platform = "q"
		}
		id := NewHandoffID("a session", platform, "", at)
		if platform == "p" {
			mine = append(mine, id)
		}
		if err := os.WriteFile(s.Path(Handoffs, id+".json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"a", "b.json", mine[0], mine[0] + ".json.corrupt-1", ".json", "x" + mine[0] + ".json"} {
		if err := os.WriteFile(s.Path(Handoffs, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(mine)
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		ids, err := hf.Oldest(after, 7, ForPlatform("p"))
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 {
			break
		}
		if got = append(got, ids...); len(ids) > 7 {
			t.Errorf("%d at once", len(ids))
		}
	}
	if !slices.Equal(got, mine) {
		t.Errorf("%d ids in this order, of %d", len(got), len(mine))
	}
}

func TestOldestOfAStoreWithoutTheFolderAreNone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := os.Remove(s.Path(Handoffs, "")); err != nil {
		t.Fatal(err)
	}
	ids, err := HandoffFiles{Store: s}.Oldest("", 7, ForPlatform("p"))
	if len(ids) > 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if err := os.WriteFile(s.Path(Handoffs, ""), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (HandoffFiles{Store: s}).Oldest("", 7, ForPlatform("p")); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file in its place: %v", err)
	}
}

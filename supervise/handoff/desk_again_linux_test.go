package handoff

import (
	"fmt"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// A turn whose keepers die, one after another, is not begun again as fast as they do.
func TestDeskWaitsLongerEachTimeBeforeItBeginsAgainWhatItTookBack(t *testing.T) {
	t.Parallel()
	for tries, wait := range map[int]time.Duration{1: 0, 2: 5 * time.Second, 4: 20 * time.Second, 9: time.Minute} {
		t.Run(fmt.Sprint(tries, " tries"), func(t *testing.T) {
			t.Parallel()
			h := newDeskHome(t)
			h.Queue.Platform = func(string) (Platform, error) { return Platform{Session: "desk", Agent: "any"}, nil }
			id := h.leave("s", queue.Running, h.deadMe())
			one := h.get(id)
			one.Tries, one.Claim.Turn = tries, "desk"
			if err := h.Queue.Files.Put(one); err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			p := h.Look(t.Context(), before, 3)
			after := time.Now()
			if s := h.get(id).State; s != string(queue.Pending) || len(p.Start) != 0 {
				t.Fatalf("it is %s, and the plan %+v", s, p)
			}
			due := p.Next
			if due.Before(before.Add(wait)) || due.After(after.Add(wait)) {
				t.Fatalf("it is looked at again after %s, not %s", due.Sub(before), wait)
			}
			if wait > 0 {
				if p := h.Look(t.Context(), due.Add(-time.Millisecond), 3); len(p.Start) != 0 || !p.Next.Equal(due) {
					t.Errorf("before it is due the plan is %+v", p)
				}
			}
			if got := h.starts(h.Look(t.Context(), due.Add(time.Millisecond), 3)); got != "s " {
				t.Errorf("when it is due, %q are begun", got)
			}
		})
	}
}

// A look at a folder of many takes long: the desk goes by its copy for a while, and what that still has as pending is not
// begun once more.
func TestDeskThatLookedForLongGoesByItsCopyAndBeginsNothingTwice(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	quick, slow := h.leave("quick", queue.Pending, ident.Ident{}), h.leave("slow", queue.Pending, ident.Ident{})
	now := time.Now()
	if got := h.starts(h.Look(t.Context(), now, 3)); got != "quick slow " {
		t.Fatalf("due are %q", got)
	}
	h.Started(quick)
	h.Started(slow)
	h.looked, h.took = now, time.Second
	for _, id := range []string{quick, slow} {
		if _, err := h.Queue.Claim(t.Context(), id, fsstate.Claim{Claimer: h.me()}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Queue.Complete(t.Context(), quick, h.get(quick).Claim.Claimer.Instance); err != nil {
		t.Fatal(err)
	}
	h.Ended(quick, false, now)
	h.leave("late", queue.Pending, ident.Ident{})
	again := now.Add(lookShare * time.Second)
	for _, at := range []time.Time{now, now.Add(time.Second), again.Add(-1)} {
		p := h.Look(t.Context(), at, 3)
		if len(p.Start) != 0 {
			t.Errorf("after %s, %+v are begun", at.Sub(now), p.Start)
		}
		if h.looked != now {
			t.Errorf("after %s it reads the folder again", at.Sub(now))
		}
		if !p.Busy || !p.Next.Equal(again) {
			t.Errorf("after %s the plan is %+v, and the folder is to be read again after %s", at.Sub(now), p, again.Sub(now))
		}
	}
	p := h.Look(t.Context(), again, 3)
	if got := h.starts(p); got != "late " {
		t.Errorf("of the folder that is read again, %q are begun", got)
	}
	if len(p.Watch) != 1 || p.Watch[0].ID != slow {
		t.Errorf("watched are %+v", p.Watch)
	}
}

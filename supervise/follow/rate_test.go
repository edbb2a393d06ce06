package follow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWhatIsHeldBackIsToldInTheNextOne(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := (&state{Since: now}).tidy()
	tell := func(event string, at time.Time) { s.take(&Notice{Event: event, Time: at}, 2, at) }
	for range 3 { // a burst
		tell(EventGaveUp, now)
	}
	tell(EventParked, now.Add(59*time.Second))
	if len(s.Pending) != 2 || s.Pending[0].Suppressed != nil {
		t.Fatalf("%+v", s.Pending)
	}
	tell(EventContinued, now.Add(61*time.Second))
	if got := s.Pending[2]; got.Event != EventContinued || got.Suppressed[EventGaveUp] != 1 || got.Suppressed[EventParked] != 1 {
		t.Errorf("%+v", got)
	}
	tell(EventContinued, now.Add(62*time.Second))
	if got := s.Pending[3]; got.Suppressed != nil {
		t.Errorf("told twice: %+v", got)
	}
	s.take(&Notice{Event: EventParked, Time: now}, 2, now.Add(2*time.Hour))
	if len(s.Pending) != 4 || s.Notices["parked expired"] != 1 || s.Notices["parked suppressed"] != 1 {
		t.Errorf("%d pending, %v", len(s.Pending), s.Notices)
	}
}

func TestNoMinuteHasMoreThanTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 10).Draw(t, "most")
		now := time.Unix(1_000_000, 0)
		var sent, told []time.Time
		for range rapid.IntRange(0, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond)
			var ok bool
			if sent, ok = allow(sent, most, now); ok {
				told = append(told, now)
			}
			if len(sent) > most {
				t.Fatalf("%d are remembered", len(sent))
			}
		}
		for i := most; i < len(told); i++ {
			if told[i].Sub(told[i-most]) < window {
				t.Fatalf("%d within %s", most+1, told[i].Sub(told[i-most]))
			}
		}
	})
}

func TestAClockThatWasSetBackBlocksForAMinute(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	sent := []time.Time{now.Add(24 * time.Hour), now.Add(48 * time.Hour)}
	sent, ok := allow(sent, 2, now)
	if ok {
		t.Error("allowed")
	}
	if _, ok = allow(sent, 2, now.Add(window)); !ok {
		t.Error("still not allowed")
	}
}

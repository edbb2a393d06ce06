package phase

import (
	"math"
	"testing"
	"time"
)

const month = 30 * 24 * time.Hour

// tally is what a simulated service came to.
type tally struct {
	starts   int           // launches, the ordered one included
	atOnce   int           // restarts without any wait
	longest  time.Duration // wait for a restart
	streak   int           // the longest
	loops    int           // waits that were shown as a crash loop
	inMinute int           // most launches within any minute
}

// behaviour is what the nth launch of a service does: how long it takes to be
// ready, how long it is up after that, and the event that ends it.
type behaviour func(n int) (ready, up time.Duration, end Event)

// simulate supervises a service for a time; only events move the clock.
func simulate(t *testing.T, set Settings, length time.Duration, does behaviour) tally {
	t.Helper()
	var sum tally
	var minute []time.Time
	s, now, n := State{}, noon, 0
	give := func(e Event) {
		n++
		_, jitter := math.Modf(float64(n) * math.Phi) // evenly spread, and the same in every run
		s = must(t, s, e, set, now, jitter)
		sum.streak = max(sum.streak, s.Streak)
	}
	give(Event{Kind: OrderStart})
	for end := now.Add(length); now.Before(end); {
		sum.starts++
		minute = append(minute, now)
		for now.Sub(minute[0]) >= time.Minute {
			minute = minute[1:]
		}
		sum.inMinute = max(sum.inMinute, len(minute))

		ready, up, ends := does(sum.starts)
		give(Event{Kind: Launched})
		now = now.Add(ready)
		if up > 0 {
			give(Event{Kind: Ready})
			now = now.Add(up)
		}
		give(ends)
		give(Event{Kind: Gone})
		if s.Phase == Starting {
			sum.atOnce++
			continue
		}
		if s.Phase != Waiting {
			t.Fatalf("after %d starts: %+v", sum.starts, s)
		}
		if s.Reason == ReasonCrashLoop {
			sum.loops++
		}
		sum.longest = max(sum.longest, s.NextAt.Sub(now))
		now = s.NextAt
		give(Event{Kind: Due})
	}
	return sum
}

func TestAMonthOfACrashingService(t *testing.T) {
	t.Parallel()
	storm := Defaults()
	storm.Delay = 0
	for _, c := range []struct {
		name       string
		set        Settings
		length     time.Duration
		ready, up  time.Duration
		end        Event
		least      int // starts
		most       int
		loops      bool
		allAtOnce  bool
		longestMax time.Duration
	}{
		// It is over at once, so the wait is all there is: 2.5 to 5 minutes.
		{"crashes at once", Defaults(), month, 0, 0, exits(1), 8_640, 17_290, true, false, 5 * time.Minute},
		{"crashes once it is ready", Defaults(), month, 0, 1, exits(1), 8_640, 17_290, true, false, 5 * time.Minute},
		{"asks for a restart at once", Defaults(), month, 0, 0, exits(75), 8_640, 17_290, true, false, 5 * time.Minute},
		// 5 minutes are no healthy run, so the waits grow here too.
		{"crashes every 5 minutes", Defaults(), month, 0, 5 * time.Minute, exits(1), 4_320, 5_770, true, false, 5 * time.Minute},
		// 15 minutes are one: systemd/systemd#43813 is a service that waits the maximum for ever.
		{"crashes every 15 minutes", Defaults(), month, 0, 15 * time.Minute, exits(1), 2_880, 2_880, false, true, 0},
		{"crashes once a day", Defaults(), month, 0, 24 * time.Hour, exits(1), 30, 30, false, true, 0},
		{"restarts itself every hour", Defaults(), month, 0, time.Hour, exits(75), 720, 720, false, true, 0},
		{"hangs every 20 minutes", Defaults(), month, 0, 20 * time.Minute, Event{Kind: Unhealthy}, 2_160, 2_160, false, true, 0},
		{"is never ready within 2 minutes", Defaults(), month, 2 * time.Minute, 0, Event{Kind: ReadyDeadline}, 6_171, 9_610, true, false, 5 * time.Minute},
		// No back-off at all: the floor alone, 10 a minute.
		{"crashes at once, without any delay", storm, 24 * time.Hour, 0, 0, exits(1), 14_400, 14_402, true, false, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := simulate(t, c.set, c.length, func(int) (time.Duration, time.Duration, Event) { return c.ready, c.up, c.end })
			if got.starts < c.least || got.starts > c.most || (got.loops > 0) != c.loops || got.longest > c.longestMax || got.inMinute > 11 {
				t.Errorf("%+v, want %d to %d starts, waits up to %v", got, c.least, c.most, c.longestMax)
			}
			if c.allAtOnce && (got.atOnce != got.starts || got.streak != 1) {
				t.Errorf("a healthy service waited: %+v", got)
			}
		})
	}
}

// A storm that ends leaves nothing behind: after a healthy run the next crash
// is answered at once again.
func TestAStormPasses(t *testing.T) {
	t.Parallel()
	got := simulate(t, Defaults(), 24*time.Hour, func(n int) (time.Duration, time.Duration, Event) {
		if n < 100 {
			return 0, 0, exits(1)
		}
		return 0, 15 * time.Minute, exits(1)
	})
	late := got.starts - 99 // its first crash is the end of a healthy run, as all further ones
	if got.atOnce != late || got.streak != 99 {
		t.Errorf("%+v", got)
	}
}

// Supervisors that come and go in the middle of a run are no part of it.
func TestNewSupervisorsDoNotChangeTheCount(t *testing.T) {
	t.Parallel()
	set := Defaults()
	s := example(Running)
	s.ReadyAt = noon
	starts := 0
	for now := noon; now.Before(noon.Add(month)); now = now.Add(10 * time.Minute) {
		var act Act
		if s, act = Resume(s, Alive, true, set, now, 0); act != Nothing || s.Phase != Running {
			t.Fatalf("%v: %v %+v", now, act, s)
		}
		if now.Sub(s.ReadyAt) < time.Hour {
			continue
		}
		s = must(t, s, exits(1), set, now, 0)
		s = must(t, s, Event{Kind: Gone}, set, now, 0)
		s = must(t, s, Event{Kind: Ready}, set, now, 0)
		starts++
	}
	if want := 30*24 - 1; starts != want || s.Restarts != int64(want) || s.Streak != 1 {
		t.Errorf("%d starts, want %d: %+v", starts, want, s)
	}
}

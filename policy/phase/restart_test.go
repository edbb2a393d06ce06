package phase

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestTheRestartPolicy(t *testing.T) {
	t.Parallel()
	type answer struct {
		then Then
		why  Reason
	}
	for _, c := range []struct {
		exit                     Exit
		always, onFailure, never answer
	}{
		{Exit{Observed: true}, answer{ThenRestart, ReasonExited}, answer{ThenStop, ReasonExited}, answer{ThenStop, ReasonExited}},
		{Exit{Code: 1, Observed: true}, answer{ThenRestart, ReasonCrashed}, answer{ThenRestart, ReasonCrashed}, answer{ThenStop, ReasonCrashed}},
		{Exit{Signal: 15, Observed: true}, answer{ThenRestart, ReasonCrashed}, answer{ThenRestart, ReasonCrashed}, answer{ThenStop, ReasonCrashed}},
		{Exit{}, answer{ThenRestart, ReasonUnobserved}, answer{ThenRestart, ReasonUnobserved}, answer{ThenStop, ReasonUnobserved}},
		{Exit{Code: 78}, answer{ThenRestart, ReasonUnobserved}, answer{ThenRestart, ReasonUnobserved}, answer{ThenStop, ReasonUnobserved}},
		{Exit{Code: 75, Observed: true}, answer{ThenRestart, ReasonAskedAgain}, answer{ThenRestart, ReasonAskedAgain}, answer{ThenRestart, ReasonAskedAgain}},
		{Exit{Code: 78, Observed: true}, answer{ThenPark, ReasonParked}, answer{ThenPark, ReasonParked}, answer{ThenPark, ReasonParked}},
		{Exit{Code: 78, Signal: 9, Observed: true}, answer{ThenRestart, ReasonCrashed}, answer{ThenRestart, ReasonCrashed}, answer{ThenStop, ReasonCrashed}},
	} {
		for policy, want := range map[Policy]answer{Always: c.always, OnFailure: c.onFailure, Never: c.never, 9: c.never} {
			set := Defaults()
			set.Policy = policy
			then, why := set.afterExit(c.exit)
			if (answer{then, why}) != want {
				t.Errorf("%+v under %v: %q %q, want %+v", c.exit, policy, then, why, want)
			}
		}
	}
	both := Settings{RestartExit: []int{5}, ParkExit: []int{5}}
	if then, _ := both.afterExit(Exit{Code: 5, Observed: true}); then != ThenPark {
		t.Errorf("a code that is in both lists: %q", then)
	}
}

// The waits before the automatic restarts of a service that becomes ready and
// ends at once, without jitter's part.
func TestTheBackOffDoubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		set   func(*Settings)
		ready bool
		code  int
		want  []int // seconds
	}{
		{"healthy at first", func(*Settings) {}, true, 1, []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		{"never ready", func(*Settings) {}, false, 1, []int{1, 1, 2, 4, 8, 16}},
		{"asks for it before it is ready", func(*Settings) {}, false, 75, []int{0, 1, 2, 4, 8, 16}},
		{"no delay", func(s *Settings) { s.Delay = 0 }, false, 1, []int{0, 0, 0, 0}},
		{"no doubling", func(s *Settings) { s.Delay = 400 * time.Second }, true, 1, []int{0, 400, 400, 400}},
		{"every ready run ends the streak", func(s *Settings) { s.ResetAfter = -1 }, true, 1, []int{0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := Defaults()
			set.StormStarts = 100
			c.set(&set)
			s := example(Starting)
			now := noon
			for i, seconds := range c.want {
				want := time.Duration(seconds) * time.Second
				if c.ready {
					s = must(t, s, Event{Kind: Ready}, set, now, math.NaN())
				}
				s = must(t, s, exits(c.code), set, now, math.NaN())
				s = must(t, s, Event{Kind: Gone}, set, now, math.NaN())
				var waited time.Duration
				if s.Phase == Waiting {
					waited = s.NextAt.Sub(now)
					now = s.NextAt
					s = must(t, s, Event{Kind: Due}, set, now, math.NaN())
				}
				if waited != want || s.Phase != Starting || s.Streak < 1 || s.Restarts != int64(i+1) {
					t.Fatalf("restart %d: waited %v, want %v: %+v", i+1, waited, want, s)
				}
			}
		})
	}
}

// must gives an event of the current launch.
func must(t *testing.T, s State, e Event, set Settings, now time.Time, jitter float64) State {
	t.Helper()
	if e.Kind.order() {
		e.Epoch = s.Epoch + 1
	} else {
		e.Epoch = s.Launch
	}
	next, _, err := Next(s, e, set, now, jitter)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestJitterTakesUpToHalfAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jitter float64
		want   time.Duration
	}{
		{0, 500 * time.Millisecond},
		{0.5, 750 * time.Millisecond},
		{math.Nextafter(1, 0), time.Second},
		{1, time.Second},
		{-0.1, time.Second},
		{math.Inf(1), time.Second},
		{math.NaN(), time.Second},
	} {
		s := must(t, example(Starting), Event{Kind: LaunchFailed}, Defaults(), noon, c.jitter)
		if got := s.NextAt.Sub(noon); got > c.want || got < c.want-time.Microsecond {
			t.Errorf("jitter %v: %v, want %v", c.jitter, got, c.want)
		}
	}
}

func TestALongRunEndsTheStreak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		ready   time.Time
		ended   time.Time
		streak  int
		waiting bool
	}{
		{"up for the whole time", noon.Add(-10 * time.Minute), noon, 1, false},
		{"up a little less", noon.Add(-10*time.Minute + 1), noon, 4, true},
		{"never ready", time.Time{}, noon, 4, true},
		{"ended long before it was noticed", noon.Add(-time.Hour), noon.Add(-59 * time.Minute), 4, true},
		{"ready in the future", noon.Add(time.Hour), noon, 4, true},
		{"ended in the future", noon.Add(-time.Minute), noon.Add(time.Hour), 4, true},
	} {
		s := example(Running)
		s.Streak, s.ReadyAt = 4, c.ready
		s = must(t, s, Event{Kind: Exited, Exit: &Exit{Code: 1, Observed: true, At: c.ended}}, Defaults(), noon, 0)
		s = must(t, s, Event{Kind: Gone}, Defaults(), noon, 0)
		if s.Streak != c.streak || (s.Phase == Waiting) != c.waiting {
			t.Errorf("%s: streak %d in %v, want %d", c.name, s.Streak, s.Phase, c.streak)
		}
	}
}

// Without any delay only the storm bound is left.
func TestAStormWaitsForItsWindow(t *testing.T) {
	t.Parallel()
	set := Defaults()
	set.Delay = 0
	s := example(Starting)
	for i := range 10 {
		s = must(t, s, Event{Kind: LaunchFailed}, set, noon.Add(time.Duration(i)*time.Second), 0)
		if s.Phase != Starting {
			t.Fatalf("restart %d waits: %+v", i+1, s)
		}
	}
	s = must(t, s, Event{Kind: LaunchFailed}, set, noon.Add(10*time.Second), 0)
	if s.Phase != Waiting || s.Reason != ReasonCrashLoop || !s.NextAt.Equal(noon.Add(time.Minute)) || len(s.Recent) != 10 {
		t.Fatalf("the eleventh: %+v", s)
	}
	if early := must(t, s, Event{Kind: Due}, set, noon.Add(time.Minute-1), 0); early.Phase != Waiting || !early.NextAt.Equal(s.NextAt) {
		t.Errorf("a timer that fires early: %+v", early)
	}
	s = must(t, s, Event{Kind: Due}, set, noon.Add(time.Minute), 0)
	if s.Phase != Starting || len(s.Recent) != 10 {
		t.Errorf("when the first has left the window: %+v", s)
	}
}

// The configuration may have allowed more starts when they were made.
func TestALowerBoundCountsTheLatestStarts(t *testing.T) {
	t.Parallel()
	set := Defaults()
	set.Delay, set.StormStarts = 0, 2
	s := example(Starting)
	s.Recent = []time.Time{noon.Add(-50 * time.Second), noon.Add(-40 * time.Second), noon.Add(-30 * time.Second), noon.Add(-20 * time.Second)}
	s = must(t, s, Event{Kind: LaunchFailed}, set, noon, 0)
	if s.Phase != Waiting || !s.NextAt.Equal(noon.Add(30*time.Second)) || len(s.Recent) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestALongStreakIsShownAsALoop(t *testing.T) {
	t.Parallel()
	for streak, want := range map[int]Reason{0: ReasonBackOff, 9: ReasonBackOff, 10: ReasonCrashLoop, math.MaxInt: ReasonCrashLoop, math.MinInt: ReasonBackOff} {
		s := example(Starting)
		s.Streak = streak
		s = must(t, s, Event{Kind: LaunchFailed}, Defaults(), noon, 0)
		if s.Phase != Waiting || s.Reason != want {
			t.Errorf("streak %d: %v %q", streak, s.Phase, s.Reason)
		}
		s = must(t, s, Event{Kind: Due}, Defaults(), s.NextAt, 0)
		if s.Streak < 1 || s.Streak > maxStreak+1 {
			t.Errorf("streak %d became %d", streak, s.Streak)
		}
	}
}

// What a clock that jumps, or a forged record, can make of the times.
func TestTimesAheadOfTheClockBlockForALimitedTime(t *testing.T) {
	t.Parallel()
	ahead := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	many := make([]time.Time, 50)
	for i := range many {
		many[i] = ahead
	}
	for _, set := range []Settings{Defaults(), {}, {Delay: time.Hour, StormWindow: 10 * time.Second, StormStarts: 1}} {
		for name, start := range map[string]func() (State, Act){
			"due": func() (State, Act) {
				s := example(Waiting)
				s.NextAt, s.Recent = ahead, many
				n, act, err := Next(s, Event{Kind: Due, Epoch: s.Launch}, set, noon, 0)
				if err != nil {
					t.Error(err)
				}
				return n, act
			},
			"taken up": func() (State, Act) {
				s := example(Waiting)
				s.NextAt, s.Recent = ahead, many
				return Resume(s, Dead, true, set, noon, 0)
			},
			"started with a supervisor": func() (State, Act) {
				s := example(Stopped)
				s.Up, s.Reason, s.Recent = true, ReasonShutdown, many
				return Resume(s, Dead, true, set, noon, 0)
			},
			"ended": func() (State, Act) {
				s := example(Killing)
				s.ReadyAt, s.Recent, s.Last.At = ahead, many, ahead
				n, act, err := Next(s, Event{Kind: Gone, Epoch: s.Launch}, set, noon, 0)
				if err != nil {
					t.Error(err)
				}
				return n, act
			},
		} {
			s, act := start()
			if act != Wait || s.NextAt.After(noon.Add(set.longest())) || len(s.Recent) > set.bound() {
				t.Errorf("%s under %+v: %v until %v with %d recent starts", name, set, act, s.NextAt, len(s.Recent))
				continue
			}
			s = must(t, s, Event{Kind: Due}, set, s.NextAt, 0)
			if s.Phase != Starting {
				t.Errorf("%s under %+v: does not start when its time has come: %+v", name, set, s)
			}
		}
	}
}

func TestTheClockSetBackWhileItWaits(t *testing.T) {
	t.Parallel()
	s := example(Waiting)
	s.NextAt = noon.Add(4 * time.Second)
	back := noon.Add(-24 * time.Hour) // the timer has run, the clock has not
	s = must(t, s, Event{Kind: Due}, Defaults(), back, 0)
	if s.Phase != Waiting || s.NextAt.After(back.Add(5*time.Minute)) {
		t.Fatalf("%+v", s)
	}
	if s = must(t, s, Event{Kind: Due}, Defaults(), s.NextAt, 0); s.Phase != Starting {
		t.Fatalf("%+v", s)
	}
}

// The monotonic reading of now would outvote a clock that was set since.
func TestOnlyTheWallClockCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := must(t, example(Starting), Event{Kind: LaunchFailed}, Defaults(), now, 0)
	for _, at := range []time.Time{s.NextAt, s.Last.At} {
		if at != at.Round(0) {
			t.Errorf("%v has a monotonic reading", at)
		}
	}
}

func TestSettingsOutOfRangeDoNotLiftTheFloor(t *testing.T) {
	t.Parallel()
	for set, want := range map[*Settings]string{
		{}:                                 "10 1m0s",
		{StormStarts: -1, StormWindow: -1}: "10 1m0s",
		{StormStarts: 1e6, StormWindow: 1}: "1000 1ns",
		{StormStarts: 3, StormWindow: 5e9}: "3 5s",
	} {
		if got := fmt.Sprint(set.bound(), set.window()); got != want {
			t.Errorf("%+v: %s, want %s", *set, got, want)
		}
	}
}

package phase

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every phase with every verdict, for a service that is wanted up and for one
// that is not.
func TestResume(t *testing.T) {
	t.Parallel()
	type want struct{ alive, dead, boot string }
	for _, c := range []struct {
		name string
		s    State
		want want
	}{
		{
			"new and wanted",
			State{Up: true},
			want{"killing kill then-resume leftover", "starting launch resumed", "starting launch boot"},
		},
		{
			"new and not wanted",
			State{},
			want{"killing kill ", "stopped nothing ", "stopped nothing "},
		},
		{
			"stopped by an operator", example(Stopped),
			want{"killing kill stopped", "stopped nothing stopped", "stopped nothing stopped"},
		},
		{
			"stopped by a shutdown", with(Stopped, true, ThenStop, ReasonShutdown),
			want{"killing kill then-resume leftover", "starting launch resumed", "starting launch boot"},
		},
		{
			"left down by its restart policy", with(Stopped, true, ThenStop, ReasonExited),
			want{"killing kill exited", "stopped nothing exited", "starting launch boot"},
		},
		{
			"waiting", example(Waiting), // until noon: now
			want{"killing kill then-restart leftover", "starting launch restarted", "starting launch boot"},
		},
		{
			"starting", example(Starting),
			want{"starting nothing adopted", "killing kill then-restart end-unobserved", "starting launch boot"},
		},
		{
			"running", example(Running),
			want{"running nothing adopted", "killing kill then-restart end-unobserved", "starting launch boot"},
		},
		{
			"stopping for an operator", example(Stopping),
			want{"stopping stop stopped", "killing kill stopped", "stopped nothing stopped"},
		},
		{
			"stopping for a new start", with(Stopping, true, ThenStart, ReasonRestartOrdered),
			want{"stopping stop then-start restart-ordered", "killing kill then-start restart-ordered", "starting launch ordered"},
		},
		{
			"stopping because it hung", with(Stopping, true, ThenRestart, ReasonUnhealthy),
			want{"stopping stop then-restart unhealthy", "killing kill then-restart unhealthy", "starting launch boot"},
		},
		{
			"stopping for a shutdown that was cut", with(Stopping, true, ThenStop, ReasonShutdown),
			want{"stopping stop then-resume shutdown", "killing kill then-resume shutdown", "starting launch boot"},
		},
		{
			"killing after a crash", example(Killing),
			want{"killing kill then-restart crashed", "killing kill then-restart crashed", "starting launch boot"},
		},
		{
			"killing what is to be parked", with(Killing, true, ThenPark, ReasonParked),
			want{"killing kill then-park parked", "killing kill then-park parked", "parked nothing parked"},
		},
		{
			"killing what its policy leaves down", with(Killing, true, ThenStop, ReasonExited),
			want{"killing kill exited", "killing kill exited", "starting launch boot"},
		},
		{
			"parked", example(Parked),
			want{"killing kill then-park parked", "parked nothing parked", "parked nothing parked"},
		},
		{
			"parked and not wanted", with(Parked, false, ThenStop, ReasonParked),
			want{"killing kill then-park parked", "parked nothing parked", "parked nothing parked"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, held := range []bool{false, true} { // a hold that has passed leaves no trace
				s := c.s
				if held {
					var act Act
					if s, act = Resume(s, Unknown, true, Defaults(), noon, 0); act != Nothing || s.Reason != ReasonOwnerUnknown || s.Phase != c.s.Phase {
						t.Fatalf("held: %s", describe(s, act))
					}
				}
				got := want{
					alive: describe(Resume(s, Alive, true, Defaults(), noon, 0)),
					dead:  describe(Resume(s, Dead, true, Defaults(), noon, 0)),
					boot:  describe(Resume(s, Dead, false, Defaults(), noon, 0)),
				}
				if got != c.want {
					t.Errorf("held %v:\ngot  %+v\nwant %+v", held, got, c.want)
				}
				if left, _ := Resume(s, Alive, true, Defaults(), noon, 0); !left.NextAt.IsZero() {
					t.Errorf("a start stays due while it lives: %+v", left)
				}
				if other := describe(Resume(s, Alive, false, Defaults(), noon, 0)); other != got.alive {
					t.Errorf("alive with another boot id: %s", other)
				}
			}
		})
	}
}

func with(p Phase, up bool, then Then, why Reason) State {
	s := example(p)
	s.Up, s.Then, s.Reason = up, then, why
	return s
}

func TestNobodyKnowsHoldsBackEverything(t *testing.T) {
	t.Parallel()
	for p := range Phase(phases) {
		for _, life := range []Life{Unknown, -1, 3} {
			s, act := Resume(example(p), life, true, Defaults(), noon, 0)
			if act != Nothing || s.Reason != ReasonOwnerUnknown || s.Held != example(p).Reason {
				t.Errorf("%v: %s", p, describe(s, act))
			}
			again, act := Resume(s, life, true, Defaults(), noon, 0)
			if act != Nothing || !cmp.Equal(s, again) {
				t.Errorf("%v, asked again: %v, %s", p, act, cmp.Diff(s, again))
			}
			for k := range Kind(kinds) {
				if _, act, err := Next(s, eventOf(k), Defaults(), noon, 0); act != Nothing || err != nil {
					t.Errorf("%v in %v while held: %v, %v", k, p, act, err)
				}
			}
		}
	}
	if s, act := Resume(State{Phase: Phase(phases)}, Alive, true, Defaults(), noon, 0); act != Nothing || s.Reason != ReasonOwnerUnknown {
		t.Errorf("a phase that is none: %s", describe(s, act))
	}
}

// Orders that come while nobody can tell whether the service lives.
func TestOrdersForAHeldServiceAreCarriedOutLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from              Phase
		orders            string
		alive, dead, boot string
	}{
		{Running, "stop", "stopping stop stopped", "killing kill stopped", "stopped nothing stopped"},
		{Running, "start", "running nothing adopted", "killing kill then-restart end-unobserved", "starting launch boot"},
		{Running, "restart", "stopping stop then-start restart-ordered", "killing kill then-start restart-ordered", "starting launch ordered"},
		{Running, "stop start", "running nothing adopted", "killing kill then-restart end-unobserved", "starting launch boot"},
		{Running, "restart stop", "stopping stop stopped", "killing kill stopped", "stopped nothing stopped"},
		{Stopping, "stop", "stopping stop stopped", "killing kill stopped", "stopped nothing stopped"},
		{Stopping, "start", "stopping stop then-start restart-ordered", "killing kill then-start restart-ordered", "starting launch ordered"},
		{Killing, "stop", "killing kill stopped", "killing kill stopped", "stopped nothing stopped"},
		{Waiting, "stop", "killing kill stopped", "stopped nothing stopped", "stopped nothing stopped"},
		{Waiting, "start", "killing kill then-start leftover", "starting launch ordered", "starting launch ordered"},
		{Stopped, "start", "killing kill then-start leftover", "starting launch ordered", "starting launch ordered"},
		{Stopped, "start stop", "killing kill stopped", "stopped nothing stopped", "stopped nothing stopped"},
		{Parked, "restart", "killing kill then-start leftover", "starting launch ordered", "starting launch ordered"},
		{Parked, "stop", "killing kill then-park parked", "parked nothing parked", "parked nothing parked"},
	} {
		t.Run(c.from.String()+" "+c.orders, func(t *testing.T) {
			t.Parallel()
			s, _ := Resume(example(c.from), Unknown, true, Defaults(), noon, 0)
			for word := range strings.FieldsSeq(c.orders) {
				kind := map[string]Kind{"start": OrderStart, "stop": OrderStop, "restart": OrderRestart}[word]
				s = must(t, s, Event{Kind: kind}, Defaults(), noon, 0)
			}
			for life, want := range map[string]string{"alive": c.alive, "dead": c.dead, "boot": c.boot} {
				verdict := Dead
				if life == "alive" {
					verdict = Alive
				}
				got, act := Resume(s, verdict, life != "boot", Defaults(), noon, 0)
				if describe(got, act) != want || got.Held != "" {
					t.Errorf("%s: %s (held %q), want %s", life, describe(got, act), got.Held, want)
				}
			}
		})
	}
}

func TestABootIsNoCrash(t *testing.T) {
	t.Parallel()
	s := example(Running)
	s.Streak, s.Restarts = 3, 7
	got, act := Resume(s, Dead, false, Defaults(), noon, 0)
	if act != Launch || got.Streak != 3 || got.Restarts != 7 || len(got.Recent) != 1 || got.Launch != s.Launch+1 {
		t.Errorf("%v %+v", act, got)
	}
}

// A supervisor that is killed and started in a loop is a storm too.
func TestSupervisorsInALoopDoNotStartServicesInALoop(t *testing.T) {
	t.Parallel()
	s := State{Up: true}
	starts := 0
	for i := range 100 {
		var act Act
		s, act = Resume(s, Dead, false, Defaults(), noon.Add(time.Duration(i)*100*time.Millisecond), 0)
		if act == Launch {
			starts++
		}
	}
	if starts != 10 || s.Phase != Waiting || s.Reason != ReasonCrashLoop {
		t.Errorf("%d starts in 10 s, then %v %q", starts, s.Phase, s.Reason)
	}
}

func TestAWaitGoesOnUnderTheNextSupervisor(t *testing.T) {
	t.Parallel()
	s := example(Waiting)
	s.NextAt = noon.Add(4 * time.Second)
	got, act := Resume(s, Dead, true, Defaults(), noon, 0)
	if act != Wait || !got.NextAt.Equal(s.NextAt) || got.Streak != s.Streak {
		t.Errorf("%v %+v", act, got)
	}
}

func TestLifeHasNames(t *testing.T) {
	t.Parallel()
	for life, want := range map[Life]string{Unknown: "unknown", Alive: "alive", Dead: "dead", 7: "unknown"} {
		if life.String() != want {
			t.Errorf("%d is %q", life, life)
		}
	}
}

package phase

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// example is a service in a phase as it mostly comes to be there, of launch 3
// and order 5, seen at noon.
func example(p Phase) State {
	s := State{Phase: p, Up: true, Epoch: 5, Launch: 3, StartedAt: noon.Add(-2 * time.Hour)}
	crash := &Exit{Launch: 3, Code: 1, Observed: true, At: noon.Add(-time.Second)}
	switch p {
	case Stopped:
		s.Up, s.Reason = false, ReasonStopped
	case Waiting:
		s.Reason, s.Streak, s.NextAt, s.Last = ReasonBackOff, 2, noon, crash
		s.Recent = []time.Time{noon.Add(-time.Hour)}
	case Starting:
		s.Reason = ReasonOrdered
	case Running:
		s.Reason, s.ReadyAt = ReasonReady, noon.Add(-time.Hour)
	case Stopping:
		s.Up, s.Reason = false, ReasonStopped
	case Killing:
		s.Reason, s.Then, s.Last, s.ReadyAt = ReasonCrashed, ThenRestart, crash, noon.Add(-time.Hour)
	case Parked:
		s.Reason = ReasonParked
	}
	return s
}

func eventOf(k Kind) Event {
	switch {
	case k.order():
		return Event{Kind: k, Epoch: 6}
	case k == Exited:
		return Event{Kind: k, Epoch: 3, Exit: &Exit{Code: 1, Observed: true}}
	default:
		return Event{Kind: k, Epoch: 3}
	}
}

// pairs are all 98: phase after, act, what follows the stop (if anything), and
// the reason.
var pairs = map[Phase]map[Kind]string{
	Stopped: {
		OrderStart:    "starting launch ordered",
		OrderStop:     "stopped nothing stopped",
		OrderRestart:  "starting launch ordered",
		Launched:      "impossible",
		LaunchFailed:  "impossible",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "impossible",
		Unhealthy:     "unchanged",
		Due:           "unchanged",
		StopDeadline:  "unchanged",
		Gone:          "impossible",
		Adopted:       "killing kill stopped",
		Shutdown:      "unchanged",
	},
	Waiting: {
		OrderStart:    "starting launch ordered",
		OrderStop:     "stopped nothing stopped",
		OrderRestart:  "starting launch ordered",
		Launched:      "impossible",
		LaunchFailed:  "impossible",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "impossible",
		Unhealthy:     "unchanged",
		Due:           "starting launch restarted",
		StopDeadline:  "unchanged",
		Gone:          "impossible",
		Adopted:       "killing kill then-restart leftover",
		Shutdown:      "stopped nothing shutdown",
	},
	Starting: {
		OrderStart:    "starting nothing ordered",
		OrderStop:     "stopping stop stopped",
		OrderRestart:  "stopping stop then-start restart-ordered",
		Launched:      "starting nothing ordered",
		LaunchFailed:  "waiting wait back-off",
		Ready:         "running nothing ready",
		ReadyDeadline: "stopping stop then-restart not-ready",
		Exited:        "killing kill then-restart crashed",
		Unhealthy:     "stopping stop then-restart unhealthy",
		Due:           "impossible",
		StopDeadline:  "impossible",
		Gone:          "impossible",
		Adopted:       "starting nothing adopted",
		Shutdown:      "stopping stop shutdown",
	},
	Running: {
		OrderStart:    "running nothing ready",
		OrderStop:     "stopping stop stopped",
		OrderRestart:  "stopping stop then-start restart-ordered",
		Launched:      "impossible",
		LaunchFailed:  "impossible",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "killing kill then-restart crashed",
		Unhealthy:     "stopping stop then-restart unhealthy",
		Due:           "impossible",
		StopDeadline:  "impossible",
		Gone:          "impossible",
		Adopted:       "running nothing adopted",
		Shutdown:      "stopping stop shutdown",
	},
	Stopping: {
		OrderStart:    "stopping nothing then-start restart-ordered",
		OrderStop:     "killing kill stopped",
		OrderRestart:  "stopping nothing then-start restart-ordered",
		Launched:      "stopping stop stopped",
		LaunchFailed:  "stopped nothing stopped",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "stopping nothing stopped",
		Unhealthy:     "unchanged",
		Due:           "impossible",
		StopDeadline:  "killing kill stopped",
		Gone:          "stopped nothing stopped",
		Adopted:       "stopping stop stopped",
		Shutdown:      "unchanged",
	},
	Killing: {
		OrderStart:    "killing nothing then-start restart-ordered",
		OrderStop:     "killing nothing stopped",
		OrderRestart:  "killing nothing then-start restart-ordered",
		Launched:      "killing kill then-restart crashed",
		LaunchFailed:  "starting launch restarted",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "unchanged",
		Unhealthy:     "unchanged",
		Due:           "impossible",
		StopDeadline:  "unchanged",
		Gone:          "starting launch restarted",
		Adopted:       "killing kill then-restart crashed",
		Shutdown:      "killing nothing shutdown",
	},
	Parked: {
		OrderStart:    "starting launch ordered",
		OrderStop:     "parked nothing parked",
		OrderRestart:  "starting launch ordered",
		Launched:      "impossible",
		LaunchFailed:  "impossible",
		Ready:         "unchanged",
		ReadyDeadline: "unchanged",
		Exited:        "impossible",
		Unhealthy:     "unchanged",
		Due:           "impossible",
		StopDeadline:  "unchanged",
		Gone:          "impossible",
		Adopted:       "killing kill then-park parked",
		Shutdown:      "unchanged",
	},
}

func describe(s State, a Act) string {
	words := []string{s.Phase.String(), a.String()}
	if s.Then != ThenStop {
		words = append(words, "then-"+string(s.Then))
	}
	return strings.Join(append(words, string(s.Reason)), " ")
}

func TestEveryPhaseAnswersEveryEvent(t *testing.T) {
	t.Parallel()
	for p := range Phase(phases) {
		for k := range Kind(kinds) {
			t.Run(p.String()+"/"+k.String(), func(t *testing.T) {
				t.Parallel()
				want, written := pairs[p][k]
				if !written || table[p][k] == nil {
					t.Fatalf("the pair is missing: in this test %v, in the table %v", !written, table[p][k] == nil)
				}
				s := example(p)
				got, act, err := Next(s, eventOf(k), Defaults(), noon, 0)
				checkPair(t, want, s, got, act, err)
				if diff := cmp.Diff(example(p), s); diff != "" {
					t.Errorf("the state that was handed in changed:\n%s", diff)
				}
			})
		}
	}
}

func checkPair(t *testing.T, want string, before, after State, act Act, err error) {
	t.Helper()
	if want == "impossible" {
		if e, ok := errors.AsType[*ImpossibleError](err); !ok || e.Phase != before.Phase {
			t.Errorf("error %v, want an ImpossibleError of %v", err, before.Phase)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if want == "impossible" || want == "unchanged" {
		if diff := cmp.Diff(before, after); diff != "" || act != Nothing {
			t.Errorf("act %v, and the state changed:\n%s", act, diff)
		}
		return
	}
	if got := describe(after, act); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatCannotBeNamesPhaseAndEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		s    State
		e    Event
		want string
	}{
		{"a pair", example(Stopped), Event{Kind: Gone, Epoch: 3}, "event gone (3) in phase stopped of launch 3: cannot be"},
		{"a launch to come", example(Running), Event{Kind: Exited, Epoch: 4}, "event exited (4) in phase running of launch 3: cannot be"},
		{"a kind that is none", example(Running), Event{Kind: Kind(kinds), Epoch: 3}, "event unknown (3) in phase running of launch 3: cannot be"},
		{"a phase that is none", State{Phase: -1}, Event{Kind: OrderStart, Epoch: 1}, "event order-start (1) in phase unknown of launch 0: cannot be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, act, err := Next(c.s, c.e, Defaults(), noon, 0)
			if err == nil || err.Error() != c.want || act != Nothing || !cmp.Equal(got, c.s) {
				t.Errorf("act %v, error %v, want %s", act, err, c.want)
			}
		})
	}
}

func TestStaleEventsChangeNothing(t *testing.T) {
	t.Parallel()
	for p := range Phase(phases) {
		for k := range Kind(kinds) {
			if k == Shutdown {
				continue // belongs to no launch
			}
			e := eventOf(k)
			e.Epoch = 2 // launch 2 of 3, order 2 of 5
			s := example(p)
			got, act, err := Next(s, e, Defaults(), noon, 0)
			if err != nil || act != Nothing || !cmp.Equal(got, s) {
				t.Errorf("%v in %v: act %v, error %v:\n%s", k, p, act, err, cmp.Diff(s, got))
			}
		}
	}
	s := example(Running)
	if got, act, err := Next(s, Event{Kind: OrderStop, Epoch: 5}, Defaults(), noon, 0); err != nil || act != Nothing || !cmp.Equal(got, s) {
		t.Errorf("the same order again: %v, %v, %s", act, err, cmp.Diff(s, got))
	}
}

// walk gives events one after the other, each with the numbers it needs, one
// second apart, and returns what describe says of each.
func walk(t *testing.T, s State, set Settings, events ...Event) (State, []string) {
	t.Helper()
	var said []string
	for i, e := range events {
		if e.Kind.order() {
			e.Epoch = s.Epoch + 1
		} else {
			e.Epoch = s.Launch
		}
		next, act, err := Next(s, e, set, noon.Add(time.Duration(i)*time.Second), 0)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		said = append(said, describe(s, act))
	}
	return s, said
}

func exits(code int) Event { return Event{Kind: Exited, Exit: &Exit{Code: code, Observed: true}} }

func TestStoriesOfAService(t *testing.T) {
	t.Parallel()
	never, onFailure := Defaults(), Defaults()
	never.Policy, onFailure.Policy = Never, OnFailure
	ev := func(k Kind) Event { return Event{Kind: k} }
	for _, c := range []struct {
		name   string
		from   State
		set    Settings
		events []Event
		want   []string
	}{
		{
			"a healthy service comes back at once", example(Running), Defaults(),
			[]Event{exits(1), ev(Gone), ev(Launched), ev(Ready)},
			[]string{"killing kill then-restart crashed", "starting launch restarted", "starting nothing restarted", "running nothing ready"},
		},
		{
			"a stop in order", example(Running), Defaults(),
			[]Event{ev(OrderStop), exits(0), ev(Gone)},
			[]string{"stopping stop stopped", "stopping nothing stopped", "stopped nothing stopped"},
		},
		{
			"a stop that is overtaken by a start", example(Running), Defaults(),
			[]Event{ev(OrderStop), ev(OrderStart), ev(StopDeadline), ev(Gone)},
			[]string{"stopping stop stopped", "stopping nothing then-start restart-ordered", "killing kill then-start restart-ordered", "starting launch ordered"},
		},
		{
			"a start that is taken back", example(Running), Defaults(),
			[]Event{ev(OrderRestart), ev(OrderStop), ev(OrderStop), ev(Gone)},
			[]string{"stopping stop then-start restart-ordered", "stopping nothing stopped", "killing kill stopped", "stopped nothing stopped"},
		},
		{
			"a stop while what crashed is being ended", example(Running), Defaults(),
			[]Event{exits(1), ev(OrderStop), ev(Gone)},
			[]string{"killing kill then-restart crashed", "killing nothing stopped", "stopped nothing stopped"},
		},
		{
			"a stop before the fork is recorded", example(Stopped), Defaults(),
			[]Event{ev(OrderStart), ev(OrderStop), ev(Launched), exits(0), ev(Gone)},
			[]string{"starting launch ordered", "stopping stop stopped", "stopping stop stopped", "stopping nothing stopped", "stopped nothing stopped"},
		},
		{
			"a stop of a launch that fails", example(Stopped), Defaults(),
			[]Event{ev(OrderStart), ev(OrderStop), ev(LaunchFailed)},
			[]string{"starting launch ordered", "stopping stop stopped", "stopped nothing stopped"},
		},
		{
			"a shutdown", example(Running), Defaults(),
			[]Event{ev(Shutdown), exits(0), ev(Gone)},
			[]string{"stopping stop shutdown", "stopping nothing shutdown", "stopped nothing shutdown"},
		},
		{
			"a shutdown in the middle of a restart", example(Running), Defaults(),
			[]Event{ev(OrderRestart), ev(Shutdown), ev(Gone)},
			[]string{"stopping stop then-start restart-ordered", "stopping nothing shutdown", "stopped nothing shutdown"},
		},
		{
			"an ordered stop in a shutdown", example(Running), Defaults(),
			[]Event{ev(Shutdown), ev(OrderStop), ev(Gone)},
			[]string{"stopping stop shutdown", "stopping nothing stopped", "stopped nothing stopped"},
		},
		{
			"a hung service", example(Running), Defaults(),
			[]Event{ev(Unhealthy), ev(StopDeadline), ev(Gone)},
			[]string{"stopping stop then-restart unhealthy", "killing kill then-restart unhealthy", "starting launch restarted"},
		},
		{
			"a hung service exits with 0 when it is stopped", example(Running), onFailure,
			[]Event{ev(Unhealthy), exits(0), ev(Gone)},
			[]string{"stopping stop then-restart unhealthy", "stopping nothing then-restart unhealthy", "starting launch restarted"},
		},
		{
			"a hung service that is not to come back", example(Running), never,
			[]Event{ev(Unhealthy), exits(0), ev(Gone)},
			[]string{"stopping stop unhealthy", "stopping nothing unhealthy", "stopped nothing unhealthy"},
		},
		{
			"a hung service asks to be left when it is stopped", example(Running), Defaults(),
			[]Event{ev(Unhealthy), exits(78), ev(Gone)},
			[]string{"stopping stop then-restart unhealthy", "stopping nothing then-park parked", "parked nothing parked"},
		},
		{
			"a service that is not ready in time", example(Starting), Defaults(),
			[]Event{ev(ReadyDeadline), exits(0), ev(Gone)},
			[]string{"stopping stop then-restart not-ready", "stopping nothing then-restart not-ready", "waiting wait back-off"},
		},
		{
			"parked until an operator starts it", example(Running), Defaults(),
			[]Event{exits(78), ev(Gone), ev(OrderStop), ev(Shutdown), ev(OrderRestart)},
			[]string{"killing kill then-park parked", "parked nothing parked", "parked nothing parked", "parked nothing parked", "starting launch ordered"},
		},
		{
			"an end with success under on-failure", example(Running), onFailure,
			[]Event{exits(0), ev(Shutdown), ev(Gone)},
			[]string{"killing kill exited", "killing nothing exited", "stopped nothing exited"},
		},
		{
			"a launch that fails is no crash of a healthy service", example(Stopped), Defaults(),
			[]Event{ev(OrderStart), ev(LaunchFailed)},
			[]string{"starting launch ordered", "waiting wait back-off"},
		},
		{
			"a launch that fails under never", example(Stopped), never,
			[]Event{ev(OrderStart), ev(LaunchFailed)},
			[]string{"starting launch ordered", "stopped nothing launch-failed"},
		},
		{
			"the tree is gone before anybody saw the leader end", example(Stopping), Defaults(),
			[]Event{ev(Gone)},
			[]string{"stopped nothing stopped"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, said := walk(t, c.from, c.set, c.events...)
			if diff := cmp.Diff(c.want, said); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if last := c.events[len(c.events)-1].Kind; last == Gone && (s.Last == nil || s.Phase == Starting && s.Last.Launch != s.Launch-1) {
				t.Errorf("how it ended is not on record: %+v", s.Last)
			}
		})
	}
}

func TestTheRecordKeepsWhatHappened(t *testing.T) {
	t.Parallel()
	set := Defaults()
	s, _ := walk(t, State{}, set, Event{Kind: OrderStart}, Event{Kind: Launched}, Event{Kind: Ready})
	s, _ = walk(t, s, set, Event{Kind: Exited, Exit: &Exit{Signal: 9, Observed: true, Reason: "out of memory"}}, Event{Kind: Gone}, Event{Kind: Launched})
	want := State{
		Phase: Starting, Up: true, Epoch: 1, Launch: 2, Reason: ReasonRestarted, Streak: 1, Restarts: 1,
		Recent:    []time.Time{noon.Add(time.Second)},
		StartedAt: noon.Add(2 * time.Second),
		Last:      &Exit{Launch: 1, Signal: 9, Observed: true, At: noon, Reason: "out of memory"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const onDisk = `{"phase":"starting","up":true,"epoch":1,"launch":2,"reason":"restarted","streak":1,"restarts":1,` +
		`"recent":["2026-03-01T12:00:01Z"],"started_at":"2026-03-01T12:00:02Z",` +
		`"last":{"launch":1,"code":0,"signal":9,"observed":true,"at":"2026-03-01T12:00:00Z","reason":"out of memory"}}`
	if string(text) != onDisk {
		t.Errorf("on disk it is\n%s\nwant\n%s", text, onDisk)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(s, back) {
		t.Errorf("read back (%v):\n%s", err, cmp.Diff(s, back))
	}
}

func TestAnOrderedStartForgetsTheStorm(t *testing.T) {
	t.Parallel()
	for _, k := range []Kind{OrderStart, OrderRestart} {
		s := example(Waiting)
		s.Streak, s.Restarts = 9, 40
		s.Recent = []time.Time{noon, noon, noon}
		s, _ = walk(t, s, Defaults(), Event{Kind: k})
		if s.Streak != 0 || len(s.Recent) != 0 || s.Restarts != 40 || !s.NextAt.IsZero() {
			t.Errorf("%v: %+v", k, s)
		}
	}
}

func TestNamesAreReadBack(t *testing.T) {
	t.Parallel()
	for p := range Phase(phases) {
		var back Phase = -1
		text, err := p.MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != p || string(text) != p.String() {
			t.Errorf("%v is written as %q (%v) and read as %v", p, text, err, back)
		}
		if live := p == Starting || p == Running || p == Stopping || p == Killing; p.Live() != live {
			t.Errorf("%v: Live %v", p, p.Live())
		}
	}
	for _, p := range []Policy{Always, OnFailure, Never} {
		var back Policy = -1
		text, err := p.MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != p || string(text) != p.String() {
			t.Errorf("%v is written as %q (%v) and read as %v", p, text, err, back)
		}
	}
	var p Phase
	var r Policy
	for got, want := range map[error]string{
		p.UnmarshalText([]byte("paused")): `read phase "paused": not one of stopped, waiting, starting, running, stopping, killing, parked`,
		r.UnmarshalText([]byte("Always")): `read restart policy "Always": not one of always, on-failure, never`,
	} {
		if got == nil || got.Error() != want {
			t.Errorf("error %v, want %s", got, want)
		}
	}
	if _, err := Phase(7).MarshalText(); err == nil {
		t.Error("phase 7 can be written")
	}
	if _, err := Policy(-1).MarshalText(); err == nil {
		t.Error("policy -1 can be written")
	}
	seen := map[string]bool{}
	for k := range Kind(kinds) {
		seen[k.String()] = true
	}
	for a := range Act(len(actNames)) {
		seen[a.String()] = true
	}
	if len(seen) != kinds+len(actNames) || seen["unknown"] || Kind(kinds).String() != "unknown" || impossible.String() != "unknown" {
		t.Errorf("kinds and acts do not have a name each: %v", seen)
	}
}

package phase

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawSettings(t *rapid.T) Settings {
	return Settings{
		Policy:      rapid.SampledFrom([]Policy{Always, Always, OnFailure, Never}).Draw(t, "policy"),
		Delay:       time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "delay")),
		MaxDelay:    time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "max delay")),
		ResetAfter:  time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "reset after")),
		StormStarts: rapid.IntRange(1, 5).Draw(t, "storm starts"),
		StormWindow: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "storm window")),
		RestartExit: []int{75},
		ParkExit:    []int{78},
	}
}

func drawExit(t *rapid.T) *Exit {
	return rapid.SampledFrom([]*Exit{
		nil,
		{Observed: true},
		{Observed: true, Code: 1},
		{Observed: true, Signal: 9},
		{Observed: true, Code: 75},
		{Observed: true, Code: 78},
	}).Draw(t, "exit")
}

// life is one service under supervisors that come and go: what its record
// says, and what is true.
type life struct {
	s    State
	set  Settings
	now  time.Time
	live bool        // the tree of the last launch may live
	up   bool        // what the last order that counted said
	auto []time.Time // automatic launches since the last ordered one
	seen map[Reason]bool
}

// wander gives a service a number of events, true and false ones, stale ones
// and some from the future, and new supervisors between them, and checks after
// each what must always hold.
func wander(t *rapid.T, steps int) *life {
	l := &life{s: State{}, set: drawSettings(t), now: noon, seen: map[Reason]bool{}}
	for range steps {
		l.tick(t)
		if rapid.IntRange(0, 7).Draw(t, "new supervisor") == 0 {
			l.resume(t)
		} else {
			l.next(t)
		}
	}
	return l
}

func (l *life) tick(t *rapid.T) {
	if l.s.Phase == Waiting && rapid.Bool().Draw(t, "until due") && l.s.NextAt.After(l.now) {
		l.now = l.s.NextAt
		return
	}
	// mostly nothing: storms are what the bound is for
	spent := rapid.SampledFrom([]time.Duration{0, 0, 0, 1, time.Millisecond, time.Second, 20 * time.Second, time.Hour})
	l.now = l.now.Add(spent.Draw(t, "spent"))
}

// usual is the event that would come next if nobody interfered: drawn blindly,
// most events would be of the impossible kind.
var usual = map[Phase][]Kind{
	Stopped:  {OrderStart},
	Waiting:  {Due},
	Starting: {Launched, LaunchFailed, Ready, Exited},
	Running:  {Exited, Exited, Unhealthy, Adopted},
	Stopping: {Gone, Exited, StopDeadline},
	Killing:  {Gone},
	Parked:   {OrderRestart},
}

func (l *life) drawEvent(t *rapid.T) Event {
	all := rapid.IntRange(0, kinds-1)
	e := Event{Kind: Kind(all.Draw(t, "kind")), Exit: drawExit(t)}
	if rapid.IntRange(0, 2).Draw(t, "odd") > 0 {
		e.Kind = rapid.SampledFrom(usual[l.s.Phase]).Draw(t, "usual kind")
	}
	off := rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "off")
	e.Epoch = l.s.Launch + off
	if e.Kind.order() {
		e.Epoch = l.s.Epoch + 1 + off
	}
	return e
}

func (l *life) next(t *rapid.T) {
	e := l.drawEvent(t)
	if e.Kind == Adopted && !l.live {
		return // would be a lie about a process that was verified
	}
	before := l.s
	after, act, err := Next(l.s, e, l.set, l.now, rapid.Float64Range(0, 1).Draw(t, "jitter"))
	_, impossibly := errors.AsType[*ImpossibleError](err)
	stale := e.Kind.order() && e.Epoch <= before.Epoch || !e.Kind.order() && e.Kind != Shutdown && e.Epoch != before.Launch
	switch {
	case err != nil && !impossibly:
		t.Fatalf("%v", err)
	case (stale || err != nil) && (act != Nothing || !cmp.Equal(before, after)):
		t.Fatalf("%+v is stale or impossible (%v), and: %v, %s", e, err, act, cmp.Diff(before, after))
	case stale || err != nil:
		return
	}
	if e.Kind.order() {
		l.up = e.Kind != OrderStop
	}
	if (e.Kind == Gone || e.Kind == LaunchFailed) && !before.held() {
		l.live = false
	}
	l.check(t, before, after, act)
}

func (l *life) resume(t *rapid.T) {
	l.s = overDisk(t, l.s)
	before := l.s
	verdicts := []Life{Dead, Dead, Unknown}
	if l.live {
		verdicts = []Life{Alive, Alive, Dead, Unknown}
	}
	verdict := rapid.SampledFrom(verdicts).Draw(t, "verdict")
	boot := verdict == Dead && rapid.Bool().Draw(t, "boot")
	if boot {
		l.live = false
	}
	after, act := Resume(l.s, verdict, !boot, l.set, l.now, rapid.Float64Range(0, 1).Draw(t, "jitter"))
	if (act == Stop || act == Kill) && boot {
		t.Fatalf("signals after a boot: %+v", after)
	}
	l.check(t, before, after, act)
}

// check is what must hold whatever came.
func (l *life) check(t *rapid.T, before, after State, act Act) {
	if act == Launch {
		if after.Reason == ReasonOrdered {
			l.auto = nil
		} else {
			l.auto = append(l.auto, l.now)
		}
	}
	inWindow := 0
	for _, at := range l.auto {
		if l.now.Sub(at) < l.set.StormWindow {
			inWindow++
		}
	}
	_, worded := after.Reason.wording()
	for _, broken := range []struct {
		name string
		is   bool
	}{
		{"a second copy", act == Launch && l.live},
		{"something lives in a phase that has nothing alive", l.live && !after.Phase.Live()},
		{"a launch without a new number", (act == Launch) != (after.Launch == before.Launch+1)},
		{"a launch number that jumps", act != Launch && after.Launch != before.Launch},
		{"a launch that nobody wants", act == Launch && !after.Up},
		{"a launch in another phase", act == Launch && after.Phase != Starting},
		{"more starts than the window allows", inWindow > l.set.StormStarts},
		{"not what the operator wants", after.Up != l.up},
		{"a wait without an end", act == Wait && (after.Phase != Waiting || !after.NextAt.After(l.now) || after.NextAt.Sub(l.now) > l.set.longest())},
		{"an end without a wait", after.Phase != Waiting && !after.NextAt.IsZero()},
		{"a stop in another phase", act == Stop && after.Phase != Stopping},
		{"a kill in another phase", act == Kill && after.Phase != Killing},
		{"an act for what is held", after.held() && act != Nothing},
		{"a hold that leaves a trace", !after.held() && after.Held != ""},
		{"a pending start of what is not wanted", !after.Up && (after.Then == ThenStart || after.Then == ThenRestart || after.Then == ThenResume || after.Phase == Waiting && !after.held())},
		{"a follow-up without a stop", after.Then != ThenStop && after.Phase != Stopping && after.Phase != Killing && !after.held()},
		{"counters that do not fit", after.Streak < 0 || int64(after.Streak) > after.Restarts || after.Restarts < before.Restarts || after.Restarts > after.Launch},
		{"a record that grows", len(after.Recent) > l.set.StormStarts},
		{"an end from the future", after.Last != nil && (after.Last.At.After(l.now) || after.Last.Launch > after.Launch)},
		{"a reason that is none", !worded},
	} {
		if broken.is {
			t.Fatalf("%s: %v\nbefore %+v\nafter  %+v", broken.name, act, before, after)
		}
	}
	if act == Launch {
		l.live = true
	}
	l.seen[after.Reason] = true
	l.s = after
}

// overDisk is what the next supervisor reads of what this one wrote.
func overDisk(t *rapid.T, s State) State {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(text) {
		t.Fatalf("written as %s, then as %s (%v)", text, again, err)
	}
	return back
}

func TestWhatHoldsWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { wander(t, 30) })
}

// A reason that nothing can give would be a line of the manual that is wrong,
// and would mean that the test above does not get everywhere.
func TestEveryReasonIsGivenBySomething(t *testing.T) {
	t.Parallel()
	leftover, _ := Resume(example(Waiting), Alive, true, Defaults(), noon, 0)
	seen := map[Reason]bool{leftover.Reason: true} // no wandering life leaves one: its Gone is true
	lives := rapid.Custom(func(t *rapid.T) *life { return wander(t, 30) })
	for seed := range 60 {
		for r := range lives.Example(seed).seen {
			seen[r] = true
		}
	}
	for _, r := range Reasons() {
		if !seen[r] {
			t.Errorf("%q is given by nothing", r)
		}
		delete(seen, r)
	}
	for r := range seen {
		t.Errorf("%q is given and not listed", r)
	}
}

// free is a life that is not held: nobody but Resume goes on with a held one.
func free(t *rapid.T) *life {
	l := wander(t, rapid.IntRange(0, 30).Draw(t, "steps"))
	if l.s.held() {
		verdict := Dead
		if l.live {
			verdict = Alive
		}
		before := l.s
		after, act := Resume(l.s, verdict, true, l.set, l.now, 0)
		l.check(t, before, after, act)
	}
	return l
}

// give is an event of the current launch, or the next order.
func (l *life) give(t *rapid.T, k Kind) Act {
	e := Event{Kind: k, Epoch: l.s.Launch}
	if k.order() {
		e.Epoch, l.up = l.s.Epoch+1, k != OrderStop
	}
	before := l.s
	after, act, err := Next(l.s, e, l.set, l.now, 0)
	if err != nil {
		t.Fatal(err)
	}
	if k == Gone {
		l.live = false
	}
	l.check(t, before, after, act)
	return act
}

func TestAStopOrderEndsStoppedAndStaysSo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := free(t)
		if l.s.Phase == Parked {
			return
		}
		l.give(t, OrderStop)
		order := l.s.Epoch
		for range 20 {
			l.tick(t)
			if rapid.IntRange(0, 4).Draw(t, "new supervisor") == 0 {
				l.resume(t)
			} else if l.drawsNoOrder(t) {
				continue
			}
			if l.s.Up || l.s.Epoch != order {
				t.Fatalf("wanted up again: %+v", l.s)
			}
		}
		if l.s.held() {
			l.s, _ = Resume(l.s, Dead, true, l.set, l.now, 0)
		}
		if l.s.Phase.Live() {
			l.give(t, Gone)
		}
		if l.s.Phase != Stopped {
			t.Fatalf("not stopped: %+v", l.s)
		}
	})
}

// drawsNoOrder gives any event but an order, and reports whether it was refused.
func (l *life) drawsNoOrder(t *rapid.T) bool {
	k := Kind(rapid.IntRange(int(Launched), kinds-1).Draw(t, "kind"))
	if k == Adopted && !l.live {
		return true
	}
	before := l.s
	after, act, err := Next(l.s, Event{Kind: k, Epoch: l.s.Launch, Exit: drawExit(t)}, l.set, l.now, 0)
	if err != nil {
		return true
	}
	if (k == Gone || k == LaunchFailed) && !before.held() {
		l.live = false
	}
	l.check(t, before, after, act)
	return false
}

// Nothing that happened before keeps a wanted service down for longer than the
// settings say, once it behaves.
func TestAWantedServiceComesUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := free(t)
		if !l.s.Up || l.s.Phase == Parked || l.s.Phase == Stopped {
			return // down by order, by its own exit status, by its policy, or until the next supervisor
		}
		latest := l.now.Add(l.set.longest())
		for range 10 {
			switch l.s.Phase {
			case Waiting:
				l.now = l.s.NextAt
				l.give(t, Due)
			case Starting:
				l.give(t, Launched)
				l.give(t, Ready)
			case Stopping, Killing:
				l.give(t, Gone)
			case Running:
				if l.now.After(latest) {
					t.Fatalf("up at %v, later than %v", l.now, latest)
				}
				return
			case Stopped, Parked:
				if l.s.Reason.ended() || l.s.Reason == ReasonShutdown || l.s.Phase == Parked {
					return
				}
				t.Fatalf("down: %+v", l.s)
			}
		}
		t.Fatalf("not up: %+v", l.s)
	})
}

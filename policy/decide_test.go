package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

// cut is a turn of our own that was cut a minute ago and that nothing holds
// back: every test changes what it is about.
func cut(changes ...func(*Facts)) Facts {
	f := Facts{
		Now: noon, Settings: Defaults(),
		Store: StoreOwn, Phase: PhaseRunning, AutoContinue: true, Verified: true, AgentKnown: true,
		LastProof: noon.Add(-time.Minute),
		Keeper:    LifeDead, Owner: LifeDead,
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func byPerson(f *Facts) { f.By = Person }

// obstacle is one reason not to continue, by the change that brings it about.
type obstacle struct {
	name   string
	change func(*Facts)
	want   Decision
	person bool // a person is held back as well
}

// obstacles are in the order in which they must decide.
var obstacles = []obstacle{
	{"concluded", func(f *Facts) { f.Phase = PhaseConcluded }, Decision{Action: Conclude, Reason: ReasonConcluded}, true},
	{"stopping, keeper alive", func(f *Facts) { f.Phase, f.Keeper = PhaseStopping, LifeAlive }, Decision{Reason: ReasonBeingStopped}, true},
	{"stopping, keeper unknown", func(f *Facts) { f.Phase, f.Keeper = PhaseStopping, LifeUnknown }, Decision{Reason: ReasonBeingStopped}, true},
	{"stopping, owner alive", func(f *Facts) { f.Phase, f.Owner = PhaseStopping, LifeAlive }, Decision{Reason: ReasonBeingStopped}, true},
	{"stopping, owner unknown", func(f *Facts) { f.Phase, f.Owner = PhaseStopping, LifeUnknown }, Decision{Reason: ReasonBeingStopped}, true},
	{"stop requested, owner alive", func(f *Facts) { f.StopRequested, f.Owner = true, LifeAlive }, Decision{Reason: ReasonBeingStopped}, true},
	{"stopping, all dead", func(f *Facts) { f.Phase, f.Keeper, f.Owner = PhaseStopping, LifeDead, LifeDead }, Decision{Action: Conclude, Reason: ReasonInterrupted}, true},
	{"stop requested, all dead", func(f *Facts) { f.StopRequested, f.Keeper, f.Owner = true, LifeDead, LifeDead }, Decision{Action: Conclude, Reason: ReasonInterrupted}, true},
	{"no phase", func(f *Facts) { f.Phase = "" }, Decision{Reason: ReasonPhaseUnknown}, true},
	{"phase of another version", func(f *Facts) { f.Phase = "Running" }, Decision{Reason: ReasonPhaseUnknown}, true},
	{"newer prompt", func(f *Facts) { f.NewerPrompt = true }, Decision{Reason: ReasonNewerPrompt}, true},
	{"paused for good", func(f *Facts) { f.Paused, f.PausedUntil = true, time.Time{} }, Decision{Reason: ReasonPaused}, true},
	{"paused until", func(f *Facts) { f.Paused, f.PausedUntil = true, noon.Add(1) }, Decision{Reason: ReasonPaused, At: noon.Add(1)}, true},
	{"paused until, no flag", func(f *Facts) { f.PausedUntil = noon.Add(time.Hour) }, Decision{Reason: ReasonPaused, At: noon.Add(time.Hour)}, true},
	{"bot_room", func(f *Facts) { f.Source = "bot_room" }, Decision{Reason: ReasonHostedSource}, false},
	{"cron", func(f *Facts) { f.Source = "cron" }, Decision{Reason: ReasonHostedSource}, false},
	{"kanban", func(f *Facts) { f.Source = "kanban" }, Decision{Reason: ReasonHostedSource}, false},
	{"subagent", func(f *Facts) { f.Source = "subagent" }, Decision{Reason: ReasonHostedSource}, false},
	{"tool", func(f *Facts) { f.Source = "tool" }, Decision{Reason: ReasonHostedSource}, false},
	{"keeper alive", func(f *Facts) { f.Keeper = LifeAlive }, Decision{Reason: ReasonKeeperAlive}, true},
	{"keeper unknown", func(f *Facts) { f.Keeper = LifeUnknown }, Decision{Reason: ReasonKeeperUnknown}, true},
	{"keeper out of range", func(f *Facts) { f.Keeper = 3 }, Decision{Reason: ReasonKeeperUnknown}, true},
	{"owner alive", func(f *Facts) { f.Owner = LifeAlive }, Decision{Reason: ReasonOwnerAlive}, true},
	{"owner unknown", func(f *Facts) { f.Owner = LifeUnknown }, Decision{Reason: ReasonOwnerUnknown}, true},
	{"owner out of range", func(f *Facts) { f.Owner = -1 }, Decision{Reason: ReasonOwnerUnknown}, true},
	{"lease of the living", func(f *Facts) { f.LeaseHeld, f.LeaseOwner = true, LifeAlive }, Decision{Reason: ReasonLeaseHeld}, true},
	{"lease of nobody knows whom", func(f *Facts) { f.LeaseHeld, f.LeaseOwner = true, LifeUnknown }, Decision{Reason: ReasonLeaseHeld}, true},
	{"switched off", func(f *Facts) { f.Settings.Enabled = false }, Decision{Reason: ReasonDisabled}, false},
	{"marker forbids", func(f *Facts) { f.AutoContinue = false }, Decision{Reason: ReasonDisabledByMarker}, false},
	{"reported", func(f *Facts) { f.Reported = true }, Decision{Reason: ReasonReported}, false},
	{"unverified", func(f *Facts) { f.Verified = false }, Decision{Reason: ReasonUnverified}, true},
	{"unverified, store of no name", func(f *Facts) { f.Verified, f.Store = false, "" }, Decision{Reason: ReasonUnverified}, true},
	{"agent unknown", func(f *Facts) { f.AgentKnown = false }, Decision{Reason: ReasonAgentUnknown}, false},
	{"from the future", func(f *Facts) { f.LastProof = noon.Add(1) }, Decision{Reason: ReasonFromTheFuture, At: noon.Add(1)}, true},
	{"no proof of life", func(f *Facts) { f.LastProof = time.Time{} }, Decision{Reason: ReasonAgeUnknown}, true},
	{"stale", func(f *Facts) { f.LastProof, f.RetryAt = noon.Add(-15*time.Minute-1), time.Time{} }, Decision{Action: End, Reason: ReasonStale}, true},
	{"attempts used up", func(f *Facts) { f.Attempts = 2 }, Decision{Action: End, Reason: ReasonAttemptsExhausted}, true},
	{"attempts beyond", func(f *Facts) { f.Attempts = 1 << 62 }, Decision{Action: End, Reason: ReasonAttemptsExhausted}, true},
	{"back-off", func(f *Facts) { f.RetryAt = noon.Add(1) }, Decision{Action: Wait, Reason: ReasonBackOff, Attempt: 1, At: noon.Add(1)}, true},
}

func TestDecideSpeaksForEachObstacleAlone(t *testing.T) {
	t.Parallel()
	for _, o := range obstacles {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(o.want, Decide(cut(o.change))); diff != "" {
				t.Errorf("alone (-want +got):\n%s", diff)
			}
			want := o.want
			if !o.person {
				want = Decision{Action: Continue, Reason: ReasonFresh, Attempt: 1}
			}
			if diff := cmp.Diff(want, Decide(cut(o.change, byPerson))); diff != "" {
				t.Errorf("asked by a person (-want +got):\n%s", diff)
			}
		})
	}
}

// Every pair: whatever else is true, the earlier obstacle decides.
func TestDecideLetsTheFirstRuleThatSpeaksDecide(t *testing.T) {
	t.Parallel()
	for i, first := range obstacles {
		for _, second := range obstacles[i+1:] {
			// The earlier one is applied last: where both are about one field, it stands.
			if diff := cmp.Diff(first.want, Decide(cut(second.change, first.change))); diff != "" {
				t.Errorf("%s and %s (-want +got):\n%s", first.name, second.name, diff)
			}
		}
	}
}

func TestDecideContinuesWhatNothingHoldsBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Facts)
		want   Decision
	}{
		{"running", func(*Facts) {}, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"intended", func(f *Facts) { f.Phase = PhaseIntended }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"second attempt", func(f *Facts) { f.Attempts = 1 }, Decision{Continue, ReasonFresh, 2, time.Time{}}},
		{"attempts below nothing", func(f *Facts) { f.Attempts = -7 }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"end unobserved", func(f *Facts) { f.EndUnobserved = true }, Decision{Continue, ReasonEndUnobserved, 1, time.Time{}}},
		{"last instant of the window", func(f *Facts) { f.LastProof = noon.Add(-15 * time.Minute) }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"died this instant", func(f *Facts) { f.LastProof = noon }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"back-off over", func(f *Facts) { f.RetryAt = noon }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"pause over", func(f *Facts) { f.Paused, f.PausedUntil = true, noon }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"source of a person", func(f *Facts) { f.Source = "telegram" }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"lease of the dead", func(f *Facts) { f.LeaseHeld, f.LeaseOwner = true, LifeDead }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"no lease, so no holder", func(f *Facts) { f.LeaseOwner = LifeAlive }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"reported, unattended", func(f *Facts) { f.Reported, f.Unattended = true, true }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"Hermes's marker has no seal", func(f *Facts) { f.Store, f.Verified = StoreHermes, false }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"Hermes's marker has no phase", func(f *Facts) { f.Store, f.Phase = StoreHermes, "" }, Decision{Continue, ReasonFresh, 1, time.Time{}}},
		{"drained, then a night switched off", func(f *Facts) {
			f.Drained, f.OtherBoot, f.LastProof, f.BootedAt = true, true, noon.Add(-9*time.Hour), noon.Add(-time.Minute)
		}, Decision{Continue, ReasonFresh, 1, time.Time{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Decide(cut(tt.change))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideKeepsWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	if got := Decide(Facts{}); got.Action != Keep {
		t.Errorf("Decide(Facts{}) = %+v, want Keep", got)
	}
	noClock := cut(func(f *Facts) { f.Now = time.Time{} })
	if got := Decide(noClock); got.Action != Keep || got.Reason != ReasonAgeUnknown {
		t.Errorf("without the time: %+v, want Keep(age-unknown)", got)
	}
}

// A clock that was set back under a living process: its monotonic reading must
// not outvote the wall clock that everything on disk was stamped with.
func TestDecideGoesByTheWallClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := cut(func(f *Facts) { f.Now, f.LastProof = now, now.Round(0) })
	f.RetryAt = now.Add(time.Second)
	f.PausedUntil = now.Add(-time.Second)
	want := Decide(f)
	f.Now = f.Now.Round(0)
	if got := Decide(f); got.Action != want.Action || want.Action != Wait {
		t.Errorf("with a monotonic reading %v, without %v, want wait", want.Action, got.Action)
	}
}

package policy

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// found is a record of a turn that was cut a minute ago, and a `turn run`
// without prompt or id that finds it.
func found(changes ...func(*AdmitFacts)) AdmitFacts {
	a := AdmitFacts{
		Verified: true,
		Now:      noon, Settings: Defaults(),
		Exists: true, Phase: PhaseRunning, Keeper: LifeDead, Owner: LifeDead,
		Turn: cut(),
	}
	for _, change := range changes {
		change(&a)
	}
	return a
}

func missing(a *AdmitFacts)     { *a = AdmitFacts{Now: a.Now, Settings: a.Settings} }
func intended(a *AdmitFacts)    { a.Phase = PhaseIntended }
func concluded(a *AdmitFacts)   { a.Phase = PhaseConcluded }
func stopping(a *AdmitFacts)    { a.Phase = PhaseStopping }
func samePrompt(a *AdmitFacts)  { a.HasPrompt, a.SamePrompt = true, true }
func otherPrompt(a *AdmitFacts) { a.HasPrompt, a.SamePrompt = true, false }
func sameID(a *AdmitFacts)      { a.HasID, a.SameID = true, true }
func otherID(a *AdmitFacts)     { a.HasID, a.SameID = true, false }
func stopAsked(a *AdmitFacts)   { a.StopRequested = true }
func stale(a *AdmitFacts)       { a.Turn.LastProof = noon.Add(-time.Hour) }
func exhausted(a *AdmitFacts)   { a.Turn.Attempts = 2 }

func TestAdmit(t *testing.T) {
	t.Parallel()
	type changes = []func(*AdmitFacts)
	for _, tt := range []struct {
		name    string
		changes changes
		want    Admission
		reason  Reason
	}{
		{"no record, no prompt", changes{missing}, Nothing, ReasonNoPrompt},
		{"no record, prompt", changes{missing, otherPrompt}, Start, ReasonOwnPrompt},
		{"no record, prompt and id", changes{missing, otherPrompt, otherID}, Start, ReasonOwnPrompt},
		{"no record, stop came first", changes{missing, otherPrompt, stopAsked}, Stopped, ReasonStopRequested},
		{"no record, stop, no prompt", changes{missing, stopAsked}, Nothing, ReasonNoPrompt},
		{"no record, but an owner was seen to live", changes{missing, otherPrompt, func(a *AdmitFacts) { a.Owner = LifeAlive }}, Refuse, ReasonOwnerAlive},

		{"receipt running", changes{concluded, func(a *AdmitFacts) { a.ReceiptRunning = true }}, Refuse, ReasonReceiptRunning},
		{"receipt running, other prompt", changes{concluded, otherPrompt, func(a *AdmitFacts) { a.ReceiptRunning = true }}, Refuse, ReasonReceiptRunning},
		{"concluded, nothing given", changes{concluded}, Finish, ReasonConcluded},
		{"concluded, receipt pending", changes{concluded, func(a *AdmitFacts) { a.ReceiptPending = true }}, Finish, ReasonReceiptPending},
		{"concluded, same prompt", changes{concluded, samePrompt}, Finish, ReasonConcluded},
		{"concluded, same id", changes{concluded, sameID}, Finish, ReasonConcluded},
		{"concluded, same id, same prompt", changes{concluded, sameID, samePrompt}, Finish, ReasonConcluded},
		{"concluded, same id, other prompt", changes{concluded, sameID, otherPrompt}, Finish, ReasonConcluded},
		{"concluded, other prompt", changes{concluded, otherPrompt}, FinishThenStart, ReasonConcluded},
		{"concluded, other prompt, receipt pending", changes{concluded, otherPrompt, func(a *AdmitFacts) { a.ReceiptPending = true }}, FinishThenStart, ReasonReceiptPending},
		{"concluded, other id, same prompt", changes{concluded, otherID, samePrompt}, FinishThenStart, ReasonConcluded},
		{"concluded, other id, no prompt", changes{concluded, otherID}, Nothing, ReasonNoPrompt},
		{"concluded, stop asked for", changes{concluded, stopAsked}, Finish, ReasonConcluded},
		{"concluded, other prompt, stop came first", changes{concluded, otherPrompt, stopAsked}, Stopped, ReasonStopRequested},

		{"stopping, nothing given", changes{stopping}, Retire, ReasonInterrupted},
		{"stopping, same prompt", changes{stopping, samePrompt}, RetireThenStart, ReasonInterrupted},
		{"stopping, other prompt", changes{stopping, otherPrompt}, RetireThenStart, ReasonInterrupted},
		{"stopping, the interrupted id again", changes{stopping, sameID, samePrompt}, Retire, ReasonInterrupted},
		{"stopping, other id", changes{stopping, otherID, samePrompt}, RetireThenStart, ReasonInterrupted},
		{"stopping, prompt, stop came first", changes{stopping, otherPrompt, stopAsked}, Stopped, ReasonStopRequested},

		{"dead, nothing given", changes{}, ContinueTurn, ReasonFresh},
		{"dead before it ran", changes{intended}, ContinueTurn, ReasonFresh},
		{"dead, same prompt", changes{samePrompt}, ContinueTurn, ReasonFresh},
		{"dead, same id", changes{sameID}, ContinueTurn, ReasonFresh},
		{"dead, same id, other prompt", changes{sameID, otherPrompt}, ContinueTurn, ReasonFresh},
		{"dead, end unobserved", changes{func(a *AdmitFacts) { a.Turn.EndUnobserved = true }}, ContinueTurn, ReasonEndUnobserved},
		{"dead, other prompt", changes{otherPrompt}, Replace, ReasonOtherPrompt},
		{"dead before it ran, other prompt", changes{intended, otherPrompt}, Replace, ReasonOtherPrompt},
		{"dead, other id, same prompt", changes{otherID, samePrompt}, Replace, ReasonOtherPrompt},
		{"dead, other id, no prompt", changes{otherID}, Nothing, ReasonNoPrompt},
		{"dead, stop asked for", changes{stopAsked}, Stopped, ReasonStopRequested},
		{"dead, stop asked for, other prompt", changes{stopAsked, otherPrompt}, Stopped, ReasonStopRequested},
		{"dead, stop asked for in the turn's facts", changes{func(a *AdmitFacts) { a.Turn.StopRequested = true }}, Stopped, ReasonStopRequested},
		{"dead, back-off is waited out", changes{func(a *AdmitFacts) { a.Turn.RetryAt = noon.Add(time.Hour) }}, ContinueTurn, ReasonBackOff},
		{"stale, nothing given", changes{stale}, GiveUp, ReasonStale},
		{"stale, same prompt", changes{stale, samePrompt}, GiveUpThenStart, ReasonStale},
		{"stale, other prompt", changes{stale, otherPrompt}, Replace, ReasonOtherPrompt},
		{"exhausted, nothing given", changes{exhausted}, GiveUp, ReasonAttemptsExhausted},
		{"exhausted, same prompt", changes{exhausted, samePrompt}, GiveUp, ReasonAttemptsExhausted},
		{"exhausted, other prompt", changes{exhausted, otherPrompt}, Replace, ReasonOtherPrompt},
		{"paused", changes{func(a *AdmitFacts) { a.Turn.Paused = true }}, Refuse, ReasonPaused},
		{"paused, other prompt", changes{otherPrompt, func(a *AdmitFacts) { a.Turn.Paused = true }}, Replace, ReasonOtherPrompt},
		{"concluded, not verified", changes{samePrompt, func(a *AdmitFacts) { a.Phase, a.Verified = PhaseConcluded, false }}, Refuse, ReasonUnverified},
		{"concluded, not verified, other prompt", changes{otherPrompt, func(a *AdmitFacts) { a.Phase, a.Verified = PhaseConcluded, false }}, Refuse, ReasonUnverified},
		{"unverified", changes{samePrompt, func(a *AdmitFacts) { a.Turn.Verified = false }}, Refuse, ReasonUnverified},
		{"from the future", changes{func(a *AdmitFacts) { a.Turn.LastProof = noon.Add(1) }}, Refuse, ReasonFromTheFuture},
		{"switches do not bind a person", changes{func(a *AdmitFacts) {
			a.Settings.Enabled, a.Turn.AutoContinue, a.Turn.AgentKnown, a.Turn.Source = false, false, false, "cron"
		}}, ContinueTurn, ReasonFresh},
		{"phase of another version", changes{otherPrompt, func(a *AdmitFacts) { a.Phase = "sleeping" }}, Refuse, ReasonPhaseUnknown},
		{"Turn's doubles of the facts do not count", changes{func(a *AdmitFacts) {
			a.Turn.Phase, a.Turn.Keeper, a.Turn.Owner, a.Turn.Now, a.Turn.Settings = PhaseConcluded, LifeAlive, LifeAlive, time.Time{}, Settings{}
		}}, ContinueTurn, ReasonFresh},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, reason := Admit(found(tt.changes...)); got != tt.want || reason != tt.reason {
				t.Errorf("got %s(%s), want %s(%s)", got, reason, tt.want, tt.reason)
			}
		})
	}
}

// Every phase, every request: what may live comes first.
func TestAdmitRefusesBesideWhatMayLive(t *testing.T) {
	t.Parallel()
	lives := []struct {
		name          string
		keeper, owner Life
		reason        Reason
	}{
		{"keeper alive", LifeAlive, LifeDead, ReasonKeeperAlive},
		{"keeper unknown", LifeUnknown, LifeDead, ReasonKeeperUnknown},
		{"owner alive", LifeDead, LifeAlive, ReasonOwnerAlive},
		{"owner unknown", LifeDead, LifeUnknown, ReasonOwnerUnknown},
		{"both alive", LifeAlive, LifeAlive, ReasonKeeperAlive},
		{"keeper unknown, owner alive", LifeUnknown, LifeAlive, ReasonKeeperUnknown},
	}
	requests := map[string][]func(*AdmitFacts){
		"nothing": {}, "same prompt": {samePrompt}, "other prompt": {otherPrompt}, "same id": {sameID},
		"other id and prompt": {otherID, otherPrompt}, "stop": {stopAsked, otherPrompt},
	}
	for _, phase := range []string{PhaseIntended, PhaseRunning, PhaseStopping, PhaseConcluded, ""} {
		for _, life := range lives {
			for request, changes := range requests {
				a := found(changes...)
				a.Phase, a.Keeper, a.Owner = phase, life.keeper, life.owner
				if got, reason := Admit(a); got != Refuse || reason != life.reason {
					t.Errorf("phase %q, %s, %s: got %s(%s), want refuse(%s)", phase, life.name, request, got, reason, life.reason)
				}
			}
		}
	}
}

func drawAdmit(t *rapid.T) AdmitFacts {
	a := AdmitFacts{
		Verified: rapid.Bool().Draw(t, "verified"),
		Now:      noon, Settings: Settings{
			Enabled:     rapid.Bool().Draw(t, "enabled"),
			Freshness:   30 * time.Minute,
			MaxAttempts: rapid.IntRange(0, 4).Draw(t, "max attempts"),
		},
		Exists:         flip(t, "exists", true),
		Phase:          rapid.SampledFrom([]string{PhaseIntended, PhaseRunning, PhaseRunning, PhaseStopping, PhaseConcluded, "odd"}).Draw(t, "phase"),
		Keeper:         drawLife(t, "keeper"),
		Owner:          drawLife(t, "owner"),
		HasPrompt:      rapid.Bool().Draw(t, "has prompt"),
		HasID:          rapid.Bool().Draw(t, "has id"),
		ReceiptPending: rapid.Bool().Draw(t, "receipt pending"),
		ReceiptRunning: flip(t, "receipt running", false),
		Turn:           drawFacts(t),
		StopRequested:  flip(t, "stop requested", false),
	}
	a.SamePrompt = a.HasPrompt && rapid.Bool().Draw(t, "same prompt")
	a.SameID = a.HasID && rapid.Bool().Draw(t, "same id")
	return a
}

func TestAdmitNeverStartsBesideWhatMayLive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAdmit(t)
		got, reason := Admit(a)
		stop := a.StopRequested || a.Turn.StopRequested
		mayLive := a.Exists && (a.Keeper != LifeDead || a.Owner != LifeDead)
		ended := a.Exists && a.Phase == PhaseConcluded
		for _, broken := range []struct {
			name string
			is   bool
		}{
			{"something may live", mayLive && got != Refuse},
			{"something lives", (a.Keeper == LifeAlive || a.Owner == LifeAlive) && got != Refuse},
			{"a stop came first", stop && got.Starts()},
			{"a receipt is running", a.Exists && a.ReceiptRunning && got != Refuse},
			{"finished work would start again", ended && (got == ContinueTurn || got == Replace || got == Start)},
			{"an id that concluded would run", ended && a.SameID && got.Starts()},
			{"an interrupted turn would go on", a.Exists && a.Phase == PhaseStopping && got == ContinueTurn},
			{"started without a prompt", !a.HasPrompt && got.Starts() && got != ContinueTurn},
			{"begun over a record", a.Exists && got == Start},
			{"did something to a record that is not there", !a.Exists && got != Refuse && got != Start && got != Nothing && got != Stopped},
			{"continued beyond the limit", got == ContinueTurn && a.Turn.Attempts >= a.Settings.MaxAttempts},
			{"continued from the future", got == ContinueTurn && Proof(a.Turn).After(a.Now)},
			{"continued another request", got == ContinueTurn && a.HasPrompt && !a.SamePrompt && !a.SameID},
			{"gave up what may live", (got == GiveUp || got == GiveUpThenStart) && mayLive},
			{"reason is none", !known(reason)},
		} {
			if broken.is {
				t.Fatalf("%s: %s(%s) for %+v", broken.name, got, reason, a)
			}
		}
	})
}

func TestStartsNamesTheAdmissionsThatRunAnAgent(t *testing.T) {
	t.Parallel()
	want := map[Admission]bool{Start: true, ContinueTurn: true, Replace: true, FinishThenStart: true, GiveUpThenStart: true, RetireThenStart: true}
	for a := Refuse - 1; a <= RetireThenStart+1; a++ {
		if a.Starts() != want[a] {
			t.Errorf("%s.Starts() = %t", a, a.Starts())
		}
	}
}

package policy

import (
	"strings"
	"testing"
	"time"
)

// The contracts about the scheduling decision in Hermes's own
// tests/tui_gateway/test_auto_continue.py, each under its own name. Its markers
// are Hermes's.
func seedMarker(changes ...func(*Facts)) Facts {
	f := cut(func(f *Facts) { f.Store, f.Phase, f.Verified, f.LastProof = StoreHermes, "", false, noon })
	for _, change := range changes {
		change(&f)
	}
	return f
}

func wantDecision(t *testing.T, f Facts, action Action, reason Reason) Decision {
	t.Helper()
	d := Decide(f)
	if d.Action != action || d.Reason != reason {
		t.Errorf("got %s(%s), want %s(%s)", d.Action, d.Reason, action, reason)
	}
	return d
}

func TestFreshMarkerSchedulesContinuation(t *testing.T) {
	t.Parallel()
	d := wantDecision(t, seedMarker(), Continue, ReasonFresh)
	if d.Attempt != 1 {
		t.Errorf("attempt = %d, want 1", d.Attempt)
	}
	note := Note(NoteFacts{Prompt: "fix the flaky test", Attempt: d.Attempt})
	if !strings.HasPrefix(note, "[System note: Your previous turn was interrupted") || !strings.Contains(note, "fix the flaky test") {
		t.Errorf("note = %q", note)
	}
}

func TestHostedRoomMarkerIsLeftToTheDriver(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"bot_room", "cron", "kanban", "subagent", "tool"} {
		hosted := func(f *Facts) { f.Source = source }
		wantDecision(t, seedMarker(hosted), Keep, ReasonHostedSource)
		// Not even when it is old or was tried too often: the driver owns its end as well.
		wantDecision(t, seedMarker(hosted, func(f *Facts) { f.LastProof = noon.Add(-24 * time.Hour) }), Keep, ReasonHostedSource)
		wantDecision(t, seedMarker(hosted, func(f *Facts) { f.Attempts = 9 }), Keep, ReasonHostedSource)
		wantDecision(t, seedMarker(hosted, byPerson), Continue, ReasonFresh)
	}
}

func TestStaleMarkerIsRetiredNotContinued(t *testing.T) {
	t.Parallel()
	wantDecision(t, seedMarker(func(f *Facts) { f.Now = noon.Add(time.Hour) }), End, ReasonStale)
}

func TestConfigWidensFreshnessWindow(t *testing.T) {
	t.Parallel()
	wantDecision(t, seedMarker(func(f *Facts) {
		f.Now = noon.Add(time.Hour)
		f.Settings.Freshness = 120 * time.Minute
	}), Continue, ReasonFresh)
}

func TestExhaustedAttemptsBreakTheLoop(t *testing.T) {
	t.Parallel()
	wantDecision(t, seedMarker(func(f *Facts) { f.Attempts = 2 }), End, ReasonAttemptsExhausted)
	wantDecision(t, seedMarker(func(f *Facts) { f.Attempts, f.Settings.MaxAttempts = 2, 3 }), Continue, ReasonFresh)
	wantDecision(t, seedMarker(func(f *Facts) { f.Settings.MaxAttempts = 0 }), End, ReasonAttemptsExhausted)
}

func TestDisabledByConfig(t *testing.T) {
	t.Parallel()
	off := func(f *Facts) { f.Settings.Enabled = false }
	wantDecision(t, seedMarker(off), Keep, ReasonDisabled)
	// The marker is left as it is, however old: switching on again must find it.
	wantDecision(t, seedMarker(off, func(f *Facts) { f.Now = noon.Add(24 * time.Hour) }), Keep, ReasonDisabled)
}

func TestDisabledByMarker(t *testing.T) {
	t.Parallel()
	wantDecision(t, seedMarker(func(f *Facts) { f.AutoContinue = false }), Keep, ReasonDisabledByMarker)
}

func TestNoMarkerMeansNoContinuation(t *testing.T) {
	t.Parallel()
	if got, reason := Admit(AdmitFacts{Now: noon, Settings: Defaults()}); got != Nothing || reason != ReasonNoPrompt {
		t.Errorf("got %s(%s), want nothing(no-prompt)", got, reason)
	}
}

func TestRunningSessionWinsOverContinuation(t *testing.T) {
	t.Parallel()
	// A person's newer prompt is waiting: the marker is left for it.
	wantDecision(t, seedMarker(func(f *Facts) { f.NewerPrompt = true }), Keep, ReasonNewerPrompt)
	// It has begun: its keeper lives.
	wantDecision(t, seedMarker(func(f *Facts) { f.Keeper = LifeAlive }), Keep, ReasonKeeperAlive)
}

func TestDoubleScheduleIsGuarded(t *testing.T) {
	t.Parallel()
	f := seedMarker()
	first := wantDecision(t, f, Continue, ReasonFresh)
	// Carrying out the first decision charges the attempt and leaves a keeper.
	f.Attempts, f.Keeper = first.Attempt, LifeAlive
	wantDecision(t, f, Keep, ReasonKeeperAlive)
}

func TestFailedStartLeavesMarkerForRetry(t *testing.T) {
	t.Parallel()
	// A launch that provably never happened is refunded: the same attempt again.
	f := seedMarker(func(f *Facts) { f.Phase = PhaseIntended })
	first := wantDecision(t, f, Continue, ReasonFresh)
	f.Attempts = first.Attempt - 1
	if second := Decide(f); second != first {
		t.Errorf("after the refund %+v, want %+v", second, first)
	}
}

func TestSecondBackendDefersToALiveMarkerWriter(t *testing.T) {
	t.Parallel()
	for _, life := range []struct {
		owner  Life
		reason Reason
	}{{LifeAlive, ReasonOwnerAlive}, {LifeUnknown, ReasonOwnerUnknown}} {
		for _, change := range []func(*Facts){
			func(*Facts) {},
			byPerson,
			func(f *Facts) { f.Attempts = 9 },
			func(f *Facts) { f.Now = noon.Add(24 * time.Hour) },
			func(f *Facts) { f.EndUnobserved = true },
		} {
			f := seedMarker(change, func(f *Facts) { f.Owner = life.owner })
			// Silently: kept, nothing charged, no time at which to speak.
			if d := wantDecision(t, f, Keep, life.reason); d.Attempt != 0 || !d.At.IsZero() {
				t.Errorf("held back, but not silently: %+v", d)
			}
		}
	}
	// Once it is really gone the same call does schedule.
	wantDecision(t, seedMarker(), Continue, ReasonFresh)
}

func TestHandledFailureIsConcluded(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]ExitFacts{
		"by its code":  {Code: 1},
		"by its event": {Code: 1, ErrorEvent: true},
		"exit 0":       {ErrorEvent: true},
	} {
		if got, reason := ClassifyExit(e); got != ExitConcluded {
			t.Errorf("%s: %s(%s), want concluded", name, got, reason)
		}
	}
}

func TestContinuationCarriesAttemptAndOriginalPrompt(t *testing.T) {
	t.Parallel()
	const original = "the original prompt"
	d := Decide(seedMarker(func(f *Facts) { f.Attempts = 1 }))
	if d.Attempt != 2 {
		t.Errorf("attempt = %d, want 2", d.Attempt)
	}
	first := Note(NoteFacts{Prompt: original, Attempt: 1})
	second := Note(NoteFacts{Prompt: first, Attempt: d.Attempt})
	if Original(second) != original || strings.Count(second, original) != 1 || strings.Count(second, "[System note:") != 1 {
		t.Errorf("continuation of a continuation:\n%s", second)
	}
}

func TestInterruptIsNeverContinued(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Facts){
		func(f *Facts) { f.Store, f.Phase, f.Verified = StoreOwn, PhaseStopping, true },
		func(f *Facts) { f.StopRequested = true }, // it raced the marker write
	} {
		wantDecision(t, seedMarker(change), Conclude, ReasonInterrupted)
		wantDecision(t, seedMarker(change, func(f *Facts) { f.Owner = LifeAlive }), Keep, ReasonBeingStopped)
		wantDecision(t, seedMarker(change, byPerson), Conclude, ReasonInterrupted)
	}
}

package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What its keeper waits for is told while the keeper lives, when Decide has nothing to say but that it does.
func TestWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	dead := Facts{
		Phase: PhaseRunning, Keeper: LifeDead, Owner: LifeDead, RetryAt: later, Cause: ReasonRateLimited, LastProof: now,
		Settings: Defaults(), AutoContinue: true, Verified: true, AgentKnown: true,
	}
	but := func(f Facts, change func(f *Facts)) Facts { change(&f); return f }
	limited := but(dead, func(f *Facts) { f.Keeper = LifeAlive })
	stalled := but(limited, func(f *Facts) { f.RetryAt, f.Stalled, f.Owner, f.Cause = time.Time{}, true, LifeAlive, "" })
	waits := &Waiting{ReasonRateLimited, ReasonRateLimited, 1, later, ""}
	held := func(by Reason) *Waiting { return &Waiting{ReasonRateLimited, ReasonRateLimited, 1, later, by} }
	for _, tc := range []struct {
		name  string
		facts Facts
		want  *Waiting
	}{
		{"at work", but(limited, func(f *Facts) { f.RetryAt, f.Owner = time.Time{}, LifeAlive }), nil},
		{"a provider's limit", limited, waits},
		{"back-off", but(limited, func(f *Facts) { f.Attempts, f.Cause = 1, ReasonKilled }), &Waiting{ReasonBackOff, ReasonKilled, 2, later, ""}},
		{"nobody saw why", but(limited, func(f *Facts) { f.Cause = "" }), &Waiting{ReasonBackOff, "", 1, later, ""}},
		{"over", but(limited, func(f *Facts) { f.RetryAt = now }), nil},
		{"stalled", stalled, &Waiting{ReasonStalled, ReasonStalled, 1, time.Time{}, ""}},
		{"stalled, and nobody can tell", but(stalled, func(f *Facts) { f.Owner = LifeUnknown }), &Waiting{ReasonStalled, ReasonStalled, 1, time.Time{}, ""}},
		{"stalled and gone", but(stalled, func(f *Facts) { f.Owner = LifeDead }), nil},
		{"being stopped", but(stalled, func(f *Facts) { f.Phase = PhaseStopping }), nil},
		{"to be stopped", but(limited, func(f *Facts) { f.StopRequested = true }), nil},
		{"concluded", but(limited, func(f *Facts) { f.Phase = PhaseConcluded }), nil},

		// What its keeper may do it was told when it began: the settings of who looks on do not count.
		{"with attempts of its own", but(limited, func(f *Facts) { f.Settings = Settings{} }), waits},
		{"of an agent of its own", but(limited, func(f *Facts) { f.AgentKnown, f.Verified, f.AutoContinue = false, false, false }), waits},
		{"paused", but(limited, func(f *Facts) { f.Paused = true }), held(ReasonPaused)},
		{"paused until then", but(limited, func(f *Facts) { f.Paused, f.PausedUntil = true, later }), waits},
		{"paused for longer", but(limited, func(f *Facts) { f.Paused, f.PausedUntil = true, later.Add(1) }), held(ReasonPaused)},
		{"a newer prompt", but(limited, func(f *Facts) { f.NewerPrompt = true }), held(ReasonNewerPrompt)},
		{"a lease", but(limited, func(f *Facts) { f.LeaseHeld, f.LeaseOwner = true, LifeAlive }), held(ReasonLeaseHeld)},
		{"stalled and paused", but(stalled, func(f *Facts) { f.Paused = true }), &Waiting{ReasonStalled, ReasonStalled, 1, time.Time{}, ReasonPaused}},

		// Where the keeper is gone, somebody else has to make that try.
		{"of a dead keeper", dead, waits},
		{"that nobody makes: the agent is not known", but(dead, func(f *Facts) { f.AgentKnown = false }), nil},
		{"that nobody makes: paused", but(dead, func(f *Facts) { f.Paused = true }), nil},
		{"that nobody makes: not verified", but(dead, func(f *Facts) { f.Verified = false }), nil},
		{"that nobody makes: no attempt left", but(dead, func(f *Facts) { f.Attempts = 2 }), nil},
		{"nobody can tell of its keeper", but(dead, func(f *Facts) { f.Keeper = LifeUnknown }), nil},
		{"stalled, and its keeper is gone", but(stalled, func(f *Facts) { f.Keeper = LifeDead }), nil},
	} {
		tc.facts.Now = now
		var got *Waiting
		if w, waits := Waits(tc.facts); waits {
			got = &w
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

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
	for _, tc := range []struct {
		name  string
		facts Facts
		want  *Waiting
	}{
		{"at work", Facts{Phase: PhaseRunning, Keeper: LifeAlive, Owner: LifeAlive}, nil},
		{"a provider's limit", Facts{Phase: PhaseRunning, Keeper: LifeAlive, RetryAt: later, Cause: ReasonRateLimited}, &Waiting{ReasonRateLimited, ReasonRateLimited, 1, later}},
		{"of a dead keeper", Facts{Phase: PhaseRunning, Keeper: LifeDead, RetryAt: later, Cause: ReasonRateLimited}, &Waiting{ReasonRateLimited, ReasonRateLimited, 1, later}},
		{"back-off", Facts{Phase: PhaseRunning, Attempts: 1, RetryAt: later, Cause: ReasonKilled}, &Waiting{ReasonBackOff, ReasonKilled, 2, later}},
		{"nobody saw why", Facts{Phase: PhaseRunning, RetryAt: later}, &Waiting{ReasonBackOff, "", 1, later}},
		{"over", Facts{Phase: PhaseRunning, RetryAt: now, Cause: ReasonKilled}, nil},
		{"stalled", Facts{Phase: PhaseRunning, Owner: LifeAlive, Stalled: true}, &Waiting{ReasonStalled, ReasonStalled, 1, time.Time{}}},
		{"stalled, and nobody can tell", Facts{Phase: PhaseRunning, Owner: LifeUnknown, Stalled: true}, &Waiting{ReasonStalled, ReasonStalled, 1, time.Time{}}},
		{"stalled and gone", Facts{Phase: PhaseRunning, Owner: LifeDead, Stalled: true}, nil},
		{"being stopped", Facts{Phase: PhaseStopping, RetryAt: later, Owner: LifeAlive, Stalled: true}, nil},
		{"to be stopped", Facts{Phase: PhaseRunning, RetryAt: later, StopRequested: true}, nil},
		{"concluded", Facts{Phase: PhaseConcluded, RetryAt: later}, nil},
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

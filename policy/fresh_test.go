package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFresh(t *testing.T) {
	t.Parallel()
	const window = 15 * time.Minute
	for _, tt := range []struct {
		name       string
		now, proof time.Time
		window     time.Duration
		want       Freshness
	}{
		{"this instant", noon, noon, window, StillFresh},
		{"a minute", noon, noon.Add(-time.Minute), window, StillFresh},
		{"last instant", noon, noon.Add(-window), window, StillFresh},
		{"one nanosecond too old", noon, noon.Add(-window - 1), window, Stale},
		{"epoch", noon, time.Unix(0, 0), window, Stale},
		{"another zone, same instant", noon, noon.In(time.FixedZone("", 9*3600)), window, StillFresh},
		{"one nanosecond ahead", noon, noon.Add(1), window, Future},
		{"a year ahead", noon, noon.AddDate(1, 0, 0), window, Future},
		{"ahead of a wide window", noon, noon.Add(1), math.MaxInt64, Future},
		{"ahead of no window", noon, noon.Add(1), 0, Future},
		{"no window", noon, noon, 0, Stale},
		{"window below nothing", noon, noon, -1, Stale},
		{"window without end", noon, time.Unix(0, 0), math.MaxInt64, StillFresh},
		{"no proof", noon, time.Time{}, window, FreshnessUnknown},
		{"no clock", time.Time{}, noon, window, FreshnessUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Fresh(tt.now, tt.proof, tt.window); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Both times carry a monotonic reading here, as two calls of time.Now give
// them; a wall clock that was stepped between them must still be seen.
func TestFreshGoesByTheWallClock(t *testing.T) {
	t.Parallel()
	proof := time.Now()
	now := proof.Add(time.Minute).Round(0).Add(-time.Hour) // the clock was set back
	if got := Fresh(now, proof, 15*time.Minute); got != Future {
		t.Errorf("got %s, want future", got)
	}
}

func TestProofOfADrainedTurnStartsAgainAtTheNextBoot(t *testing.T) {
	t.Parallel()
	evening, boot := noon.Add(-12*time.Hour), noon.Add(-time.Minute)
	for _, tt := range []struct {
		name               string
		drained, otherBoot bool
		last, booted, want time.Time
	}{
		{"drained, rebooted", true, true, evening, boot, boot},
		{"drained, same boot", true, false, evening, boot, evening},
		{"crashed, rebooted", false, true, evening, boot, evening},
		{"neither", false, false, evening, boot, evening},
		{"boot time unknown", true, true, evening, time.Time{}, evening},
		{"seen since the boot", true, true, noon, boot, noon},
		{"no proof before", true, true, time.Time{}, boot, boot},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := Facts{Drained: tt.drained, OtherBoot: tt.otherBoot, LastProof: tt.last, BootedAt: tt.booted}
			if got := Proof(f); !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// A wait that was ordered, by a provider's limit or a back-off, is no age: it may be longer than the window, and its keeper
// may die in it.
func TestATurnThatWaitsByOrderDoesNotAgeMeanwhile(t *testing.T) {
	t.Parallel()
	window := Defaults().Freshness
	for _, tt := range []struct {
		name     string
		last, at time.Duration // after noon: the last proof of life, and the end of the wait
		now      time.Duration
		want     Action
		until    time.Duration
	}{
		{"it waits", 0, 32 * time.Minute, 20 * time.Minute, Wait, 32 * time.Minute},
		{"the wait is over", 0, 32 * time.Minute, 32 * time.Minute, Continue, 0},
		{"over for long", 0, 32 * time.Minute, 32*time.Minute + window + 1, End, 0},
		{"it was over before the last proof", 0, -time.Hour, window + 1, End, 0},
		{"under another clock", 0, 24 * 365 * time.Hour, 20 * time.Minute, Wait, 32 * time.Minute},
		{"under another clock, and over", 0, 24 * 365 * time.Hour, 33 * time.Minute, Continue, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := Decide(cut(func(f *Facts) { f.LastProof, f.RetryAt, f.Now = noon.Add(tt.last), noon.Add(tt.at), noon.Add(tt.now) }))
			if d.Action != tt.want || d.Action == Wait && !d.At.Equal(noon.Add(tt.until)) {
				t.Errorf("%s at %s", d.Action, d.At)
			}
		})
	}
}

// Who is told of a next try waits for it.
func TestTheNextTryThatIsShownIsMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := cut(func(f *Facts) {
			f.Settings.Freshness = time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "window"))
			f.Attempts, f.LastProof = rapid.IntRange(-2, 4).Draw(t, "attempts"), drawTime(t, "last proof")
			f.RetryAt = rapid.SampledFrom([]time.Time{noon.Add(1), noon.Add(20 * time.Minute), noon.AddDate(9, 0, 0)}).Draw(t, "retry at")
		})
		w, waits := Waits(f)
		if !waits {
			return
		}
		if f.Now = w.At; Decide(f).Action != Continue {
			t.Fatalf("%s is promised, then %+v", w.At, Decide(f))
		}
	})
}

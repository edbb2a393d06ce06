package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		base, ceiling time.Duration
		attempt       int
		want          time.Duration
	}{
		{"person's own prompt", 5 * time.Second, 5 * time.Minute, 0, 0},
		{"first starts at once", 5 * time.Second, 5 * time.Minute, 1, 0},
		{"second", 5 * time.Second, 5 * time.Minute, 2, 5 * time.Second},
		{"third doubles", 5 * time.Second, 5 * time.Minute, 3, 10 * time.Second},
		{"last below the ceiling", 5 * time.Second, 5 * time.Minute, 7, 160 * time.Second},
		{"ceiling", 5 * time.Second, 5 * time.Minute, 8, 5 * time.Minute},
		{"far beyond", 5 * time.Second, 5 * time.Minute, math.MaxInt, 5 * time.Minute},
		{"power of two reaches its ceiling", time.Second, 4 * time.Second, 4, 4 * time.Second},
		{"one step below an odd ceiling", 2, 5, 3, 4},
		{"no overflow", math.MaxInt64 / 3, math.MaxInt64, 9, math.MaxInt64},
		{"no back-off", 0, time.Minute, 5, 0},
		{"below nothing", -time.Second, time.Minute, 5, 0},
		{"negative attempt", time.Second, time.Minute, -4, 0},
		{"ceiling below the base", time.Minute, time.Second, 5, time.Minute},
		{"no ceiling", time.Minute, 0, 5, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Backoff(Settings{Backoff: tt.base, MaxBackoff: tt.ceiling}, tt.attempt); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBackoffNeverFallsAndNeverPassesItsCeiling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{
			Backoff:    time.Duration(rapid.Int64().Draw(t, "base")),
			MaxBackoff: time.Duration(rapid.Int64().Draw(t, "ceiling")),
		}
		attempt := rapid.IntRange(-2, math.MaxInt-1).Draw(t, "attempt")
		this, next := Backoff(s, attempt), Backoff(s, attempt+1)
		if this < 0 || next < this || next > max(s.Backoff, s.MaxBackoff, 0) {
			t.Fatalf("attempt %d waits %s, the next %s", attempt, this, next)
		}
	})
}

func TestDefaultsAreHermess(t *testing.T) {
	t.Parallel()
	want := Settings{Enabled: true, Freshness: 15 * time.Minute, MaxAttempts: 2, Backoff: 5 * time.Second, MaxBackoff: 5 * time.Minute}
	if got := Defaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

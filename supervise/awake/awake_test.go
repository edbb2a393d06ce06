package awake

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tc := range []struct {
		name          string
		before, after time.Time
		meant, want   time.Duration
	}{
		{"in time", now, now.Add(time.Second), time.Second, 0},
		{"woken early", now, now.Add(time.Millisecond), time.Second, 0},
		{"a busy machine", now, now.Add(time.Second + Slack), time.Second, 0},
		{"stopped for an hour: both clocks went on", now, now.Add(time.Hour + time.Second), time.Second, time.Hour},
		{"slept for an hour: the wall clock alone", now.Round(0), now.Round(0).Add(time.Hour + time.Second), time.Second, time.Hour},
		{"clock set back", now.Round(0), now.Round(0).Add(-time.Hour), time.Second, 0},
		{"no wait was meant", now, now.Add(time.Minute), -time.Second, time.Minute},
	} {
		if got := Late(tc.before, tc.after, tc.meant); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if SetBack(now, now) || SetBack(now, now.Add(1)) || !SetBack(now, now.Add(-1)) {
		t.Error("a clock that was set back is not told from one that was not")
	}
}

// slept is a clock that jumps by an hour at its n-th reading, and stays there.
func slept(n int, read func() time.Time) func() time.Time {
	looks := 0
	return func() time.Time {
		at := read()
		if looks++; looks >= n {
			at = at.Add(time.Hour)
		}
		return at
	}
}

func TestTimeoutCountsOnlyWhileAwake(t *testing.T) {
	t.Parallel()
	wall := func() time.Time { return time.Now().Round(0) } // a sleep: only this one goes on
	for name, now := range map[string]func() func() time.Time{
		"nothing happens":     func() func() time.Time { return time.Now },
		"stopped for an hour": func() func() time.Time { return slept(6, time.Now) },
		"slept for an hour":   func() func() time.Time { return slept(6, wall) },
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := withTimeout(t.Context(), 10*time.Second, now())
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took != 10*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("%s: over after %s, %v", name, took, context.Cause(ctx))
			}
		})
	}
}

func TestTimeoutEndsWithItsParentAndItsCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		ctx, cancel := WithTimeout(parent, time.Hour)
		end()
		<-ctx.Done()
		cancel()
		ctx, cancel = WithTimeout(t.Context(), time.Hour)
		cancel()
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Error(context.Cause(ctx))
		}
	})
}

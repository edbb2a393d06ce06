package health

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hermes-supervisor/supervise/awake"
)

// script is a check that answers one letter after the other (ok or fail), then ends the watch.
type script struct {
	answers string
	asked   int
	took    time.Duration
	end     context.CancelFunc
}

func (s *script) check(context.Context, time.Time) error {
	time.Sleep(s.took)
	s.asked++
	switch {
	case s.asked > len(s.answers):
		s.end()
		return errors.New("asked too often")
	case s.answers[s.asked-1] == 'f':
		return fmt.Errorf("failure %d", s.asked)
	}
	return nil
}

func TestWatchCountsFailuresInARow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answers  string
		failures int
		want     string // "": nothing is wrong when the ctx ends
		told     string // how many have failed, on each change that leads to nothing yet
	}{
		{"ooo", 1, "", ""},
		{"f", 1, "failure 1", ""},
		{"f", 0, "failure 1", ""},
		{"off", 2, "failure 3", "1"},
		{"ffoffoff", 3, "", "12012012"},
		{"ffofff", 3, "failure 6", "12012"},
	} {
		t.Run(fmt.Sprintf("%s of %d", tc.answers, tc.failures), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := &script{answers: tc.answers, took: time.Second, end: cancel}
				began := time.Now()
				told := ""
				err := Watch(ctx, s.check, 10*time.Second, 5*time.Second, tc.failures, func(failed int, _ error) { told += strconv.Itoa(failed) })
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != tc.want {
					t.Errorf("error %q, want %q", got, tc.want)
				}
				if told != tc.told {
					t.Errorf("told %q, want %q", told, tc.told)
				}
				if took, want := time.Since(began), time.Duration(s.asked)*11*time.Second; took != want {
					t.Errorf("%d checks took %s, want %s", s.asked, took, want)
				}
			})
		})
	}
}

func TestWatchBoundsACheckThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Watch(t.Context(), func(ctx context.Context, _ time.Time) error { <-ctx.Done(); return ctx.Err() }, 10*time.Second, 3*time.Second, 2, nil)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 26*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestWatchEndsWithItsContextEvenInACheck(t *testing.T) {
	t.Parallel()
	for _, end := range []time.Duration{5 * time.Second, 12 * time.Second} { // between checks, within one
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), end)
			defer cancel()
			began := time.Now()
			err := Watch(ctx, func(ctx context.Context, _ time.Time) error { <-ctx.Done(); return ctx.Err() }, 10*time.Second, 0, 1, nil)
			if took := time.Since(began); err != nil || took != end {
				t.Errorf("%v after %s, want nil after %s", err, took, end)
			}
		})
	}
}

// The clock of the wall is looked at before and after each wait; here it jumps in the second one.
func TestWatchDoesNotCountTheFirstCheckAfterASleep(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	for _, tc := range []struct {
		name    string
		jump    time.Duration
		answers string
		want    string
	}{
		{"slept for an hour, well again", time.Hour, "ofooo", ""},
		{"slept for an hour, and is ill", time.Hour, "off", "failure 3"},
		{"clock set back", -time.Hour, "ofooo", ""},
		{"a little late", awake.Slack, "of", "failure 2"},
		{"late", awake.Slack + 1, "ofooo", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := &script{answers: tc.answers, end: cancel}
				looks := 0
				now := func() time.Time {
					if looks++; looks > 4 {
						return time.Now().Round(0).Add(tc.jump)
					}
					return time.Now().Round(0)
				}
				got := ""
				if err := watch(ctx, s.check, interval, time.Second, 1, nil, now); err != nil {
					got = err.Error()
				}
				if got != tc.want {
					t.Errorf("error %q, want %q", got, tc.want)
				}
			})
		})
	}
}

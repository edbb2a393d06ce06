package health

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A heartbeat's time is the wall clock's: after an hour of sleep it is an hour old, and the service, which beats every
// minute, may take a minute until the next. One that hangs is found all the same.
func TestHeartbeatThatAMachineSleptThroughIsNoHang(t *testing.T) {
	t.Parallel()
	const (
		interval, maxAge = 30 * time.Second, 2 * time.Minute
		sleepAfter       = 5 * time.Minute
	)
	for _, tc := range []struct {
		name    string
		stopped bool // and not asleep: both clocks have gone on
		beats   bool // after the sleep, too
		want    time.Duration
	}{
		{"slept", false, true, 0},
		{"stopped with all that runs", true, true, 0},
		{"slept, and hangs since", false, false, maxAge},
		{"stopped, and hangs since", true, false, maxAge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "beat")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				started := time.Now()
				now := func() time.Time {
					at := time.Now()
					if !tc.stopped {
						at = at.Round(0)
					}
					if time.Since(started) > sleepAfter {
						at = at.Add(time.Hour)
					}
					return at
				}
				beat := func() {
					if err := os.Chtimes(file, now(), now()); err != nil {
						t.Error(err)
					}
				}
				beat()
				go func() {
					for process := time.NewTicker(time.Minute); ; {
						select {
						case <-ctx.Done():
							return
						case <-process.C:
						}
						if tc.beats || time.Since(started) <= sleepAfter {
							beat()
						}
					}
				}()
				check := func(_ context.Context, woke time.Time) error { return beats(file, maxAge, started, woke, now()) }
				err := watch(ctx, check, interval, time.Second, 1, nil, now)
				after := time.Since(started) - sleepAfter
				switch {
				case tc.want == 0 && err != nil:
					t.Errorf("%s after the sleep: %v", after, err)
				case tc.want > 0 && (err == nil || !strings.Contains(err.Error(), "heartbeat")):
					t.Errorf("the hang was not found: %v", err)
				case tc.want > 0 && (after < tc.want || after > tc.want+2*interval):
					t.Errorf("the hang was found %s after the sleep", after)
				}
			})
		})
	}
}

// A check that the sleep cut runs out of time without a fault of whom it asked.
func TestCheckThatAMachineSleptThroughIsNotCounted(t *testing.T) {
	t.Parallel()
	for cut, want := range map[bool]int{true: 2, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			asked, slept := 0, time.Duration(0)
			check := func(ctx context.Context, _ time.Time) error {
				asked++
				<-ctx.Done()
				if cut && asked == 1 {
					slept = time.Hour
				}
				return ctx.Err()
			}
			now := func() time.Time { return time.Now().Add(slept) }
			if err := watch(t.Context(), check, 10*time.Second, time.Second, 1, nil, now); err == nil || asked != want {
				t.Errorf("a sleep in the first check: %v; %d checks, want %d; %v", cut, asked, want, err)
			}
		})
	}
}

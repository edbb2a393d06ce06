package health

import (
	"context"
	"time"
)

// Watch calls check every interval, the first time after one, and returns its error once it has failed so many times
// in a row (0 counts as 1). It returns nil when ctx ends. One check may take timeout (0: as long as it likes), by the
// ctx that it is given; the interval begins when it has ended. told is called, if it is not nil, with how many have
// failed in a row so far and why, whenever that has changed and Watch goes on.
//
// The machine may sleep: a heartbeat is old then without a fault of the service, and a connection was cut. So the
// first check after a gap of the wall clock of more than two intervals is not counted where it fails, nor is one after
// the clock was set back. The timer itself stands still in the sleep, which gives the service the rest of the interval
// to beat again.
func Watch(ctx context.Context, check func(context.Context) error, interval, timeout time.Duration, failures int, told func(failed int, why error)) error {
	return watch(ctx, check, interval, timeout, failures, told, time.Now)
}

// watch is Watch with the wall clock handed in, which the fake time of a test cannot set.
func watch(ctx context.Context, check func(context.Context) error, interval, timeout time.Duration, failures int, told func(int, error), now func() time.Time) error {
	if told == nil {
		told = func(int, error) {}
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for failed := 0; ; timer.Reset(interval) {
		before := now()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		after := now()
		err := within(ctx, timeout, check)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if failed > 0 {
				failed = 0
				told(0, nil)
			}
		case !gap(before, after, interval):
			if failed++; failed >= failures {
				return err
			}
			told(failed, err)
		}
	}
}

// gap tells whether the wall clock says something else than that one interval has passed.
func gap(before, after time.Time, interval time.Duration) bool {
	passed := after.Round(0).Sub(before.Round(0))
	return passed < 0 || passed > 2*interval
}

func within(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return check(ctx)
}

package health

import (
	"context"
	"time"

	"hermes-supervisor/supervise/awake"
)

// Watch calls check every interval, the first time after one, and returns its error once it has failed so many times
// in a row (0 counts as 1). It returns nil when ctx ends. One check may take timeout (0: as long as it likes), by the
// ctx that it is given; the interval begins when it has ended. told is called, if it is not nil, with how many have
// failed in a row so far and why, whenever that has changed and Watch goes on.
//
// The machine may sleep, or this whole tree be stopped: a heartbeat is old then without a fault of the service, and a
// connection was cut. So check gets the time since when the service has had its chance: zero, or when the last such gap
// was seen (see awake.Late); and a round in which there was one is not counted where it fails, nor is one after the
// clock was set back.
func Watch(ctx context.Context, check func(ctx context.Context, woke time.Time) error, interval, timeout time.Duration, failures int, told func(failed int, why error)) error {
	return watch(ctx, check, interval, timeout, failures, told, time.Now)
}

// watch is Watch with the clock handed in, which the fake time of a test cannot set.
func watch(ctx context.Context, check func(context.Context, time.Time) error, interval, timeout time.Duration, failures int, told func(int, error), now func() time.Time) error {
	if told == nil {
		told = func(int, error) {}
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var woke time.Time
	for failed := 0; ; timer.Reset(interval) {
		before := now()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		asked := now()
		slept := gap(before, asked, interval)
		if slept {
			woke = asked
		}
		err := within(ctx, timeout, func(ctx context.Context) error { return check(ctx, woke) })
		if ended := now(); timeout > 0 && gap(asked, ended, timeout) {
			slept, woke = true, ended
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if failed > 0 {
				failed = 0
				told(0, nil)
			}
		case !slept:
			if failed++; failed >= failures {
				return err
			}
			told(failed, err)
		}
	}
}

func gap(before, after time.Time, meant time.Duration) bool {
	return awake.Late(before, after, meant) > 0 || awake.SetBack(before, after)
}

func within(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return check(ctx)
}

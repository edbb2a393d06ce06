// Package awake tells the time in which nothing ran from the time in which something took long.
//
// A laptop sleeps for an hour, or somebody stops the whole tree (SIGSTOP, a frozen cgroup): then what we supervise has
// not run either, as a rule, and that it has not answered, beaten or printed since says nothing of it. The clocks do not
// agree on what such a time is. In a sleep the wall clock goes on, and the monotonic one, by which timers and contexts of
// Go run, stands still (CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS), or goes on (Windows); while stopped, both
// go on. What they have in common is that a wait comes back much later than it was to, by one of the two clocks. So
// whoever judges by an age looks at the clock before and after each of its waits:
//
//	before := time.Now()
//	wait(d)
//	if awake.Late(before, time.Now(), d) > 0 {
//		// nothing ran: what is judged by its age has a fresh interval from now on
//	}
//
// It promises nothing about a machine that is so busy that every wait is late by more than Slack: there nothing is
// judged by its age.
package awake

import (
	"context"
	"time"
)

// Slack is by how much a wait may come back late without anybody having slept. A busy machine wakes a process within
// some 10 ms.
const Slack = 500 * time.Millisecond

// Late is by how much more than meant has passed between two readings of the clock, by whichever of wall and monotonic
// clock shows more; 0 within Slack. A wall clock that was set ahead looks like a sleep. One that was set back is told by
// SetBack.
func Late(before, after time.Time, meant time.Duration) time.Duration {
	passed := max(after.Sub(before), after.Round(0).Sub(before.Round(0)))
	if late := passed - max(meant, 0); late > Slack {
		return late
	}
	return 0
}

// SetBack tells whether the wall clock was set back between two readings.
func SetBack(before, after time.Time) bool { return after.Round(0).Before(before.Round(0)) }

// look is the longest wait of WithTimeout.
const look = time.Second

// WithTimeout is context.WithTimeout with a timeout that counts only while this process is awake. The cause of the end
// is context.DeadlineExceeded, its error context.Canceled.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return withTimeout(ctx, timeout, time.Now)
}

// withTimeout is WithTimeout with the clock handed in: the time of a test cannot stand still for one process.
func withTimeout(ctx context.Context, timeout time.Duration, now func() time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		b := Budget{Left: timeout}
		for b.Left > 0 {
			wait := min(b.Left, look)
			before := now()
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			b.Spend(before, now(), wait)
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Budget is what is left of a duration that counts only while this process is awake.
type Budget struct{ Left time.Duration }

// Spend takes away what has passed in a wait that was meant to last so long, but not what it was late.
func (b *Budget) Spend(before, after time.Time, meant time.Duration) {
	passed := after.Sub(before)
	if Late(before, after, meant) > 0 {
		passed = min(passed, meant)
	}
	b.Left -= max(passed, 0)
}

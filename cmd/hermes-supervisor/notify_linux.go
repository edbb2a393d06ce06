package main

import "golang.org/x/sys/unix"

// monotonicUsec is the time of the clock that systemd compares RELOADING=1 with, in microseconds.
func monotonicUsec() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano() / 1000
}

package ident

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootID names the running boot: kern.bootsessionuuid, new at every start. "" when it cannot be read.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// Uptime is the time since boot, sleep included and clock steps not: CLOCK_MONOTONIC_RAW, which clock_gettime(3)
// lets run on while the machine sleeps. 0 when it cannot be read.
func Uptime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func readPlace() place {
	return place{bootID: BootID()}
}

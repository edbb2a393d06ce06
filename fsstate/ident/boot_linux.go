package ident

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BootID names the running boot: the kernel's random boot_id, which LXC and systemd-nspawn replace by one per
// container. "" when it cannot be read.
func BootID() string {
	id, err := os.ReadFile(proc.path("sys", "kernel", "random", "boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Uptime is the time since boot, sleep included and clock steps not: CLOCK_BOOTTIME, as this time namespace sees it.
// 0 when it cannot be read.
func Uptime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func readPlace() place {
	return place{bootID: BootID(), pidns: proc.namespace("pid"), timens: proc.namespace("time")}
}

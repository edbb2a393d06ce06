package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ExitStatus tells how the process behind a pidfd ended, also when we are not its parent. The kernel keeps the status
// with the pidfd from the moment the process is reaped (PIDFD_GET_INFO with PIDFD_INFO_EXIT; the call exists since
// Linux 6.13, the exit status in it since 6.15), provided that the pidfd was opened before. It is false while the
// process lives or waits to be reaped, and where the kernel cannot tell.
func ExitStatus(pidfd int) (Exit, bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(pidfd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return Exit{}, false
	}
	return exitOfStatus(syscall.WaitStatus(info.Exit_code)), true //nolint:gosec // the status word of wait(2), 16 bits
}

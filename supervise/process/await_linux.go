package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// maxAwaited bounds the handles that are open at once while members are waited for.
const maxAwaited = 32

// awaitAny waits until one of procs ends, for at most d (which is short: the end of ctx is seen after it). The error
// is that of ctx.
func awaitAny(ctx context.Context, procs []proc, d time.Duration) error {
	var fds []unix.PollFd
	for _, p := range procs[:min(len(procs), maxAwaited)] {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			continue
		}
		defer unix.Close(fd)                                               //nolint:errcheck // nothing to lose
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) //nolint:gosec // a descriptor
	}
	if len(fds) == 0 {
		return Pause(ctx, d)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	timeout := unix.NsecToTimespec(int64(d))
	_, _ = unix.Ppoll(fds, &timeout, nil) // interrupted or not: the caller looks again
	return ctx.Err()
}

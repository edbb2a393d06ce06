package process

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// awaitParent waits for the parent's handle, in Go's netpoller.
func awaitParent(ctx context.Context, parent int) error {
	fd, err := unix.PidfdOpen(parent, unix.PIDFD_NONBLOCK)
	if err != nil { // it is gone, or there are no handles: an old kernel, a sandbox
		return pollParent(ctx, parent)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()             //nolint:errcheck // nothing to lose
	if os.Getppid() != parent { // while it is, nobody else can have got its pid
		return nil
	}
	if err := awaitHandle(ctx, f); err != nil && ctx.Err() == nil {
		return pollParent(ctx, parent)
	}
	return ctx.Err()
}

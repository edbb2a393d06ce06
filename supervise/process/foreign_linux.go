package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate/ident"
)

// reapedWithin is how long the parent of an ended process may take to reap it: only then does the kernel tell a
// stranger how it ended. An init that never reaps leaves it unknown.
const reapedWithin = 500 * time.Millisecond

func awaitForeign(ctx context.Context, id ident.Ident) (Exit, bool, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return Exit{}, false, nil
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EPERM): // an old kernel, a sandbox
		return pollForeign(ctx, id)
	case err != nil:
		return Exit{}, false, fmt.Errorf("open a handle of pid %d: %w", id.PID, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()                     //nolint:errcheck // nothing to lose
	if ident.Check(id) != ident.Alive { // looked at after the handle was opened: the pid cannot change hands in between
		return Exit{}, false, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := f.SyscallConn()
	if err != nil {
		return Exit{}, false, fmt.Errorf("wait for pid %d: %w", id.PID, err)
	}
	if err := conn.Read(func(fd uintptr) bool { return ended(int(fd)) }); err != nil {
		if ctx.Err() != nil {
			return Exit{}, false, ctx.Err()
		}
		return pollForeign(ctx, id)
	}
	for deadline := time.Now().Add(reapedWithin); ; {
		if exit, ok := ExitStatus(fd); ok || time.Now().After(deadline) {
			return exit, ok, nil
		}
		if err := pause(ctx, shortWait); err != nil {
			return Exit{}, false, err
		}
	}
}

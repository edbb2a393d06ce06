package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate/ident"
)

// reapedWithin is how long the status of an ended process is looked for: from its end to its reaping it stands in
// /proc, and from its reaping on the kernel keeps it with the handle.
const reapedWithin = 500 * time.Millisecond

func awaitForeign(ctx context.Context, id ident.Ident, ready func()) (Exit, bool, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return Exit{}, false, nil
	case err != nil: // an old kernel, a sandbox, too many open files
		ready()
		return pollForeign(ctx, id)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()          //nolint:errcheck // nothing to lose
	switch ident.Check(id) { // looked at after the handle was opened: the pid cannot change hands in between
	case ident.Alive:
	case ident.Dead:
		exit, ok := zombieStatus(id) // it may have ended only now
		return exit, ok, nil
	default:
		ready()
		return pollForeign(ctx, id)
	}
	ready()
	if err := awaitHandle(ctx, f); err != nil {
		if ctx.Err() != nil {
			return Exit{}, false, ctx.Err()
		}
		return pollForeign(ctx, id)
	}
	for deadline := time.Now().Add(reapedWithin); ; {
		exit, ok := ExitStatus(fd)
		if !ok {
			exit, ok = zombieStatus(id)
		}
		if ok || time.Now().After(deadline) {
			return exit, ok, nil
		}
		if err := Pause(ctx, shortWait); err != nil {
			return Exit{}, false, err
		}
	}
}

// awaitHandle waits in Go's netpoller for the end of the process behind a pidfd. The error is that of ctx, or says that
// the handle cannot be waited for.
func awaitHandle(ctx context.Context, pidfd *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = pidfd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait for a process handle: %w", err)
	}
	if err := conn.Read(func(fd uintptr) bool { return ended(int(fd)) }); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// zombieStatus reads the status of an ended process that nobody has reaped yet: field 52 of proc_pid_stat(5), in the
// form of wait(2), which the kernel shows to those who may trace the process. An init that is slow to reap, or never
// does, leaves no other way.
func zombieStatus(id ident.Ident) (Exit, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/stat")
	if err != nil {
		return Exit{}, false
	}
	_, rest, found := strings.Cut(string(data[max(0, bytes.LastIndexByte(data, ')')):]), ") ")
	fields := strings.Fields(rest) // from field 3 on
	if !found || len(fields) < 50 || fields[0] != "Z" || fields[19] != strconv.FormatInt(id.Start, 10) {
		return Exit{}, false
	}
	status, err := strconv.ParseUint(fields[49], 10, 16)
	if err != nil {
		return Exit{}, false
	}
	return exitOfStatus(syscall.WaitStatus(status)), true
}

// ended tells whether the process behind a pidfd has ended, with all its threads, reaped or not.
func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}} //nolint:gosec // a descriptor
	for {
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil && n > 0
		}
	}
}

//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownSession is the session of this process, which it does not leave.
var ownSession = sync.OnceValue(func() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
})

// pinned opens a handle of p, compares what it holds with p, and calls do under it. The error is os.ErrProcessDone
// when p is gone or its number is another's.
func pinned(p proc, do func(*os.Process, proc) error) error {
	h, err := os.FindProcess(p.pid)
	if err != nil {
		return fmt.Errorf("open a handle of pid %d: %w", p.pid, err)
	}
	defer h.Release() //nolint:errcheck // nothing to lose
	now, err := readProc(p.pid)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH) || err == nil && now.key() != p.key() {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("verify pid %d: %w", p.pid, err)
	}
	return do(h, now)
}

// signalOne signals p through a handle. Whether it is the leader matters on Windows only.
func signalOne(p proc, sig syscall.Signal, _ bool) error {
	return pinned(p, func(h *os.Process, _ proc) error {
		if err := h.Signal(sig); err != nil {
			return fmt.Errorf("signal %s to pid %d: %w", signalName(int(sig)), p.pid, err)
		}
		if wakes(sig) {
			_ = h.Signal(syscall.SIGCONT)
		}
		return nil
	})
}

// signalGroup signals the group of p. While p lives in it under our handle, the number of the group is its own.
func signalGroup(p proc, sig syscall.Signal) error {
	return pinned(p, func(_ *os.Process, now proc) error {
		if now.pgid != p.pgid || !now.living {
			return os.ErrProcessDone
		}
		err := syscall.Kill(-p.pgid, sig)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		if err != nil {
			return fmt.Errorf("signal %s to group %d: %w", signalName(int(sig)), p.pgid, err)
		}
		if wakes(sig) {
			_ = syscall.Kill(-p.pgid, syscall.SIGCONT)
		}
		return nil
	})
}

// wakes tells whether SIGCONT has to follow, so that a stopped process gets to see the signal.
func wakes(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGCONT:
		return false
	default:
		return true
	}
}

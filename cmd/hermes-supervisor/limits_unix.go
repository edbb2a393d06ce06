//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"hermes-supervisor/supervise/process"
)

// limitsSupported says whether this system has the limits.
func limitsSupported() bool { return true }

// become sets l on this process and turns it into argv. It returns only what kept it from that.
func become(l limits, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		if in, ok := errors.AsType[*exec.Error](err); ok {
			err = in.Err
		}
		if in, ok := errors.AsType[*fs.PathError](err); ok {
			err = in.Err
		}
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	// On Linux nice belongs to a thread, and the thread that calls exec is the one that stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if l.terminal {
		_ = process.TakeTerminal(os.Stdin) // closed meanwhile: the program sees that for itself
	}
	if l.nice != 0 {
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, l.nice); err != nil {
			return &limitError{fmt.Sprintf("nice %d", l.nice), err}
		}
	}
	if l.openFiles != 0 {
		// By package syscall and no other: it then does not put back, at exec, the soft limit that the Go runtime found.
		if err := setLimit(syscall.RLIMIT_NOFILE, int64(l.openFiles)); err != nil {
			return &limitError{fmt.Sprintf("open files %d", l.openFiles), err}
		}
	}
	if l.memory != 0 { // last, since it binds this program too
		if err := setLimit(syscall.RLIMIT_DATA, l.memory); err != nil {
			return &limitError{fmt.Sprintf("memory %d", l.memory), err}
		}
	}
	return fmt.Errorf("run %s: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}

// setLimit sets the soft and the hard limit, so that the program cannot take it back.
func setLimit(resource int, n int64) error {
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}) //nolint:gosec // above zero
}

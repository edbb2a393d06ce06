package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession: there are no sessions in the sense of Unix, see scan.
func ownSession() int { return 0 }

// ctrlBreak is what SIGINT and SIGTERM become: CTRL_BREAK to the console group that pid leads (CTRL_C is switched off
// in a new group). It needs a console that both share; without one it fails, and the next step of a ladder follows.
func ctrlBreak(sig syscall.Signal, pid int) error {
	if sig != syscall.SIGINT && sig != syscall.SIGTERM {
		return errors.ErrUnsupported
	}
	return os.NewSyscallError("GenerateConsoleCtrlEvent",
		windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(pid))) //nolint:gosec // a pid
}

// signalOne terminates p, or sends CTRL_BREAK where it is the leader: for a number that is no group's, Windows may
// signal everything at the console.
func signalOne(p proc, sig syscall.Signal, leader bool) error {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p.pid)) //nolint:gosec // a pid
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("open a handle of pid %d: %w", p.pid, os.NewSyscallError("OpenProcess", err))
	}
	defer windows.CloseHandle(h) //nolint:errcheck // nothing to lose
	start, err := startOf(h)
	if err != nil {
		return fmt.Errorf("verify pid %d: %w", p.pid, err)
	}
	switch {
	case start != p.start:
		return os.ErrProcessDone
	case sig == syscall.SIGKILL:
		err = os.NewSyscallError("TerminateProcess", windows.TerminateProcess(h, 1))
	case leader:
		err = ctrlBreak(sig, p.pid)
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("signal %s to pid %d: %w", signalName(int(sig)), p.pid, err)
	}
	return nil
}

// signalGroup signals the group that p leads. Each process is taken for a group of its own, see scan.
func signalGroup(p proc, sig syscall.Signal) error { return signalOne(p, sig, true) }

package ident

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Process states of <sys/proc.h>.
const (
	stateStopped = 4 // SSTOP
	stateZombie  = 5 // SZOMB, set when the last thread has ended
)

// look needs no handle: one sysctl reads pid, state and start under the kernel's lock, so they belong together.
func look(pid int) (process, error) {
	if pid <= 0 {
		return process{}, errors.New("not a pid")
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		// A pid that nobody has is an empty answer, which x/sys turns into EIO: the signal check tells it from others.
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return process{}, os.ErrProcessDone
		}
		return process{}, os.NewSyscallError("sysctl kern.proc.pid", err)
	}
	if int(info.Proc.P_pid) != pid {
		return process{}, fmt.Errorf("sysctl kern.proc.pid: answered for process %d", info.Proc.P_pid)
	}
	if info.Proc.P_stat == stateZombie {
		return process{}, os.ErrProcessDone
	}
	start := info.Proc.P_starttime
	return process{
		start:   start.Sec*1_000_000 + int64(start.Usec),
		stopped: info.Proc.P_stat == stateStopped,
	}, nil
}

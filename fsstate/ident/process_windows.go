package ident

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// look holds the handle throughout: while it is open, nobody else gets the pid. Stopped is not known here, for
// Windows suspends threads and not processes.
func look(pid int) (process, error) {
	if pid <= 0 || uint64(pid) > 1<<32-1 {
		return process{}, errors.New("not a pid")
	}
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return process{}, os.ErrProcessDone
	}
	if err != nil {
		return process{}, os.NewSyscallError("OpenProcess", err) // access denied is not death
	}
	defer windows.CloseHandle(h) //nolint:errcheck // it was only read

	// OpenProcess ignores the two lowest bits of a pid, all of which are multiples of four: 813 opens 812.
	actual, err := windows.GetProcessId(h)
	if err != nil {
		return process{}, os.NewSyscallError("GetProcessId", err)
	}
	if int(actual) != pid {
		return process{}, fmt.Errorf("the number is no pid: %w", os.ErrProcessDone)
	}
	// An exited process keeps its pid and its times while anybody has a handle of it: only the wait tells.
	event, err := windows.WaitForSingleObject(h, 0)
	switch {
	case err != nil:
		return process{}, os.NewSyscallError("WaitForSingleObject", err)
	case event == windows.WAIT_OBJECT_0:
		return process{}, os.ErrProcessDone
	case event != uint32(windows.WAIT_TIMEOUT):
		return process{}, fmt.Errorf("WaitForSingleObject: event %#x", event)
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return process{}, os.NewSyscallError("GetProcessTimes", err)
	}
	return process{start: int64(created.HighDateTime)<<32 | int64(created.LowDateTime)}, nil
}

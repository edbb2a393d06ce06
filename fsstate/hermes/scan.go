package hermes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"

	"hermes-supervisor/fsstate/ident"
)

// liveCommand looks through the process table.
func liveCommand(home string) (pid int, live bool, err error) {
	pids, err := process.Pids()
	if err != nil {
		return 0, true, fmt.Errorf("list processes: %w", err)
	}
	for _, p := range pids {
		if int(p) == os.Getpid() {
			continue
		}
		if live, err := liveAt(home, int(p)); live {
			return int(p), true, err
		}
	}
	return 0, false, nil
}

func liveAt(home string, pid int) (live bool, err error) {
	argv, err := commandLine(pid)
	if err != nil {
		if vanished(err) || !ours(userOf(pid)) || over(pid) {
			return false, nil // system processes hide theirs on some systems
		}
		return true, fmt.Errorf("read the command line of pid %d: %w", pid, err)
	}
	if !isHermes(argv) {
		return false, nil
	}
	environ, err := (&process.Process{Pid: int32(pid)}).Environ() //nolint:gosec // a pid of the process table
	switch {
	case err == nil:
		return mayServe(home, argv, environ), nil
	case vanished(err) || foreign(userOf(pid)):
		return false, nil
	default:
		return true, fmt.Errorf("read the environment of pid %d: %w", pid, err)
	}
}

func commandLine(pid int) ([]string, error) {
	return (&process.Process{Pid: int32(pid)}).CmdlineSlice() //nolint:gosec // checked by the caller
}

func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, process.ErrorProcessNotRunning)
}

// userOf is the real user id of a process, unknownUser where it cannot be told.
func userOf(pid int) int {
	uids, err := (&process.Process{Pid: int32(pid)}).Uids() //nolint:gosec // a pid of the process table
	if err != nil || len(uids) == 0 {
		return unknownUser
	}
	return int(uids[0])
}

const unknownUser = -1 // as os.Getuid says where there are no user ids

func ours(user int) bool { return user != unknownUser && user == os.Getuid() }

// foreign: another user's Hermes works in that user's home, since ours is closed to
// it. Root's may well work in ours.
func foreign(user int) bool {
	return user != unknownUser && user != 0 && user != os.Getuid()
}

// over: a zombie is listed, and its command line cannot be read everywhere.
func over(pid int) bool {
	_, err := ident.Of(pid, "")
	return errors.Is(err, os.ErrProcessDone)
}

package hermes

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"hermes-supervisor/fsstate/ident"
)

// liveCommand looks through the process table.
func liveCommand(home string) (pid int, live bool, err error) {
	pids, err := ident.PIDs()
	if err != nil {
		return 0, true, err
	}
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		if live, err := liveAt(home, pid); live {
			return pid, true, err
		}
	}
	return 0, false, nil
}

func liveAt(home string, pid int) (live bool, err error) {
	argv, err := ident.CommandLine(pid)
	if err != nil {
		if vanished(err) || !ours(userOf(pid)) || over(pid) {
			return false, nil // system processes hide theirs on some systems
		}
		return true, err
	}
	if !isHermes(argv) {
		return false, nil
	}
	environ, err := ident.Environment(pid)
	switch {
	case err == nil:
		return mayServe(home, argv, environ), nil
	case vanished(err) || foreign(userOf(pid)):
		return false, nil
	default:
		return true, err
	}
}

func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// userOf is the real user id of a process, unknownUser where it cannot be told.
func userOf(pid int) int {
	user, err := ident.User(pid)
	if err != nil {
		return unknownUser
	}
	return user
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

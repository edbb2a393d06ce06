package ident

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func scanTagged() (Tagged, error) {
	return proc.tagged(os.Getpid())
}

// scanRounds bounds how often the process table is listed again for what appeared while it was read.
const scanRounds = 4

// tagged reads the environment of every process but self. A process may fork and exit while the table is read, so
// the table is listed again until a round finds nobody new; whoever had no environment yet is asked again.
func (p procfs) tagged(self int) (Tagged, error) {
	if err := p.ours(); err != nil {
		return nil, err
	}
	found := Tagged{}
	seen := map[int]bool{self: true}
	for range scanRounds {
		pids, err := p.pids()
		if err != nil {
			return nil, err
		}
		fresh := false
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			env, err := p.environ(pid)
			if outOfResources(err) {
				return nil, err
			}
			if env == nil && !errors.Is(err, fs.ErrPermission) {
				continue
			}
			seen[pid], fresh = true, true
			found.add(pid, env)
		}
		if !fresh {
			break
		}
	}
	return found, nil
}

// outOfResources tells our own trouble, which fails the scan, from that of a process which is gone or forbidden.
func outOfResources(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

package process

import (
	"fmt"
	"os"

	gops "github.com/shirou/gopsutil/v4/process"
)

// maxAncestors bounds the walk to the root: a chain that is longer changes under our eyes.
const maxAncestors = 256

// IsAncestor tells whether a process is an ancestor of this one: its parent, the parent of that, and so on. A process
// that is not there is none.
func IsAncestor(pid int) (bool, error) {
	at := os.Getppid()
	for range maxAncestors {
		if at == pid {
			return pid > 0, nil
		}
		if at <= 1 {
			return false, nil
		}
		p, err := gops.NewProcess(int32(at)) //nolint:gosec // a pid fits
		if err != nil {
			return false, fmt.Errorf("read the parents of pid %d: %w", os.Getpid(), err)
		}
		parent, err := p.Ppid()
		if err != nil {
			return false, fmt.Errorf("read the parents of pid %d: %w", os.Getpid(), err)
		}
		at = int(parent)
	}
	return false, nil
}

// Name is a process's own name for people and for telling a shell from an agent; "" where it cannot be read.
func Name(pid int) string {
	p, err := gops.NewProcess(int32(pid)) //nolint:gosec // a pid fits
	if err != nil {
		return ""
	}
	name, err := p.Name()
	if err != nil {
		return ""
	}
	return name
}

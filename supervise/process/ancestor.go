package process

import (
	"fmt"
	"os"

	"hermes-supervisor/fsstate/ident"
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
		parent, err := ident.Parent(at)
		if err != nil {
			return false, fmt.Errorf("read the parents of pid %d: %w", os.Getpid(), err)
		}
		at = parent
	}
	return false, nil
}

// Name is a process's own name for people and for telling a shell from an agent; "" where it cannot be read.
func Name(pid int) string {
	name, _ := ident.Name(pid)
	return name
}

//go:build !linux

package process

// ExitStatus tells how a process ended that we are not the parent of. Only Linux can, through a pidfd: here it is
// always false.
func ExitStatus(int) (Exit, bool) { return Exit{}, false }

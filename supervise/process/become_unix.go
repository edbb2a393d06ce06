//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Become runs a program in the place of this process, with its streams and its environment; stdin is another stdin for it,
// nil: ours. It returns only where that fails; the code is for systems where it does not.
func Become(program string, args []string, stdin *os.File) (code int, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	if stdin != nil {
		if err := unix.Dup2(int(stdin.Fd()), 0); err != nil {
			return 0, fmt.Errorf("run %s: hand on stdin: %w", program, err)
		}
	}
	return 0, fmt.Errorf("run %s: %w", program, syscall.Exec(path, append([]string{program}, args...), os.Environ()))
}

//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Become runs a program in the place of this process, with its streams and its environment. It returns only where that
// fails; the code is for systems where it does not.
func Become(program string, args []string) (code int, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	return 0, fmt.Errorf("run %s: %w", program, syscall.Exec(path, append([]string{program}, args...), os.Environ()))
}

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal tells whether a file is a terminal, as isatty(3) does.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

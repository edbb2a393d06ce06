package process

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsTerminal tells whether a file is a console (GetConsoleMode).
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

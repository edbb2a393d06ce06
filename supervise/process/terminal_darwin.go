package process

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// The requests of tcgetattr(3), and of tcsetattr(3) at once: it must not wait for a terminal that nobody reads.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)

// unstopped does what a process in the background would be stopped for, with SIGTTOU ignored for moments in which nothing
// is started: under Host.mu, or by a process that does nothing else. After that it is caught, which is not inherited;
// package signal cannot undo the ignoring otherwise (Reset leaves it so, Go 1.26).
func unstopped(do func() error) error {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Notify(make(chan os.Signal, 1), unix.SIGTTOU)
	return do()
}

// IsTerminal tells whether a file is a terminal, as isatty(3) does.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

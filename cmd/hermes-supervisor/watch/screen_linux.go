package watch

import "golang.org/x/sys/unix"

// The requests of tcgetattr(3), and of tcsetattr(3) at once: it must not wait for a terminal that nobody reads.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

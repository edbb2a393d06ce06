package process

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The requests of tcgetattr(3), and of tcsetattr(3) at once: it must not wait for a terminal that nobody reads.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

// unstopped does what a process in the background would be stopped for, with SIGTTOU blocked in this one thread, which
// starts nothing meanwhile. It is not ignored: package signal cannot undo that (Reset leaves it so, Go 1.26).
func unstopped(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, before unix.Sigset_t
	const bits = 8 * int(unsafe.Sizeof(ttou.Val[0]))
	ttou.Val[(int(unix.SIGTTOU)-1)/bits] |= 1 << ((int(unix.SIGTTOU) - 1) % bits)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &before); err != nil {
		return err
	}
	return errors.Join(do(), unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
}

// IsTerminal tells whether a file is a terminal, as isatty(3) does.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

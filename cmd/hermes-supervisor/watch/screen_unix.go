//go:build unix

package watch

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// modes are those of a terminal (termios(3)).
type modes = *unix.Termios

func readModes(in, _ *os.File) (modes, error) {
	return unix.IoctlGetTermios(int(in.Fd()), getModes)
}

// setRaw has each key come as it is typed, Ctrl-C and Ctrl-Z too; what is written is still taken as before.
func setRaw(in, _ *os.File, before modes) error {
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(int(in.Fd()), setModes, &raw)
}

func restoreModes(in, _ *os.File, before modes) error {
	return unix.IoctlSetTermios(int(in.Fd()), setModes, before)
}

func size(out *os.File) (width, height int) {
	w, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(w.Col), int(w.Row)
}

// caught are the signals that the screen is told of: all but the last three end it.
var caught = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH,
}

func isStop(s os.Signal) bool     { return s == unix.SIGTSTP }
func isContinue(s os.Signal) bool { return s == unix.SIGCONT }
func isResize(s os.Signal) bool   { return s == unix.SIGWINCH }

// isJob tells whether a shell can take the terminal over while this process is stopped, and continue it: such a one has
// put it into a group of its own. In the group of the session's first process (a terminal window that was opened for this
// program, ssh and docker with a command, PID 1) nobody would, and the kernel does not stop by Ctrl-Z there either.
func isJob() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

// stopSelf stops this process and those that belong to the same job (a script that called it), as Ctrl-Z would have. It
// returns when somebody lets us go on; SIGTSTP is ignored then.
func stopSelf() {
	signal.Ignore(unix.SIGTSTP) // it is for the others: caught by us, it may be told after the SIGCONT that ends this
	_ = syscall.Kill(0, unix.SIGTSTP)
	_ = syscall.Kill(syscall.Getpid(), unix.SIGSTOP)
}

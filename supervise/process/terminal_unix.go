//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate/ident"
)

// A terminal has one group of processes in its foreground: they read from it, and Ctrl-C and Ctrl-Z are for them. A
// child with our terminal (Spec.Terminal) is that group from its start to its end, as the job of a shell is:
//
//	start     the terminal's modes are remembered, the child's group comes to the foreground
//	stop      Ctrl-Z stops the child: our group takes the terminal back and stops as well, so that the shell that we
//	          are a job of takes over; with its fg the child has the terminal again and goes on, with its bg it goes
//	          on in the background, where it stops, and we with it, when it wants to read
//	end       our group takes the terminal back, with the modes that it had, before Child.Done is closed
//
// Who is in the background may not change any of this and is stopped by SIGTTOU for trying, unless that is blocked or
// ignored, which would be inherited: unstopped sees to it that no program of ours does.

// InForeground tells whether f is this process's controlling terminal and this process is in the foreground of it.
func InForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// HasTerminal tells whether this process has a controlling terminal, whatever its streams are. It has none any more when
// that was closed.
func HasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// TakeTerminal is for the program itself, before it begins: where its parent is in the foreground of the terminal f, it
// comes there in its place. Without it a program may ask for the terminal before its parent has handed it over.
func TakeTerminal(f *os.File) error {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return fmt.Errorf("find who has the terminal: %w", err)
	}
	parents, err := unix.Getpgid(os.Getppid())
	if err != nil {
		return fmt.Errorf("find the parent's group: %w", err)
	}
	if group != parents {
		return nil // it has been handed over, or the parent is in the background and has nothing to hand over
	}
	return unstopped(func() error { return setForeground(f, unix.Getpgrp()) })
}

func setForeground(f *os.File, group int) error {
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPGRP, group); err != nil {
		return fmt.Errorf("put group %d into the foreground: %w", group, err)
	}
	return nil
}

// loan is our terminal in the hands of a child. Its methods are called under Host.mu.
type loan struct {
	terminal *os.File
	ours     *unix.Termios // modes before the child began; nil: not known
	childs   *unix.Termios // modes when it was stopped
	away     bool          // the child is in the background, and so it has nothing to give back
	waits    bool          // it has stopped
	over     bool
}

// lend is the loan of a child that is about to be started; nil where it gets none.
func lend(s Spec) *loan {
	if !s.Terminal {
		return nil
	}
	// A supervisor in the background has nothing to lend yet.
	return &loan{terminal: s.Stdin, ours: modesOf(s.Stdin), away: !InForeground(s.Stdin)}
}

func modesOf(f *os.File) *unix.Termios {
	modes, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	if err != nil {
		return nil
	}
	return modes
}

// move puts a group into the foreground, with its modes. A terminal that was closed has neither.
func (l *loan) move(group int, modes *unix.Termios) {
	_ = unstopped(func() error {
		err := setForeground(l.terminal, group)
		if modes != nil {
			err = errors.Join(err, unix.IoctlSetTermios(int(l.terminal.Fd()), setModes, modes))
		}
		return err
	})
}

// begin hands the terminal over, unless the child has taken it already.
func (l *loan) begin(c *Child) {
	if !l.away {
		l.move(c.pid, nil)
	}
}

// end takes the terminal back from a child that has ended, and has not been replaced by another.
func (l *loan) end() {
	l.over = true
	if !l.away {
		l.move(unix.Getpgrp(), l.ours)
	}
}

// stopped is told that the child has stopped, and takes the terminal back. It says whether we are to stop as well, as
// the job of a shell does.
func (l *loan) stopped(c *Child) bool {
	if l.over || l.waits {
		return false
	}
	l.waits = true
	switch {
	case !l.away:
		l.childs, l.away = modesOf(l.terminal), true
		l.move(unix.Getpgrp(), l.ours)
	case InForeground(l.terminal): // a shell does not say so to a job that runs
		l.resume(c)
		return false
	}
	return true
}

// resume lets the child go on, with the terminal when this process is in the foreground again, else without (bg).
func (l *loan) resume(c *Child) {
	if l.over {
		return
	}
	if l.away && InForeground(l.terminal) {
		l.away = false
		l.move(c.pid, l.childs)
	}
	if l.waits {
		l.waits = false
		_ = syscall.Kill(-c.pid, syscall.SIGCONT) // not reaped, so the number is its own
	}
}

// notAJob is how long after it stopped itself a process that still runs takes itself for one that no shell can continue:
// the kernel does not stop those (an orphaned process group).
const notAJob = 100 * time.Millisecond

// attend passes on between a child with our terminal and the shell that we may be a job of.
func (h *Host) attend(c *Child) {
	wake := make(chan os.Signal, 8)
	signal.Notify(wake, unix.SIGCHLD, unix.SIGCONT)
	defer signal.Stop(wake)
	id, err := ident.Of(c.pid, "")
	if err != nil {
		return // it has ended
	}
	late := time.NewTimer(time.Hour)
	late.Stop()
	defer late.Stop()
	for {
		stop := false
		if ident.Stopped(id) {
			h.mu.Lock()
			stop = c.loan.stopped(c)
			h.mu.Unlock()
		}
		if stop {
			_ = syscall.Kill(0, syscall.SIGTSTP) // as Ctrl-Z would have, had we been in the foreground
			late.Reset(notAJob)
		}
		select {
		case <-c.done:
			return
		case s := <-wake:
			if s != unix.SIGCONT {
				continue
			}
		case <-late.C:
		}
		h.mu.Lock()
		c.loan.resume(c)
		h.mu.Unlock()
	}
}

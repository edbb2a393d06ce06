package ident

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func look(pid int) (process, error) {
	return proc.look(pid, unix.PidfdOpen)
}

// look opens the handle first, then reads stat, then asks the handle: if the process has not ended by then, nobody
// else can have had the pid in between, so what stat said is about the process of the handle.
func (p procfs) look(pid int, pidfdOpen func(pid, flags int) (int, error)) (process, error) {
	if pid <= 0 {
		return process{}, errors.New("not a pid")
	}
	fd, err := pidfdOpen(pid, 0)
	switch {
	case err == nil:
		defer unix.Close(fd) //nolint:errcheck // it was only read
	case errors.Is(err, unix.ESRCH):
		return process{}, os.ErrProcessDone
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL): // since Linux 6.9, before
		return process{}, fmt.Errorf("the number is at most a thread's: %w", os.ErrProcessDone)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // before Linux 5.3, in some sandboxes
		return p.lookWithoutHandle(pid)
	default:
		return process{}, os.NewSyscallError("pidfd_open", err)
	}

	var st stat
	readErr := p.ours()
	if readErr == nil {
		st, readErr = p.stat(pid)
	}
	ended, err := pidfdEnded(fd)
	switch {
	case err != nil:
		return process{}, err
	case ended:
		return process{}, os.ErrProcessDone
	case readErr != nil:
		return process{}, fmt.Errorf("it lives, but hidden: %w", readErr) // hidepid, for example
	}
	return process{start: st.start, stopped: st.state == 'T'}, nil
}

// pidfdEnded says whether all threads of a process have ended, reaped or not. A pidfd becomes readable then.
func pidfdEnded(fd int) (bool, error) {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	for {
		_, err := unix.Poll(poll, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, os.NewSyscallError("poll", err)
		}
		if poll[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			return false, errors.New("the handle cannot be polled")
		}
		return poll[0].Revents != 0, nil
	}
}

// lookWithoutHandle serves kernels and sandboxes without pidfd. The pid cannot be given away while stat is being
// read, and one read tells both state and start, so the answer is as good; only who then signals is worse off.
func (p procfs) lookWithoutHandle(pid int) (process, error) {
	if err := p.ours(); err != nil {
		return process{}, err
	}
	thread, err := p.isThread(pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return process{}, os.ErrProcessDone
		}
		return process{}, fmt.Errorf("it lives, but hidden: %w", err)
	}
	if err != nil {
		return process{}, err
	}
	if thread {
		return process{}, fmt.Errorf("the number is a thread's: %w", os.ErrProcessDone)
	}
	st, err := p.stat(pid)
	if err != nil {
		return process{}, err
	}
	if st.ended() {
		return process{}, os.ErrProcessDone
	}
	return process{start: st.start, stopped: st.state == 'T'}, nil
}

//go:build linux || darwin

package ident

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// LockWitness takes the exclusive lock of a witness file, without waiting, on the open file description of f. Whoever
// inherits f holds the lock too, across fork and exec, until the last of them has closed it or is gone; any one of
// them could release it for all, so what is handed to a child is that child's own witness only. Locking what f
// already holds succeeds. The error is a [*fs.PathError], and wraps [ErrWitnessHeld] when another open file has the
// lock.
//
// On Windows the lock is a byte range and is not inherited: see the Windows documentation of this function.
func LockWitness(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	var locked error
	// Control and not Fd: Fd would put the shared description into blocking mode.
	err = conn.Control(func(fd uintptr) { locked = flock(int(fd), unix.LOCK_EX) })
	if err == nil {
		err = locked
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrWitnessHeld
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// ProbeWitness tells whether the lock of a witness file is held. It never blocks and follows no symlink: what is not
// a regular file is [WitnessUnknown]. It tries the shared lock, so that probes do not disturb each other, and
// releases it at once; a [LockWitness] in that moment can still be refused, which is why a witness is locked under a
// temporary name that nobody probes.
func ProbeWitness(path string) Witness {
	fd, err := openWitness(path)
	if err != nil {
		return WitnessUnknown
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written, and a close releases the shared lock in any case

	var info unix.Stat_t
	if unix.Fstat(fd, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG {
		return WitnessUnknown
	}
	switch err := flock(fd, unix.LOCK_SH); {
	case err == nil:
		return WitnessFree
	case errors.Is(err, unix.EWOULDBLOCK):
		return WitnessHeld
	default:
		return WitnessUnknown
	}
}

// openWitness opens a FIFO or a device without waiting for its other end; the caller refuses it afterwards.
func openWitness(path string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY | unix.O_CLOEXEC
	for {
		fd, err := unix.Open(path, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// flock does not wait. EINTR is possible even so, on file systems that ask a server.
func flock(fd, how int) error {
	for {
		err := unix.Flock(fd, how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

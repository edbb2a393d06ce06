//go:build unix

package fsstate

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// nonBlocking keeps the open of a FIFO or a device that takes a checked file's place from blocking.
	nonBlocking = unix.O_NONBLOCK
	// directoryFlags opens a directory and nothing else.
	directoryFlags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK
)

func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }

// syncDir makes the names in a directory durable. On macOS Sync is F_FULLFSYNC, which reaches the medium.
func syncDir(root *os.Root, name string) error {
	f, err := root.OpenFile(name, directoryFlags, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// blocking takes back nonBlocking on a file that is known to be a regular one, since the flag lies in the open file
// description and would go to a child that inherits it.
func blocking(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	if err := conn.Control(func(fd uintptr) { serr = unix.SetNonblock(int(fd), false) }); err != nil {
		return err
	}
	return serr
}

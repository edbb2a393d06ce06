package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// punchHole frees length bytes at off; the file keeps its size and reads as zeros there.
func punchHole(f *os.File, off, length int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		_, failed = retry(func() (int, error) {
			return 0, unix.Fallocate(int(fd), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, length)
		})
	})
	if err != nil {
		return err
	}
	return failed
}

// watchPath gives add a path that leads to this very file, by its descriptor, whatever has become of its name.
func watchPath(f *os.File, add func(string) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = add("/proc/self/fd/" + strconv.Itoa(int(fd))) })
	if err != nil {
		return err
	}
	return failed
}

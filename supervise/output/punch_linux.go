package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// punches says whether this system may have file systems that punch holes.
const punches = true

// punchHole frees the first length bytes of a file; it keeps its size and reads as zeros there. The error wraps
// errors.ErrUnsupported where the file system cannot.
func punchHole(f *os.File, length int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			failed = unix.Fallocate(int(fd), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, length)
			if !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = os.NewSyscallError("fallocate "+f.Name(), failed)
	}
	return err
}

// nextData is the offset, from off on, of the first byte that is not in a hole: the end of the file where there is none.
// It moves the position of f.
func nextData(f *os.File, off int64) int64 {
	data, err := f.Seek(off, unix.SEEK_DATA)
	if err == nil {
		return data
	}
	if errors.Is(err, unix.ENXIO) {
		if end, err := f.Seek(0, unix.SEEK_END); err == nil {
			return max(off, end)
		}
	}
	return off // a file system that does not tell: the bytes do
}

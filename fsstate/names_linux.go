package fsstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// An entry of getdents64(2): the inode, an offset, its own length, a type, and the name up to a NUL.
const (
	entryLength = 16
	entryName   = 19
)

// eachName visits the names in a directory, in no order. A name is good while it is visited: of ten thousand most callers
// keep a few, and to make strings of all of them costs more than to read them.
func eachName(dir *os.File, visit func(name []byte)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.ReadDirent(int(dir.Fd()), buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return os.NewSyscallError("getdents64", err)
		}
		for rest := buf[:n]; len(rest) > 0; {
			if len(rest) < entryName {
				return io.ErrUnexpectedEOF
			}
			size := int(binary.NativeEndian.Uint16(rest[entryLength:]))
			if size < entryName || size > len(rest) {
				return io.ErrUnexpectedEOF
			}
			name, _, _ := bytes.Cut(rest[entryName:size], []byte{0})
			if rest = rest[size:]; string(name) != "." && string(name) != ".." {
				visit(name)
			}
		}
	}
}

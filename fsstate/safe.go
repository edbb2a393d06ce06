package fsstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// MaxRecord bounds one document of the store, in bytes.
const MaxRecord = 1 << 20

// ErrTooLarge is a record above MaxRecord, or a file above the bound that its reader gave.
var ErrTooLarge = errors.New("too large")

// UnsafeError is a file or folder that is not plainly ours: a link, a FIFO, a device, someone else's, writable by
// others, too large. Nothing was read from it and nothing was changed.
type UnsafeError struct {
	Op, Path string
	Problem  string // "is a FIFO", "belongs to uid 12"
	Err      error  // ErrTooLarge, or nil
}

func (e *UnsafeError) Error() string { return e.Op + " " + e.Path + ": " + e.Problem }

// Unwrap gives ErrTooLarge where size was the problem.
func (e *UnsafeError) Unwrap() error { return e.Err }

// Info is what is known about a file besides its content.
type Info struct {
	ModTime time.Time
	Size    int64 // bytes
}

// maxReplaced bounds how often openSafe starts again because a writer replaced the file between its look and its open.
const maxReplaced = 100

// openSafe opens a regular file of ours without ever blocking. The look before the open keeps it from opening a device
// (which may have effects) and finds links, which os.Root follows below its directory even with O_NOFOLLOW; the
// comparison after it proves that what was looked at is what was opened.
func openSafe(d disk, path, name string, flag int) (*os.File, fs.FileInfo, error) {
	return openBy(fileProblem, d, path, name, flag)
}

// openBy is openSafe with another rule: it says why a file is refused, "" when it is not.
func openBy(rule func(fs.FileInfo) string, d disk, path, name string, flag int) (*os.File, fs.FileInfo, error) {
	for range maxReplaced {
		before, err := d.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if problem := rule(before); problem != "" {
			return nil, nil, &UnsafeError{Op: "open", Path: path, Problem: problem}
		}
		f, err := d.Open(name, flag|nonBlocking, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed or replaced meanwhile: the next look tells
		}
		if err != nil {
			return nil, nil, err
		}
		after, err := f.Stat()
		switch {
		case err != nil:
		case !os.SameFile(before, after):
			_ = f.Close()
			continue
		default:
			problem := rule(after)
			if problem == "" {
				problem = linkProblem(f)
			}
			if problem == "" {
				return f, after, nil
			}
			err = &UnsafeError{Op: "open", Path: path, Problem: problem}
		}
		_ = f.Close()
		return nil, nil, err
	}
	return nil, nil, &UnsafeError{Op: "open", Path: path, Problem: "is replaced faster than it can be read"}
}

// readSafe reads a whole file of at most limit bytes.
func readSafe(d disk, path, name string, limit int64) ([]byte, Info, error) {
	return readBy(fileProblem, d, path, name, limit)
}

// readBy is readSafe with another rule.
func readBy(rule func(fs.FileInfo) string, d disk, path, name string, limit int64) ([]byte, Info, error) {
	f, info, err := openBy(rule, d, path, name, os.O_RDONLY)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close() //nolint:errcheck // read only
	large := &UnsafeError{Op: "read", Path: path, Problem: fmt.Sprintf("is larger than %d bytes", limit), Err: ErrTooLarge}
	if info.Size() > limit {
		return nil, Info{}, large
	}
	data := make([]byte, 0, info.Size()+1)
	for { // io.ReadAll's loop with the right size to begin with; the file may grow while it is read
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, Info{ModTime: info.ModTime(), Size: int64(len(data))}, nil
		}
		if err != nil {
			return nil, Info{}, err
		}
		if int64(len(data)) > limit {
			return nil, Info{}, large
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// kindOf names a file type as it stands in an error.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "an irregular file"
}

// fileProblem says why a file is not plainly ours, "" when it is.
func fileProblem(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is " + kindOf(info.Mode()) + ", not a regular file"
	}
	return accessProblem(info)
}

// userFileProblem is the rule for a file that is the user's, not a part of our state: who may write it is the business of
// the user's umask, which makes group-writable files where it is 002.
func userFileProblem(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is " + kindOf(info.Mode()) + ", not a regular file"
	}
	return ownerProblem(info)
}

// dirProblem says why a folder is not plainly ours, "" when it is.
func dirProblem(info fs.FileInfo) string {
	if !info.IsDir() {
		return "is " + kindOf(info.Mode()) + ", not a directory"
	}
	return accessProblem(info)
}

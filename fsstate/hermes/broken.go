package hermes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"hermes-supervisor/fsstate"
)

// BrokenError says that a file of Hermes's is there but cannot be used: it could
// not be read safely, or what it holds is not what Hermes writes. It carries no
// content of the file.
type BrokenError struct {
	Path string // the file
	Err  error  // why
}

// Error is one line that names the file and the cause.
func (e *BrokenError) Error() string {
	// The path is said once.
	if pe, ok := errors.AsType[*fs.PathError](e.Err); ok && pe.Path == e.Path {
		return fmt.Sprintf("read %s: %v", e.Path, pe.Err)
	}
	if ue, ok := errors.AsType[*fsstate.UnsafeError](e.Err); ok && ue.Path == e.Path {
		return fmt.Sprintf("read %s: %s", e.Path, ue.Problem)
	}
	return fmt.Sprintf("read %s: %v", e.Path, e.Err)
}

// Unwrap gives the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// errNotSetAside: what lies there may well hold good markers, of another user or
// behind a link that a person made (Hermes writes through such links on purpose).
// It is neither read nor moved.
var errNotSetAside = errors.New("left where it is")

// setAside preserves a broken file as <path>.corrupt-<time> and returns that name.
// What could be read is copied, so that no moment exists without a file; what can
// not be a marker file at all (a FIFO, a folder, more than the cap) is renamed,
// which neither follows nor blocks.
func setAside(path string, data []byte, now time.Time) (string, error) {
	aside, err := freeName(path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z"))
	if err != nil {
		return "", err
	}
	if data != nil {
		return aside, fsstate.ReplaceFile(aside, data, 0o600)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if link || info.Mode().IsRegular() && info.Size() <= maxMarkersFile {
		return "", errNotSetAside
	}
	return aside, os.Rename(path, aside)
}

// freeName is name, or name with the first number that nothing bears yet: two
// broken files in the same instant must not overwrite each other's copy.
func freeName(name string) (string, error) {
	candidate := name
	for n := 1; ; n++ {
		if _, err := os.Lstat(candidate); errors.Is(err, fs.ErrNotExist) {
			return candidate, nil
		} else if err != nil {
			return "", err
		}
		candidate = fmt.Sprintf("%s-%d", name, n)
	}
}

package fsstate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// ReadFile reads a file outside the store, such as one of Hermes's own, with the safety of Store.Read and a bound of
// its own in bytes.
func ReadFile(path string, limit int64) ([]byte, Info, error) {
	d, err := openDisk(filepath.Dir(path))
	if err != nil {
		return nil, Info{}, err
	}
	defer d.Close() //nolint:errcheck // read only
	return readSafe(d, path, filepath.Base(path), limit)
}

// ReplaceFile replaces a file outside the store durably. A file that is there keeps its mode, and is refused with an
// *UnsafeError when Store.Read would refuse it (a link that a user set up must not silently become a file); a new one
// gets perm. The temporary file lies beside it under a random dot name, and stays there only if we are killed.
func ReplaceFile(path string, data []byte, perm fs.FileMode) error {
	d, err := openDisk(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	name := filepath.Base(path)
	info, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if problem := fileProblem(info); problem != "" {
			return &UnsafeError{Op: "replace", Path: path, Problem: problem}
		}
		perm = info.Mode().Perm()
	}
	if err := replace(d, "."+name+"-"+randomName(), name, data, perm); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

// randomName is a file name that nobody can have made before.
func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

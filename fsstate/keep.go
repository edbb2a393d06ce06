package fsstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep replaces one file as Write does, but for the syncs: it survives our death, not that of the machine, and costs no
// turn of the disk. It is for what may be lost. The same fault gives the same error, which so can be told once: it names
// no temporary file.
func (s *Store) Keep(f Folder, file string, data []byte) error {
	name, err := s.change("keep", f, file)
	if err != nil {
		return err
	}
	if err := keep(s.disk, string(Tmp)+"/"+randomName(), name, data, 0o600); err != nil {
		return fmt.Errorf("keep %s: %w", s.Path(f, file), err)
	}
	return nil
}

// KeepFile is Keep for a file outside the store, whosever it is; it has the mode perm then. What is no regular file is
// refused with an *UnsafeError: a link that a user set up must not silently become a file. See RemoveLeftovers.
func KeepFile(path string, data []byte, perm fs.FileMode) error {
	d, err := openDisk(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	defer d.Close() //nolint:errcheck // a directory handle
	name := filepath.Base(path)
	if info, err := d.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return &UnsafeError{Op: "keep", Path: path, Problem: "is " + kindOf(info.Mode()) + ", not a regular file"}
	}
	if err := keep(d, tempPrefix(name)+randomName(), name, data, perm); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	return nil
}

// RemoveKept removes what KeepFile has written, and nothing else that has its name by now.
func RemoveKept(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keep is replace without the syncs.
func keep(d disk, tmp, name string, data []byte, perm fs.FileMode) error {
	f, err := d.Open(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return causeOf(err)
	}
	if perm != 0o600 { // a mode that must be kept whatever the umask is
		err = f.Chmod(perm)
	}
	if err == nil {
		var n int
		if n, err = d.Write(f, data); err == nil && n < len(data) {
			err = io.ErrShortWrite
		}
	}
	if cerr := d.CloseFile(f); err == nil {
		err = cerr
	}
	if err == nil {
		err = d.Rename(tmp, name)
	}
	if err != nil {
		_ = d.Remove(tmp)
	}
	return causeOf(err)
}

// causeOf is an error without the name of the file.
func causeOf(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

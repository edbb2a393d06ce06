package fsstate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate/fault"
)

// Read reads one file whole. It takes no lock, since files are only ever replaced, and cannot block. The error wraps
// fs.ErrNotExist, or is an *UnsafeError for what is not a regular file of ours, written by us alone, of at most
// MaxRecord bytes.
func (s *Store) Read(f Folder, file string) ([]byte, Info, error) {
	name, err := in("read", f, file)
	if err != nil {
		return nil, Info{}, err
	}
	return readSafe(s.disk, s.Path(f, file), name, MaxRecord)
}

// Write replaces one file. A reader sees the old version or the new one; after nil the new one survives a power loss.
// After an error from the last step, the sync of the folder, the new version may be visible but is not durable. What
// stood there under the same name, be it a link or a FIFO, is replaced and never followed. The error wraps ErrTooLarge
// above MaxRecord.
func (s *Store) Write(f Folder, file string, data []byte) error {
	name, err := s.change("write", f, file)
	if err != nil {
		return err
	}
	if len(data) > MaxRecord {
		return fmt.Errorf("write %s: %d bytes of at most %d: %w", s.Path(f, file), len(data), MaxRecord, ErrTooLarge)
	}
	if err := replace(s.disk, string(Tmp)+"/"+randomName(), name, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", s.Path(f, file), err)
	}
	return nil
}

// Remove removes one file durably. A file that is not there is no error; the folder is synced then too, since whoever
// removed it may have been killed, or told of an error, before that was durable.
func (s *Store) Remove(f Folder, file string) error {
	name, err := s.change("remove", f, file)
	if err != nil {
		return err
	}
	if err := s.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.SyncDir(path.Dir(name))
}

// Confirm makes durable which files a folder has: whoever made, replaced or removed one of them may have been killed, or
// told of an error, before that was.
func (s *Store) Confirm(f Folder) error {
	if s.readOnly {
		return &fs.PathError{Op: "confirm", Path: s.Path(f, ""), Err: errReadOnly}
	}
	return s.disk.SyncDir(string(f))
}

// Discard removes files without making that durable: for what a sweep would take, were it to come back.
func (s *Store) Discard(f Folder, files ...string) error {
	var errs []error
	for _, file := range files {
		name, err := s.change("remove", f, file)
		if err == nil {
			err = s.disk.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Touch sets a file's modification time: a heartbeat, which is not made durable. The error wraps fs.ErrNotExist.
func (s *Store) Touch(f Folder, file string, now time.Time) error {
	name, err := s.change("touch", f, file)
	if err != nil {
		return err
	}
	info, err := s.disk.Lstat(name)
	if err != nil {
		return err
	}
	if problem := fileProblem(info); problem != "" {
		return &UnsafeError{Op: "touch", Path: s.Path(f, file), Problem: problem}
	}
	return s.disk.Touch(name, now)
}

// Stat tells size and modification time of one entry, without following a link and without opening it.
func (s *Store) Stat(f Folder, file string) (Info, error) {
	name, err := in("stat", f, file)
	if err != nil {
		return Info{}, err
	}
	info, err := s.disk.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return Info{ModTime: info.ModTime(), Size: info.Size()}, nil
}

// List gives the names of the files of a folder in ascending order; folders, dot files and what Quarantine moved aside
// are left out. A hostile entry (a FIFO) is in the list, so that reading it reports it. A missing folder is empty.
func (s *Store) List(f Folder) ([]string, error) {
	entries, err := s.disk.ReadDir(cmp.Or(string(f), "."))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && name[0] != '.' && !strings.Contains(name, corruptMark) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Quarantine moves a broken file aside durably, to <file>.corrupt-<time>, where List does not see it and a person can
// look at it. It gives the new name.
func (s *Store) Quarantine(f Folder, file string, now time.Time) (string, error) {
	name, err := s.change("quarantine", f, file)
	if err != nil {
		return "", err
	}
	aside := file + corruptMark + now.UTC().Format("20060102T150405.000000000Z")
	to, err := in("quarantine", f, aside)
	if err != nil { // a name near the system's limit
		aside = Name(file) + corruptMark + now.UTC().Format("20060102T150405.000000000Z")
		if to, err = in("quarantine", f, aside); err != nil {
			return "", err
		}
	}
	if err := s.vacant("quarantine", to); err != nil {
		return "", err
	}
	if err := s.disk.Rename(name, to); err != nil {
		return "", err
	}
	return aside, s.disk.SyncDir(path.Dir(name))
}

// vacant refuses a name that is taken, or may be: a rename onto it would drop what is there.
func (s *Store) vacant(op, name string) error {
	_, err := s.disk.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = &fs.PathError{Op: op, Path: s.Path("", name), Err: fs.ErrExist}
	}
	return err
}

// staleTmp is far beyond the life of a file in tmp/, which is that of one Write.
const staleTmp = time.Hour

// StaleTmp lists what killed writers left in tmp/: what is older than any write takes.
func (s *Store) StaleTmp(now time.Time) ([]string, error) {
	entries, err := s.disk.ReadDir(string(Tmp))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		info, err := s.disk.Lstat(string(Tmp) + "/" + e.Name())
		if err == nil && !e.IsDir() && now.Round(0).Sub(info.ModTime()) >= staleTmp {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// SweepTmp removes what StaleTmp lists. A writer that was only stopped, and goes on after more than an hour, finds its
// file gone and reports an error.
func (s *Store) SweepTmp(now time.Time) error {
	if _, err := s.change("sweep", Tmp, "any"); err != nil {
		return err
	}
	names, err := s.StaleTmp(now)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if err := s.disk.Remove(string(Tmp) + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// change is in for operations that change something.
func (s *Store) change(op string, f Folder, file string) (string, error) {
	if s.readOnly {
		return "", &fs.PathError{Op: op, Path: s.Path(f, file), Err: errReadOnly}
	}
	return in(op, f, file)
}

// replace writes data under a temporary name of the same file system, makes it durable and renames it. A failed sync is
// never repeated: the kernel forgets the pages that it could not write, and a second sync would report success.
func replace(d disk, tmp, name string, data []byte, perm fs.FileMode) error {
	fault.At("write.temp")
	f, err := d.Open(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if perm != 0o600 { // a mode that must be kept whatever the umask is
		err = f.Chmod(perm)
	}
	if err == nil {
		err = fill(d, f, data)
	} else {
		_ = f.Close()
	}
	if err == nil {
		fault.At("write.rename")
		err = d.Rename(tmp, name)
	}
	if err != nil {
		_ = d.Remove(tmp)
		return err
	}
	fault.At("write.sync-folder")
	if err := d.SyncDir(path.Dir(name)); err != nil {
		return err
	}
	fault.At("write.durable")
	return nil
}

// fill writes, syncs and closes a new file.
func fill(d disk, f *os.File, data []byte) error {
	n, err := d.Write(f, data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = d.Sync(f)
	}
	if cerr := d.CloseFile(f); err == nil {
		err = cerr
	}
	return err
}

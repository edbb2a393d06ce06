package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// LogFolder is the open folder of one service's output: log/<Name(service)>/. Names are those of files directly in it.
// It holds one descriptor until Close, and must not be used after that.
type LogFolder struct {
	disk disk
	path string // absolute
}

// MakeLog opens the folder of a service's output, and makes it where it is missing.
func (s *Store) MakeLog(service string) (*LogFolder, error) {
	name, err := s.change("log", Log, Name(service))
	if err != nil {
		return nil, err
	}
	err = s.disk.Mkdir(name, 0o700)
	if err == nil { // archives in it are durable, so it must be
		err = s.disk.SyncDir(string(Log))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.OpenLog(service)
}

// OpenLog opens the folder of a service's output. The error wraps fs.ErrNotExist when there is none, and is an
// *UnsafeError when it, or log/ itself, is a link, not a folder, or not plainly ours.
func (s *Store) OpenLog(service string) (*LogFolder, error) {
	above, err := s.disk.Lstat(string(Log))
	if err != nil {
		return nil, err
	}
	if problem := dirProblem(above); problem != "" {
		return nil, &UnsafeError{Op: "open", Path: s.Path(Log, ""), Problem: problem}
	}
	file := Name(service)
	path := s.Path(Log, file)
	before, err := s.disk.Lstat(string(Log) + "/" + file)
	if err != nil {
		return nil, err
	}
	if problem := dirProblem(before); problem != "" {
		return nil, &UnsafeError{Op: "open", Path: path, Problem: problem}
	}
	d, err := openDisk(path)
	if err != nil {
		return nil, err
	}
	self, err := d.Lstat(".")
	if err == nil && !os.SameFile(before, self) {
		err = &UnsafeError{Op: "open", Path: path, Problem: "was replaced while it was opened"}
	}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &LogFolder{disk: d, path: path}, nil
}

// Logs lists the folders below log/, by name: those of the services whose output is kept. A service whose name is no
// file name stands there as Name gives it.
func (s *Store) Logs() ([]string, error) {
	entries, err := s.disk.ReadDir(string(Log))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close releases the folder.
func (f *LogFolder) Close() error { return f.disk.Close() }

// Path is the absolute path of a file, for display and for looking at; nothing is checked.
func (f *LogFolder) Path(file string) string { return filepath.Join(f.path, file) }

// Names lists the files, in no order.
func (f *LogFolder) Names() ([]string, error) {
	entries, err := f.disk.ReadDir(".")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Stat looks at a file, whatever it is, without following a link.
func (f *LogFolder) Stat(file string) (fs.FileInfo, error) {
	if _, err := in("stat", "", file); err != nil {
		return nil, err
	}
	return f.disk.Lstat(file)
}

// Open opens a file that is there, with the safety of Store.Read, so that a child may inherit it. flag is os.O_RDONLY or
// os.O_RDWR, and os.O_APPEND.
func (f *LogFolder) Open(file string, flag int) (*os.File, error) {
	if _, err := in("open", "", file); err != nil {
		return nil, err
	}
	o, _, err := openSafe(f.disk, f.Path(file), file, flag)
	if err != nil {
		return nil, err
	}
	if err := blocking(o); err != nil {
		_ = o.Close()
		return nil, err
	}
	return o, nil
}

// Create makes a new file, 0600 and open for writing. The error wraps fs.ErrExist when the name is taken, by whatever.
func (f *LogFolder) Create(file string) (*os.File, error) {
	if _, err := in("create", "", file); err != nil {
		return nil, err
	}
	return f.disk.Open(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Rename gives a file another name, and replaces what had it.
func (f *LogFolder) Rename(from, to string) error {
	for _, name := range []string{from, to} {
		if _, err := in("rename", "", name); err != nil {
			return err
		}
	}
	return f.disk.Rename(from, to)
}

// Remove removes a name: of a link, not what it points at.
func (f *LogFolder) Remove(file string) error {
	if _, err := in("remove", "", file); err != nil {
		return err
	}
	return f.disk.Remove(file)
}

// Sync makes the names durable.
func (f *LogFolder) Sync() error { return f.disk.SyncDir(".") }

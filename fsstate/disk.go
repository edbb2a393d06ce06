package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// disk is every operation on files that the store performs, below one directory. It is an interface so that a test can
// make the n-th operation fail, or end the process there. Names are relative and slash-separated.
type disk interface {
	Open(name string, flag int, perm fs.FileMode) (*os.File, error)
	Write(f *os.File, data []byte) (int, error)
	Sync(f *os.File) error
	CloseFile(f *os.File) error
	Mkdir(name string, perm fs.FileMode) error
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)      // what is known of each costs a look at each: os.Root lets no link pass
	Each(name string, visit func(name []byte)) error // names alone, in no order, good while visited
	Rename(from, to string) error
	Remove(name string) error
	Touch(name string, mtime time.Time) error
	SyncDir(name string) error
	Trusted() (bool, string, error) // may locks be relied on here, and the file system's name
	Close() error
}

// rootDisk is the real disk. os.Root keeps every name below its directory, whatever links lie there.
type rootDisk struct{ root *os.Root }

// openDisk opens a directory. os.OpenRoot alone would block for ever on a FIFO of that name.
func openDisk(dir string) (disk, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &UnsafeError{Op: "open", Path: dir, Problem: "is " + kindOf(info.Mode()) + ", not a directory"}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return rootDisk{root}, nil
}

func (d rootDisk) Open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	return f, d.named(err)
}

func (d rootDisk) Write(f *os.File, data []byte) (int, error) { return f.Write(data) }
func (d rootDisk) Sync(f *os.File) error                      { return f.Sync() }
func (d rootDisk) CloseFile(f *os.File) error                 { return f.Close() }

func (d rootDisk) Mkdir(name string, perm fs.FileMode) error {
	return d.named(d.root.Mkdir(name, perm))
}

func (d rootDisk) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, d.named(err)
}

func (d rootDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.OpenFile(name, directoryFlags, 0)
	if err != nil {
		return nil, d.named(err)
	}
	defer f.Close() //nolint:errcheck // read only
	return f.ReadDir(-1)
}

func (d rootDisk) Each(name string, visit func(name []byte)) error {
	f, err := d.root.OpenFile(name, directoryFlags, 0)
	if err != nil {
		return d.named(err)
	}
	defer f.Close() //nolint:errcheck // read only
	return eachName(f, visit)
}

func (d rootDisk) Rename(from, to string) error { return d.named(rename(d.root, from, to)) }
func (d rootDisk) Remove(name string) error     { return d.named(d.root.Remove(name)) }

func (d rootDisk) Touch(name string, mtime time.Time) error {
	return d.named(d.root.Chtimes(name, time.Time{}, mtime))
}

func (d rootDisk) SyncDir(name string) error      { return d.named(syncDir(d.root, name)) }
func (d rootDisk) Trusted() (bool, string, error) { return trusted(d.root.Name()) }
func (d rootDisk) Close() error                   { return d.root.Close() }

// named gives errors of os.Root, which name files relative to the root, the absolute path that a person needs.
func (d rootDisk) named(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: strings.TrimSuffix(p.Op, "at"), Path: d.abs(p.Path), Err: p.Err}
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return &os.LinkError{Op: strings.TrimSuffix(l.Op, "at"), Old: d.abs(l.Old), New: d.abs(l.New), Err: l.Err}
	}
	return err
}

func (d rootDisk) abs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.root.Name(), filepath.FromSlash(name))
}

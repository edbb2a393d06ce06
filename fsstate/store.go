package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say how a store is opened.
type Options struct {
	// UnsafeFilesystem opens a store on a file system whose locks may not hold. Trusted is then false, and nothing
	// about another process is concluded from a free lock.
	UnsafeFilesystem bool
}

// Store is the supervisor/ folder of one home. All methods may be called at once from any goroutine.
type Store struct {
	home     Home
	dir      string // supervisor/, absolute
	disk     disk
	trusted  bool
	readOnly bool
	lockWait time.Duration
	queues   queues
	waited   atomic.Int64 // for locks, in milliseconds, since the last event
}

// stateFolder is the name of our folder below a home.
const stateFolder = "supervisor"

var errReadOnly = errors.New("store is open for reading only")

// Open opens a home's store and creates what is missing of it: supervisor/ and its folders, 0700, and the root home
// itself, but never a profile's home, which would bring a deleted profile back. It refuses a folder that is a link,
// belongs to another user or may be written by others (*UnsafeError), and a file system whose locks are not trusted
// (*UntrustedError).
func Open(h Home, o Options) (*Store, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	return open(h, o, true, openDisk)
}

// OpenRead opens a home's store for reading and creates nothing. The error wraps fs.ErrNotExist when the home has no
// supervisor/ folder. Writing, locking and journaling are refused. The file system need not be trusted; Trusted tells.
func OpenRead(h Home) (*Store, error) {
	return open(h, Options{UnsafeFilesystem: true}, false, openDisk)
}

// open does the work of both; the disk is a parameter so that a test can put a failing one in its place.
func open(h Home, o Options, create bool, newDisk func(dir string) (disk, error)) (*Store, error) {
	if !filepath.IsAbs(h.Path) {
		return nil, &HomeError{Path: h.Path, Problem: "is not an absolute path"}
	}
	s := &Store{home: h, dir: filepath.Join(h.Path, stateFolder), readOnly: !create, lockWait: LockWait}
	if create {
		if err := makeStateFolder(h, o, newDisk); err != nil {
			return nil, err
		}
	}
	// A link, a FIFO or a file in its place is found before it is opened, and what was opened is compared: os.OpenRoot
	// follows links.
	before, err := os.Lstat(s.dir)
	if err != nil {
		return nil, err
	}
	if problem := dirProblem(before); problem != "" {
		return nil, &UnsafeError{Op: "open", Path: s.dir, Problem: problem}
	}
	if s.disk, err = newDisk(s.dir); err != nil {
		return nil, err
	}
	if err := s.verify(before, o, create); err != nil {
		_ = s.disk.Close()
		return nil, err
	}
	return s, nil
}

// makeStateFolder makes the root home and supervisor/ where they are missing, durably; on a file system that is refused
// it leaves no trace. What is there already may not be durable: whoever made it may have been killed in between.
func makeStateFolder(h Home, o Options, newDisk func(dir string) (disk, error)) error {
	if _, err := os.Lstat(filepath.Join(h.Path, stateFolder, string(Locks))); err == nil {
		return nil // made last, when all else was durable
	}
	if h.Profile == "" {
		if _, err := os.Stat(h.Path); errors.Is(err, fs.ErrNotExist) {
			// One level only: a path on a disk that is not mounted must not come to be on the disk below it.
			if err := makeFolder(filepath.Dir(h.Path), filepath.Base(h.Path), o, newDisk); err != nil {
				return err
			}
		} else if err := syncName(h.Path, newDisk); err != nil {
			return err
		}
	}
	return makeFolder(h.Path, stateFolder, o, newDisk)
}

func makeFolder(parent, name string, o Options, newDisk func(dir string) (disk, error)) error {
	d, err := newDisk(parent)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	if _, err := trust(d, filepath.Join(parent, name), o); err != nil {
		return err
	}
	if err := d.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncDir(".")
}

// syncName makes the name of a folder durable. A parent that may not be opened, or knows no sync, was not ours to make
// it in.
func syncName(dir string, newDisk func(dir string) (disk, error)) error {
	d, err := newDisk(filepath.Dir(dir))
	if err == nil {
		err = d.SyncDir(".")
		_ = d.Close()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// verify checks the opened folder and those in it, and makes the missing ones.
func (s *Store) verify(before fs.FileInfo, o Options, create bool) error {
	self, err := s.disk.Lstat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(before, self) {
		return &UnsafeError{Op: "open", Path: s.dir, Problem: "was replaced while it was opened"}
	}
	if s.trusted, err = trust(s.disk, s.dir, o); err != nil {
		return err
	}
	made := false
	for _, folder := range folders {
		info, err := s.disk.Lstat(string(folder))
		if errors.Is(err, fs.ErrNotExist) {
			if !create {
				continue
			}
			if folder == Locks { // the last one, whose presence says that the others are durable
				if err := s.disk.SyncDir("."); err != nil {
					return err
				}
			}
			if err = s.disk.Mkdir(string(folder), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
				made = folder != Locks // which holds nothing that must survive a power loss
				info, err = s.disk.Lstat(string(folder))
			}
		}
		if err != nil {
			return err
		}
		if err := s.verifyFolder(folder, info, self); err != nil {
			return err
		}
	}
	if made {
		return s.disk.SyncDir(".")
	}
	return nil
}

// verifyFolder refuses a folder that is not plainly ours, or (logs apart) lies on another file system, where a rename
// from tmp/ cannot reach and locks may not hold.
func (s *Store) verifyFolder(folder Folder, info, self fs.FileInfo) error {
	problem := dirProblem(info)
	if a, ok := device(self); ok && problem == "" && folder != Log {
		if b, _ := device(info); a != b {
			problem = "lies on another file system than " + stateFolder
		}
	}
	if problem != "" {
		return &UnsafeError{Op: "open", Path: s.Path(folder, ""), Problem: problem}
	}
	return nil
}

// Close releases the store's folder. Locks that are held and files that were handed out stay as they are.
func (s *Store) Close() error { return s.disk.Close() }

// Home is the home that the store belongs to.
func (s *Store) Home() Home { return s.home }

// Trusted tells whether a free lock on this store's file system proves that its holder is gone.
func (s *Store) Trusted() bool { return s.trusted }

// Path is the absolute path of a file, for display and for probing; nothing is checked.
func (s *Store) Path(folder Folder, file string) string {
	return filepath.Join(s.dir, string(folder), file)
}

// StateFolder is where a home's store lies, whether it is there or not.
func StateFolder(h Home) string { return filepath.Join(h.Path, stateFolder) }

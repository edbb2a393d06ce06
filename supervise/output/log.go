package output

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"hermes-supervisor/fsstate"
)

const (
	// DefaultBound is how many bytes of a service's output are kept, both streams together.
	DefaultBound = 50 << 20
	// defaultSegment is how much may stand in a current file before it is archived.
	defaultSegment = 1 << 20
)

// Log is the output of one service. While nothing is being done it holds no open file. All methods may be called at once
// from any goroutine.
type Log struct {
	store   *fsstate.Store
	service string
	segment int64                   // tests set a small one
	step    func(name string) error // tests stop at a step; nil

	launched [2]atomic.Int64 // offsets in the current files at the last Files
	solid    atomic.Bool     // holes cannot be punched here

	mu    sync.Mutex // of Sweep, and of a Files that archives
	seen  [2]stamp   // the current files at the last Sweep
	clean bool       // which found nothing left to do
	bound int64      // with this bound
	said  string     // the error that Sweep returned last
}

// Open makes the folder and the current files of a service's output where they are missing. It repairs nothing: reading
// needs no repair, and the first Sweep does it.
func Open(store *fsstate.Store, service string) (*Log, error) {
	l := &Log{store: store, service: service, segment: defaultSegment}
	l.solid.Store(!punches)
	stdout, stderr, err := l.files(false) // what an earlier supervisor launched may live
	if err != nil {
		return nil, err
	}
	l.launched[0].Store(0) // what runs already was launched by another process
	l.launched[1].Store(0)
	return l, errors.Join(stdout.Close(), stderr.Close())
}

// OpenRead is for reading only, and makes nothing. The error wraps fs.ErrNotExist when no output of that service is kept.
func OpenRead(store *fsstate.Store, service string) (*Log, error) {
	folder, err := store.OpenLog(service)
	if err != nil {
		return nil, err
	}
	return &Log{store: store, service: service, segment: defaultSegment}, folder.Close()
}

// Files opens the current files, to be the stdout and the stderr of a launch: for reading too, and always writing at
// their end. The caller closes both once the child has them. Nothing of an earlier launch may live any more: where holes
// cannot be punched, Files archives what that one left.
func (l *Log) Files() (stdout, stderr *os.File, err error) { return l.files(l.solid.Load()) }

func (l *Log) files(rotate bool) (stdout, stderr *os.File, err error) {
	folder, err := l.store.OpenLog(l.service)
	if errors.Is(err, fs.ErrNotExist) {
		folder, err = l.store.MakeLog(l.service)
	}
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close() //nolint:errcheck // a directory handle
	if rotate {
		if err := l.rotate(folder); err != nil {
			return nil, nil, err
		}
	}
	var files [2]*os.File
	for i, s := range streams {
		if files[i], err = l.launchFile(folder, i, s); err != nil {
			if i > 0 {
				_ = files[0].Close()
			}
			return nil, nil, err
		}
	}
	return files[0], files[1], nil
}

func (l *Log) launchFile(folder *fsstate.LogFolder, i int, s Stream) (*os.File, error) {
	f, err := folder.Open(string(s), os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		if err := l.create(folder, s); err != nil {
			return nil, err
		}
		f, err = folder.Open(string(s), os.O_RDWR|os.O_APPEND)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	l.launched[i].Store(st.Size())
	return f, nil
}

// create makes a missing current file. What is archived is not in it, so the mark comes first.
func (l *Log) create(folder *fsstate.LogFolder, s Stream) error {
	c, err := look(folder, s, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer c.close()
	if c.file != nil {
		return nil
	}
	if c.cut {
		if err := l.mark(folder, s, c.base); err != nil {
			return err
		}
	}
	return l.touch(folder, string(s))
}

// mark makes it durable that the current file begins at a position.
func (l *Log) mark(folder *fsstate.LogFolder, s Stream, base int64) error {
	if err := l.at("mark"); err != nil {
		return err
	}
	if err := l.touch(folder, mark(s, base)); err != nil {
		return err
	}
	return folder.Sync()
}

// touch makes an empty file, unless something has that name.
func (l *Log) touch(folder *fsstate.LogFolder, name string) error {
	f, err := folder.Create(name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// at is passed before every step that changes something.
func (l *Log) at(step string) error {
	if l.step == nil {
		return nil
	}
	return l.step(step)
}

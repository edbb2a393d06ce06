package fsstate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// LockWait is how long Lock waits at most.
const LockWait = 5 * time.Second

// Holder is who has a lock, as it wrote into the lock file. It is for people: it is written after the lock was taken
// and stays when the lock is released, so that for a moment it may name the holder before.
type Holder struct {
	PID     int       `json:"pid"` // 0: unknown
	Purpose string    `json:"purpose"`
	Since   time.Time `json:"since"`
}

// LockedError is a lock that someone else kept for longer than the wait: exit code 75.
type LockedError struct {
	Name   string
	Holder Holder
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return "lock " + e.Name + ": held by another process"
	}
	return fmt.Sprintf("lock %s: held by pid %d (%s) since %s", e.Name, e.Holder.PID, e.Holder.Purpose,
		e.Holder.Since.Format(time.RFC3339))
}

// Lock takes the exclusive lock of a file name (that is of its stripe, one of 256) for a read-decide-write of a few
// milliseconds. It excludes every process and goroutine, and is free when the process dies. A free lock is taken at
// once; otherwise Lock waits its turn for at most LockWait or until ctx's deadline. Then the error is a *LockedError; when
// ctx is cancelled before, it wraps context.Canceled. purpose is shown to those who wait: what is being done, never a prompt.
//
// Nothing may be locked while a lock is held, since two names can share a stripe; LockAll takes several.
func (s *Store) Lock(ctx context.Context, name, purpose string) (unlock func(), err error) {
	return s.LockAll(ctx, purpose, name)
}

// LockAll takes the locks of several names at once, in the order that keeps two callers from waiting for each other.
func (s *Store) LockAll(ctx context.Context, purpose string, names ...string) (unlock func(), err error) {
	if s.readOnly {
		return nil, &fs.PathError{Op: "lock", Path: s.Path(Locks, ""), Err: errReadOnly}
	}
	byStripe := make(map[byte]string, len(names))
	stripes := make([]byte, 0, len(names))
	for _, name := range names {
		stripe := stripeOf(name)
		if _, twice := byStripe[stripe]; !twice {
			byStripe[stripe] = name
			stripes = append(stripes, stripe)
		}
	}
	slices.Sort(stripes)
	ctx, cancel := context.WithTimeout(ctx, s.lockWait)
	defer cancel()
	held := make([]func(), 0, len(stripes))
	release := func() {
		for _, unlock := range slices.Backward(held) {
			unlock()
		}
	}
	for _, stripe := range stripes {
		unlock, err := s.lockStripe(ctx, stripe, byStripe[stripe], purpose)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, unlock)
	}
	return sync.OnceFunc(release), nil
}

func stripeOf(name string) byte { return sha256.Sum256([]byte(name))[0] }

func stripeFile(stripe byte) string { return fmt.Sprintf("%s/%02x.lock", Locks, stripe) }

// queues are the waiting lines within this process, one a stripe: at most one of our threads stands in the kernel's
// line for each. Without them a holder that was stopped for a day would collect a thread with every retry.
type queues struct {
	mu    sync.Mutex
	lines map[byte]chan struct{}
}

func (q *queues) line(stripe byte) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines == nil {
		q.lines = map[byte]chan struct{}{}
	}
	if q.lines[stripe] == nil {
		q.lines[stripe] = make(chan struct{}, 1)
	}
	return q.lines[stripe]
}

func (s *Store) lockStripe(ctx context.Context, stripe byte, name, purpose string) (func(), error) {
	file, line := stripeFile(stripe), s.queues.line(stripe)
	l, waited, err := s.take(ctx, file, line)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.noteWait(waited)
		return nil, &LockedError{Name: name, Holder: s.holder(file)}
	case errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("lock %s: %w", name, err)
	case err != nil:
		return nil, err
	}
	s.sign(file, purpose)
	s.noteWait(waited)
	return func() {
		_ = l.Unlock()
		<-line
	}, nil
}

// toldWait is the shortest wait for a lock that is journalled: shorter ones are how locks work.
const toldWait = 100 * time.Millisecond

// noteWait remembers a wait that somebody may have noticed, for the next event: whoever waits and is refused then writes
// nothing, not even that.
func (s *Store) noteWait(waited time.Duration) {
	if waited >= toldWait {
		s.waited.Add(waited.Milliseconds())
	}
}

// take gets our own process's turn, then the file's lock: at once where it is free, also when ctx ended before we came to
// look (nobody may be said to hold what is free), else in the kernel's line. A lock that is free costs no look at the
// clock.
func (s *Store) take(ctx context.Context, file string, line chan struct{}) (l *flock.Flock, waited time.Duration, err error) {
	var began time.Time
	select {
	case line <- struct{}{}:
	default:
		began = time.Now()
		select {
		case line <- struct{}{}:
		case <-ctx.Done():
			return nil, time.Since(began), ctx.Err()
		}
	}
	if l, err = s.tryFile(file); err != nil {
		<-line
		return nil, 0, err
	}
	if l == nil {
		if began.IsZero() {
			began = time.Now()
		}
		l, err = s.waitFile(ctx, file, line)
	}
	if !began.IsZero() {
		waited = time.Since(began)
	}
	return l, waited, err
}

// tryFile takes the lock if it is free: nil and no error when it is not.
func (s *Store) tryFile(file string) (*flock.Flock, error) {
	for range maxReplaced {
		l := s.lockFile(file)
		locked, err := l.TryLock()
		if err != nil {
			return nil, s.lockProblem(file, err)
		}
		if !locked {
			return nil, nil
		}
		if ok, err := s.stillThere(l, file); ok {
			return l, nil
		} else if err != nil {
			return nil, err
		}
	}
	return nil, &UnsafeError{Op: "lock", Path: s.Path("", file), Problem: "is replaced again and again"}
}

// waitFile stands in the kernel's line, which is fair; polling starves (facts: three of eight processes got one lock in
// six seconds). flock cannot be cancelled, so it runs in a goroutine of its own that, when nobody waits for it any more,
// gives the lock back as soon as it comes. On an error the place in our own line is given up, at once or by then.
func (s *Store) waitFile(ctx context.Context, file string, line chan struct{}) (*flock.Flock, error) {
	for range maxReplaced {
		l := s.lockFile(file)
		got := make(chan error, 1)
		go func() { got <- lockRetrying(l) }()
		select {
		case err := <-got:
			if err != nil {
				<-line
				return nil, s.lockProblem(file, err)
			}
			if ok, err := s.stillThere(l, file); ok {
				return l, nil
			} else if err != nil {
				<-line
				return nil, err
			}
		case <-ctx.Done():
			go func() {
				if <-got == nil {
					_ = l.Unlock()
				}
				<-line
			}()
			return nil, ctx.Err()
		}
	}
	<-line
	return nil, &UnsafeError{Op: "lock", Path: s.Path("", file), Problem: "is replaced again and again"}
}

// lockFile is a lock of its own on the file: an object of gofrs/flock that is locked twice succeeds twice.
func (s *Store) lockFile(file string) *flock.Flock { return newFlock(filepath.Join(s.dir, file)) }

func newFlock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(lockFlags), flock.SetPermissions(0o600))
}

// lockRetrying blocks until the lock is ours; gofrs/flock hands signals through.
func lockRetrying(l *flock.Flock) error {
	for {
		if err := l.Lock(); !interrupted(err) {
			return err
		}
	}
}

// stillThere checks that what was locked is the file of that name, plainly ours, and otherwise gives it back: false and
// no error when it was removed or replaced in between.
func (s *Store) stillThere(l *flock.Flock, file string) (bool, error) {
	locked, err := l.Stat()
	if err == nil {
		var named fs.FileInfo
		named, err = s.disk.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		case err != nil:
		case fileProblem(named) != "":
			err = &UnsafeError{Op: "lock", Path: s.Path("", file), Problem: fileProblem(named)}
		case os.SameFile(locked, named):
			return true, nil
		}
	}
	_ = l.Unlock()
	return false, err
}

// lockProblem says what is wrong with the lock file, where the system's error ("too many levels of symbolic links")
// does not.
func (s *Store) lockProblem(file string, err error) error {
	if info, lerr := s.disk.Lstat(file); lerr == nil && fileProblem(info) != "" {
		return &UnsafeError{Op: "lock", Path: s.Path("", file), Problem: fileProblem(info)}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: "lock", Path: s.Path("", file), Err: err}
}

// holderSize is the room for a holder's text, padded so that a shorter one overwrites a longer one in one write.
const holderSize = 256

// sign writes who holds the lock, without a sync. A full disk costs those who wait the name, not us the lock.
func (s *Store) sign(file, purpose string) {
	h := Holder{PID: os.Getpid(), Purpose: purpose, Since: time.Now().UTC().Truncate(time.Millisecond)}
	text, err := json.Marshal(h)
	if err != nil || len(text) >= holderSize {
		h.Purpose = ""
		text, _ = json.Marshal(h)
	}
	padded := make([]byte, holderSize)
	for i := copy(padded, text); i < holderSize; i++ {
		padded[i] = ' '
	}
	padded[holderSize-1] = '\n'
	f, err := s.disk.Open(file, os.O_WRONLY|nonBlocking, 0)
	if err != nil {
		return
	}
	if _, err := f.Seek(holderOffset, io.SeekStart); err == nil {
		_, _ = s.disk.Write(f, padded)
	}
	_ = f.Close()
}

// holder reads who holds the lock; the zero Holder when the file does not tell.
func (s *Store) holder(file string) Holder {
	var h Holder
	f, _, err := openSafe(s.disk, s.Path("", file), file, os.O_RDONLY)
	if err != nil {
		return h
	}
	defer f.Close() //nolint:errcheck // read only
	text := make([]byte, holderSize)
	n, _ := f.ReadAt(text, holderOffset)
	if json.Unmarshal(text[:n], &h) != nil {
		return Holder{}
	}
	return h
}

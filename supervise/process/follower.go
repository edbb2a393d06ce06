package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	followTick  = 2 * time.Second        // a look without an event, beside the watch
	followFirst = 2 * time.Millisecond   // between the first looks, doubling up to
	followPoll  = 50 * time.Millisecond  // where there is no watch, or not yet
	followHead  = 64 << 10               // what stays of a followed file at its beginning, where agents name their session
	followTail  = 1 << 20                // and at its end
	followLag   = 100 * time.Millisecond // given to a writer that hangs, once ctx has ended
	followPiece = 4096                   // so little that a pipe takes it whole (PIPE_BUF of Linux): a slow reader is told from none
)

// UnreadFor is how long an ordered stop waits for a reader of output that takes nothing.
const UnreadFor = time.Second

// ErrUnread is that end of a wait.
var ErrUnread = fmt.Errorf("nobody has read for %s", UnreadFor)

// FollowOptions say how a file is followed.
type FollowOptions struct {
	// Hold copies nothing until Release. Growth is seen all the same.
	Hold bool
	// Punch frees the blocks of what has been copied, but for the first 64 KiB and the last 1 MiB, so that a long output does not fill the
	// disk twice. The file keeps its length. Linux, on file systems that can (FALLOC_FL_PUNCH_HOLE), and only if src
	// is open for writing; elsewhere it does nothing.
	Punch bool
	// Watch wakes the follower of a run that lasts; nil: it polls.
	Watch *Watch
}

// Follower copies a file that another process appends to, byte for byte, to a writer.
type Follower struct {
	src     *os.File
	dst     io.Writer
	opts    FollowOptions
	release func() // once
	hurry   func() // once
	held    chan struct{}
	hurried chan struct{}

	mu     sync.Mutex
	size   int64     // at the last look
	growth time.Time // when it was last seen to have grown
	dstErr error
	giving time.Time // since when dst is being given a piece; zero: it is not
}

// NewFollower follows src from its beginning. It reads by offset: the position of src is not moved, so it may be the
// very file that the writing process inherited. It must never be replaced by another file.
func NewFollower(src *os.File, dst io.Writer, o FollowOptions) *Follower {
	f := &Follower{src: src, dst: dst, opts: o, held: make(chan struct{}), hurried: make(chan struct{}), growth: time.Now()}
	f.release = sync.OnceFunc(func() { close(f.held) })
	f.hurry = sync.OnceFunc(func() { close(f.hurried) })
	return f
}

// Release lets a held follower copy.
func (f *Follower) Release() { f.release() }

// Hurry lets Run wait no longer for a dst that takes nothing for UnreadFor: it returns ErrUnread then.
func (f *Follower) Hurry() { f.hurry() }

// LastGrowth is when the file was last seen to grow (before that, when the Follower was made). It looks at the file
// itself, so that a dst that blocks does not make a busy process look silent; it is exact to how often it is called.
// The time is monotonic.
func (f *Follower) LastGrowth() time.Time {
	st, err := f.src.Stat()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && st.Size() != f.size { // truncated is a sign of life, too
		f.size, f.growth = st.Size(), time.Now()
	}
	return f.growth
}

// DstErr is why dst was dropped: EPIPE when its reader is gone. nil while it takes what it is given.
func (f *Follower) DstErr() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dstErr
}

// Run copies until writerGone is closed and all that was written before has been copied; while held, it waits for
// Release then. The error is that of reading src or the end of ctx. A dst that fails is dropped, and following goes on.
//
// When ctx ends, Run returns even if dst hangs; what it was being given is left to it.
func (f *Follower) Run(ctx context.Context, writerGone <-chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- f.follow(ctx, writerGone) }()
	unread := time.NewTimer(time.Hour)
	defer unread.Stop()
	for hurried := f.hurried; ; {
		select {
		case err := <-done:
			return err
		case <-hurried:
			hurried = nil
			unread.Reset(UnreadFor)
		case <-unread.C:
			if f.givingFor() >= UnreadFor {
				return ErrUnread
			}
			unread.Reset(UnreadFor / 10)
		case <-ctx.Done():
			lag := time.NewTimer(followLag)
			defer lag.Stop()
			select {
			case err := <-done:
				return err
			case <-lag.C:
				return ctx.Err()
			}
		}
	}
}

// follow waits and copies by turns.
func (f *Follower) follow(ctx context.Context, writerGone <-chan struct{}) error {
	if f.opts.Hold {
		select {
		case <-f.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	wake := make(chan struct{}, 1)
	every, began := followFirst, time.Now()
	timer := time.NewTimer(every)
	defer timer.Stop()
	watched := false
	defer func() { f.unwatch(wake, watched) }()
	c := copier{Follower: f, buf: make([]byte, 32<<10), punched: followHead}
	for gone := false; ; {
		if err := c.toEnd(ctx); err != nil || gone {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-writerGone:
			gone = true // and once more to the end: nothing is written after this
		case <-wake:
		case <-timer.C:
			switch {
			case watched:
			case time.Since(began) < Patience:
				every = min(2*every, followPoll)
			case f.watch(wake):
				watched, every = true, followTick
			default:
				every = followPoll
			}
			timer.Reset(every)
		}
	}
}

// copier is the moving part of one follow.
type copier struct {
	*Follower
	buf     []byte
	off     int64 // copied up to here
	punched int64 // and freed up to here; -1: not possible
}

// toEnd copies what is there.
func (c *copier) toEnd(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := c.src.ReadAt(c.buf, c.off)
		if n > 0 {
			c.off += int64(n)
			c.saw(c.off)
			c.give(c.buf[:n])
			c.punch()
		}
		switch {
		case errors.Is(err, io.EOF):
			return c.truncated()
		case err != nil:
			return fmt.Errorf("follow: %w", err)
		}
	}
}

// truncated begins anew when the writer has cut the file: what it appends then stands at the beginning.
func (c *copier) truncated() error {
	st, err := c.src.Stat()
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	if st.Size() < c.off {
		c.off, c.punched = 0, min(c.punched, followHead)
	}
	return nil
}

func (f *Follower) saw(size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if size > f.size {
		f.size, f.growth = size, time.Now()
	}
}

// give hands b to dst, unless that has failed before.
func (f *Follower) give(b []byte) {
	for piece := range slices.Chunk(b, followPiece) {
		if f.DstErr() != nil {
			return
		}
		f.gives(time.Now())
		_, err := f.dst.Write(piece)
		f.gives(time.Time{})
		if err != nil {
			f.mu.Lock()
			f.dstErr = err
			f.mu.Unlock()
		}
	}
}

func (f *Follower) gives(since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giving = since
}

// givingFor is how long dst has not taken what it is being given; 0 while it is given nothing.
func (f *Follower) givingFor() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.giving.IsZero() {
		return 0
	}
	return time.Since(f.giving)
}

// punch frees what lies behind the tail, in pieces of the tail's length.
func (c *copier) punch() {
	upto := c.off - followTail
	if !c.opts.Punch || c.punched < 0 || upto-c.punched < followTail {
		return
	}
	upto -= upto % followTail // whole blocks, whatever their size; followHead is some of these
	if err := punchHole(c.src, c.punched, upto-c.punched); err != nil {
		c.punched = -1
		return
	}
	c.punched = upto
}

// watch asks for a wake-up at every write. The watch is on this very file, by its descriptor, which nobody replaces.
func (f *Follower) watch(wake chan<- struct{}) (watched bool) {
	err := watchPath(f.src, func(path string) error {
		watched = f.opts.Watch.Add(path, "", wake)
		return nil
	})
	return err == nil && watched
}

func (f *Follower) unwatch(wake chan<- struct{}, watched bool) {
	if !watched {
		return
	}
	_ = watchPath(f.src, func(path string) error {
		f.opts.Watch.Remove(path, wake)
		return nil
	})
}

package output

import (
	"context"
	"os"
	"slices"
	"time"
)

// Emit takes bytes of a stream, which it must not keep. An error ends the reading, and is what that returns.
type Emit func(s Stream, b []byte) error

// Tail gives the last n lines of each stream that is named, or of both: stdout, then stderr. The bytes are the service's
// own; the last line may be unfinished. A sweep that runs meanwhile is not noticed, except that what it drops is not
// given.
func (l *Log) Tail(n int, emit Emit, only ...Stream) error {
	_, err := l.tail(n, emit, only, false)
	return err
}

// Follow is Tail, and then gives what comes until ctx ends, over restarts of the service and of its supervisor. It looks
// every 100 ms. Its error is emit's or that of reading; nil at the end of ctx.
func (l *Log) Follow(ctx context.Context, n int, emit Emit, only ...Stream) error {
	f, err := l.Follower(n, emit, only...)
	if err != nil {
		return err
	}
	return f.Follow(ctx, emit)
}

// Follower is Tail, and keeps the place where that ended: a launch after it is followed from its first byte on. Its Follow
// is to be called, and lets go of the files.
func (l *Log) Follower(n int, emit Emit, only ...Stream) (*Follower, error) {
	readers, err := l.tail(n, emit, only, true)
	if err != nil {
		return nil, err
	}
	return &Follower{readers: readers}, nil
}

// Follower is the place up to which a service's output has been given.
type Follower struct{ readers readers }

// Follow gives what comes, as Log.Follow does. It is called once.
func (f *Follower) Follow(ctx context.Context, emit Emit) error {
	defer f.readers.close()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for over := false; ; {
		for _, r := range f.readers {
			if err := r.follow(emit); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			over = true // what was written before it is given all the same
		case <-tick.C:
		}
	}
}

const followTick = 100 * time.Millisecond

type readers []*reader

func (f readers) close() {
	for _, r := range f {
		r.close()
	}
	if len(f) > 0 {
		_ = f[0].folder.Close()
	}
}

// tail gives the last lines, and the readers where it ended if they are to be kept.
func (l *Log) tail(n int, emit Emit, only []Stream, keep bool) (readers, error) {
	folder, err := l.store.OpenLog(l.service)
	if err != nil {
		return nil, err
	}
	var f readers
	for _, s := range streams {
		if len(only) > 0 && !slices.Contains(only, s) {
			continue
		}
		var r *reader
		if r, err = newReader(folder, s); err != nil {
			break
		}
		f = append(f, r)
		var top int64
		if top, err = r.seekLines(n); err != nil {
			break
		}
		if err = r.copyTo(top, func(b []byte) error { return emit(s, b) }); err != nil {
			break
		}
	}
	if err == nil && keep {
		return f, nil
	}
	f.close()
	if len(f) == 0 {
		_ = folder.Close()
	}
	return nil, err
}

// follow gives what has come.
func (r *reader) follow(emit Emit) error {
	now, err := r.folder.Stat(string(r.s))
	same := err == nil && r.cur.info != nil && os.SameFile(now, r.cur.info) && now.Size() == r.cur.size
	if same && r.pos == r.cur.top() && now.ModTime().Equal(r.cur.info.ModTime()) {
		return nil
	}
	if err := r.refresh(); err != nil {
		return err
	}
	return r.copyTo(r.cur.top(), func(b []byte) error { return emit(r.s, b) })
}

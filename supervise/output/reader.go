package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"hermes-supervisor/fsstate"
)

// reader reads one stream, archives and current file as one, while another process may be sweeping. It belongs to one
// goroutine.
type reader struct {
	folder  *fsstate.LogFolder
	s       Stream
	cur     *current
	pos     int64 // of the next byte to be given
	archive *os.File
	open    extent // what archive holds
}

func newReader(folder *fsstate.LogFolder, s Stream) (*reader, error) {
	r := &reader{folder: folder, s: s}
	if err := r.refresh(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *reader) close() {
	if r.cur != nil {
		r.cur.close()
	}
	r.closeArchive()
}

func (r *reader) closeArchive() {
	if r.archive != nil {
		_ = r.archive.Close()
		r.archive = nil
	}
}

// refresh looks at the stream again. Where the service has cut its file, reading goes on with what came after that.
func (r *reader) refresh() error {
	c, err := look(r.folder, r.s, os.O_RDONLY)
	if err != nil {
		return err
	}
	if r.cur != nil {
		if c.base > r.cur.base {
			r.pos = min(r.pos, c.base)
		}
		if r.pos > c.top() {
			r.pos = c.end
		}
		r.cur.close()
	}
	r.cur = c
	return nil
}

// readAt reads bytes that lie together, at most len(b) of them, none at the top. The error is errMoved when the names
// have changed, and refresh is due.
func (r *reader) readAt(b []byte, pos int64) (int, error) {
	if e, found := r.cur.at(pos); found {
		return r.readArchive(b, pos, e)
	}
	if pos < r.cur.end {
		return 0, errMoved
	}
	if r.cur.file == nil {
		return 0, nil
	}
	n, err := r.cur.file.ReadAt(b, pos-r.cur.base)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("output %s: %w", r.folder.Path(string(r.s)), err)
	}
	// An archive has its name before its range is punched out. So bytes are what they were, or zeros, and then the names
	// tell whether the zeros are the service's own.
	if bytes.IndexByte(b[:n], 0) >= 0 {
		now, err := names(r.folder, r.s)
		if err != nil {
			return 0, err
		}
		if now.end > pos || now.base > r.cur.base && now.end >= pos {
			return 0, errMoved
		}
	}
	return n, nil
}

func (r *reader) readArchive(b []byte, pos int64, e extent) (int, error) {
	if r.archive == nil || r.open != e {
		r.closeArchive()
		f, err := openArchive(r.folder, r.s, e)
		if errors.Is(err, errMoved) {
			return 0, err
		}
		if err != nil {
			return 0, fmt.Errorf("output %s: %w", r.folder.Path(string(r.s)), err)
		}
		r.archive, r.open = f, e
	}
	n := int64(len(b))
	n = min(n, e.to-pos)
	if _, err := r.archive.ReadAt(b[:n], pos-e.from); err != nil {
		return 0, fmt.Errorf("read %s: %w", r.folder.Path(e.archive(r.s)), err)
	}
	return int(n), nil
}

// copyTo gives everything from pos to a position, or to the top where the file has been cut below it, in pieces.
func (r *reader) copyTo(to int64, emit func([]byte) error) error {
	b := make([]byte, chunk)
	for {
		r.pos = max(r.pos, r.cur.start())
		if r.pos >= to {
			return nil
		}
		n, err := r.readAt(b[:min(int64(len(b)), to-r.pos)], r.pos)
		if errors.Is(err, errMoved) {
			if err := r.refresh(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if err := emit(b[:n]); err != nil {
			return err
		}
		r.pos += int64(n)
	}
}

// lineStart is where the last n lines below top begin. An unfinished line counts.
func (r *reader) lineStart(top int64, n int) (int64, error) {
	if n <= 0 {
		return top, nil
	}
	b := make([]byte, chunk)
	for pos := top; pos > r.cur.start(); {
		low := max(r.cur.start(), pos-chunk)
		if e, found := r.cur.at(pos - 1); found {
			low = max(low, e.from)
		} else {
			low = max(low, r.cur.end)
		}
		b := b[:pos-low]
		if err := r.readFull(b, low); err != nil {
			return 0, err
		}
		for i, x := range slices.Backward(b) {
			if x != '\n' || low+int64(i) == top-1 {
				continue
			}
			if n--; n == 0 {
				return low + int64(i) + 1, nil
			}
		}
		pos = low
	}
	return r.cur.start(), nil
}

// readFull fills b; the error is errMoved when there is less.
func (r *reader) readFull(b []byte, pos int64) error {
	for len(b) > 0 {
		n, err := r.readAt(b, pos)
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		b, pos = b[n:], pos+int64(n)
	}
	return nil
}

// seekLines moves to where the last n lines begin, and gives the top below which they lie.
func (r *reader) seekLines(n int) (top int64, err error) {
	for range maxLooks {
		top = r.cur.top()
		if r.pos, err = r.lineStart(top, n); !errors.Is(err, errMoved) {
			return top, err
		}
		if err := r.refresh(); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("output %s: %w", r.folder.Path(string(r.s)), errMoved)
}

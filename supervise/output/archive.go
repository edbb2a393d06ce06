package output

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"hermes-supervisor/fsstate"
)

// maxPieces is how many archives at least a full bound consists of: dropping one costs this part of the history, and the
// newest, which is never dropped, is this small.
const maxPieces = 8

// errCut is a file that became shorter while it was copied: the next sweep tells what that means.
var errCut = errors.New("was cut while it was archived")

// archive moves what stands in a current file into archives. It ends where the file ended when it was looked at, so that
// a flood cannot keep it for ever.
func (b *batch) archive(i int) error {
	c, s := b.of[i], streams[i]
	if c.file == nil || b.solid.Load() {
		return nil
	}
	piece := max(b.bound/maxPieces, 1)
	segment := min(b.segment, piece)
	top := c.top()
	from := c.end
	if top-from > b.bound { // faster than it could be copied, and nobody would read it
		from = c.lineAfter(top - b.bound/2)
	}
	for top-from > segment && !b.solid.Load() {
		e := extent{from, top}
		if e.size() > piece {
			e.to = from + piece
		}
		e.to = c.lineBefore(e)
		err := b.put(s, c, e)
		if errors.Is(err, syscall.ENOSPC) {
			if dropped, derr := b.dropOldest(); derr == nil && dropped {
				err = b.put(s, c, e)
			}
		}
		if errors.Is(err, errCut) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("archive %s: %w", b.folder.Path(string(s)), err)
		}
		from = e.to
	}
	return nil
}

// put copies a range aside under its name, durably, and punches out everything up to its end.
func (b *batch) put(s Stream, c *current, e extent) error {
	name := temporary(s) + rand.Text()
	err := b.copy(name, c, e)
	if err == nil {
		if err = b.at("rename"); err == nil {
			err = b.folder.Rename(name, e.archive(s))
		}
	}
	if err != nil {
		_ = b.folder.Remove(name)
		return err
	}
	if err := b.at("sync folder"); err != nil {
		return err
	}
	if err := b.folder.Sync(); err != nil {
		return err
	}
	if len(c.archives) > 0 && c.archives[len(c.archives)-1].to < e.from { // what lies before a gap goes
		for _, old := range c.archives {
			if err := b.remove(old.archive(s)); err != nil {
				return err
			}
		}
		c.archives = nil
	}
	c.archives, c.end = append(c.archives, e), e.to
	return b.punch(s, c, e)
}

// copy writes a range to a new file and syncs it.
func (b *batch) copy(name string, c *current, e extent) error {
	if err := b.at("copy"); err != nil {
		return err
	}
	f, err := b.folder.Create(name)
	if err != nil {
		return err
	}
	if _, err = c.file.Seek(e.from-c.base, io.SeekStart); err == nil {
		_, err = io.CopyN(f, c.file, e.size())
	}
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	if err == nil {
		if err = b.at("sync"); err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// punch frees what the newest archive and those before it hold. From the very beginning: the block in which two archives
// meet is freed only by a hole that covers it whole. Where holes cannot be punched, the archive is taken back.
func (b *batch) punch(s Stream, c *current, e extent) error {
	if err := b.at("punch"); err != nil {
		return err
	}
	st, err := c.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() < e.to-c.base {
		return errCut
	}
	err = b.hole(c.file, e.to-c.base)
	if !errors.Is(err, errors.ErrUnsupported) {
		c.pending = c.pending && err != nil
		return err
	}
	b.solid.Store(true)
	c.archives, c.end = c.archives[:len(c.archives)-1], e.from
	return b.remove(e.archive(s))
}

func (b *batch) hole(f *os.File, length int64) error {
	if err := b.at("hole"); err != nil {
		return err
	}
	return punchHole(f, length)
}

// rotate makes whole current files archives, where holes cannot be punched and nothing writes to them. In this order:
// what has no current file is complete in its archives.
func (l *Log) rotate(folder *fsstate.LogFolder) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range streams {
		c, err := look(folder, s, os.O_RDONLY)
		if err != nil {
			return err
		}
		c.close()
		if c.file == nil || c.cut || c.end != c.base || c.size <= l.segment {
			continue
		}
		if err := l.at("rename whole"); err != nil {
			return err
		}
		if err := folder.Rename(string(s), extent{c.base, c.base + c.size}.archive(s)); err != nil {
			return err
		}
		if err := folder.Sync(); err != nil {
			return err
		}
		if err := l.create(folder, s); err != nil {
			return err
		}
		l.seen[i], l.clean = stamp{}, false
	}
	return nil
}

// lineBefore is the end of the last whole line of a range, or the range's end where its last 64 KiB have none.
func (c *current) lineBefore(e extent) int64 {
	b := make([]byte, min(chunk, e.size()))
	n, err := c.file.ReadAt(b, e.to-int64(len(b))-c.base)
	if err != nil && !errors.Is(err, io.EOF) {
		return e.to
	}
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		return e.to - int64(len(b)) + int64(i) + 1
	}
	return e.to
}

// lineAfter is where the next line begins, or pos where the next 64 KiB have none.
func (c *current) lineAfter(pos int64) int64 {
	b := make([]byte, chunk)
	n, err := c.file.ReadAt(b, pos-c.base)
	if err != nil && !errors.Is(err, io.EOF) {
		return pos
	}
	return pos + int64(bytes.IndexByte(b[:n], '\n')) + 1
}

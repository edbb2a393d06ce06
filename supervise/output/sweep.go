package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes-supervisor/fsstate"
)

// stamp is what an unchanged file keeps.
type stamp struct {
	there bool
	size  int64
	mtime int64 // ns
}

// Sweep archives and punches out what stands in the current files, where that is more than 1 MiB, and drops the oldest
// archives until both streams together have at most bound bytes (0: DefaultBound). It finishes what a killed one left.
// What the service did to its files itself goes to the journal. grew tells that a file has grown since the last Sweep, so
// that the next one should come soon; output that is as it was costs two lstat.
//
// The bound holds after each Sweep, but for what was written meanwhile (and where holes cannot be punched, for the
// current files); a flood
// of more than bound bytes between two is dropped but for its end, without being copied. An error leaves everything
// readable as it was; one that lasts is returned once.
func (l *Log) Sweep(bound int64) (grew bool, err error) {
	if bound <= 0 {
		bound = DefaultBound
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var now [2]stamp
	for i, s := range streams {
		now[i] = l.stamp(s)
		grew = grew || l.seen[i].there && now[i].size > l.seen[i].size
	}
	if l.clean && now == l.seen && bound == l.bound {
		return false, nil
	}
	err = l.sweep(bound)
	l.seen, l.bound, l.clean = now, bound, err == nil
	return grew, l.once(err)
}

// stamp looks at a current file by its path: a hint only, whether there is something to do.
func (l *Log) stamp(s Stream) stamp {
	info, err := os.Lstat(l.store.Path(fsstate.Log, fsstate.Name(l.service)+"/"+string(s)))
	if err != nil {
		return stamp{}
	}
	return stamp{there: true, size: info.Size(), mtime: info.ModTime().UnixNano()}
}

// once drops an error that was returned before and has not gone away since.
func (l *Log) once(err error) error {
	if err == nil {
		l.said = ""
		return nil
	}
	if text := err.Error(); text != l.said {
		l.said = text
		return err
	}
	return nil
}

func (l *Log) sweep(bound int64) error {
	folder, err := l.store.OpenLog(l.service)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the next launch makes it
	}
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // a directory handle
	b := &batch{Log: l, folder: folder, bound: bound}
	for i, s := range streams {
		if b.of[i], err = b.mend(i, s); err != nil {
			break
		}
		defer b.of[i].close()
	}
	if err != nil {
		return err
	}
	for i := range streams {
		err = errors.Join(err, b.archive(i))
	}
	return errors.Join(err, b.drop())
}

// batch is one sweep.
type batch struct {
	*Log

	folder *fsstate.LogFolder
	bound  int64
	of     [2]*current
}

// mend looks at a stream, tells what the service did to it, and finishes what is half done.
func (b *batch) mend(i int, s Stream) (*current, error) {
	c, err := look(b.folder, s, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err = b.repair(i, s, c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (b *batch) repair(i int, s Stream, c *current) error {
	if b.seen[i].there && c.size < b.seen[i].size || c.cut && c.file != nil {
		b.report(i, s, c)
	}
	if c.cut {
		if err := b.mark(b.folder, s, c.base); err != nil {
			return err
		}
		c.cut = false
	}
	if c.file == nil {
		if err := b.touch(b.folder, string(s)); err != nil {
			return err
		}
	}
	for _, name := range c.stale {
		if err := b.remove(name); err != nil {
			return err
		}
	}
	c.stale = nil
	if e, found := c.newest(); found && c.pending {
		if err := b.punch(s, c, e); !errors.Is(err, errCut) { // which the next look tells
			return err
		}
	}
	return nil
}

// report journals that a file is shorter than it was. The journal is for people: where it cannot be written, the next
// transition will say so.
func (b *batch) report(i int, s Stream, c *current) {
	how := fmt.Sprintf("was cut to %d bytes", c.size)
	if c.file == nil {
		how = "was removed"
	} else if c.size >= b.seen[i].size {
		how = "was cut and written anew"
	}
	_ = b.store.Journal(fsstate.Event{
		Kind: "output", Service: b.service,
		Reason: fmt.Sprintf("%s %s by the service or somebody else; what was not archived is gone (archived up to byte %d)", s, how, c.end),
	})
}

func (b *batch) remove(name string) error {
	if err := b.at("remove"); err != nil {
		return err
	}
	if err := b.folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// drop removes archives until the bound holds: the oldest of whichever stream has more in archives, so that a chatty
// stdout does not cost the few lines of stderr.
func (b *batch) drop() error {
	for {
		total := int64(0)
		for _, c := range b.of {
			total += c.top() - c.start()
		}
		if total <= b.bound {
			return nil
		}
		dropped, err := b.dropOldest()
		if err != nil || !dropped {
			return err
		}
	}
}

// dropOldest removes one archive, but none whose name alone says how far its stream is archived.
func (b *batch) dropOldest() (bool, error) {
	most := -1
	for i, c := range b.of {
		spare := len(c.archives) > 1 || len(c.archives) == 1 && c.end == c.base
		if spare && (most < 0 || c.end-c.start() > b.of[most].end-b.of[most].start()) {
			most = i
		}
	}
	if most < 0 {
		return false, nil
	}
	c := b.of[most]
	if err := b.remove(c.archives[0].archive(streams[most])); err != nil {
		return false, err
	}
	c.archives = c.archives[1:]
	return true, nil
}

package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"hermes-supervisor/fsstate"
)

// current is a stream as it is now: what the names say, and the current file. Its base and end are those in force, also
// where a mark that says so is not on disk yet.
type current struct {
	layout

	file    *os.File    // nil where there is none
	info    fs.FileInfo // of file
	size    int64       // of file
	pending bool        // the newest archive has not been punched out
	cut     bool        // the file begins anew at base, which no mark says yet
}

func (c *current) close() {
	if c.file != nil {
		_ = c.file.Close()
	}
}

// top is the position after the last byte.
func (c *current) top() int64 { return max(c.end, c.base+c.size) }

// maxLooks bounds how often look begins again because a sweep changed the folder meanwhile.
const maxLooks = 100

var errMoved = errors.New("was archived meanwhile")

// look opens the current file and reads the names, looks into the file, and reads the names again. Where a sweep was at
// work meanwhile, it begins anew: a hole that was punched under older names would look like one that nobody archived.
func look(folder *fsstate.LogFolder, s Stream, flag int) (*current, error) {
	for range maxLooks {
		c, err := lookOnce(folder, s, flag)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errMoved) {
			return nil, fmt.Errorf("output %s: %w", folder.Path(string(s)), err)
		}
	}
	return nil, fmt.Errorf("output %s: %w", folder.Path(string(s)), errMoved)
}

func lookOnce(folder *fsstate.LogFolder, s Stream, flag int) (*current, error) {
	c := &current{}
	var err error
	c.file, err = folder.Open(string(s), flag)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err = c.read(folder, s); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *current) read(folder *fsstate.LogFolder, s Stream) error {
	named, err := names(folder, s)
	if err != nil {
		return err
	}
	c.layout = named
	now, err := folder.Stat(string(s))
	if c.file == nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, errMoved)
		}
		c.begin(c.end > c.base)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	if err != nil {
		return err
	}
	if c.info, err = c.file.Stat(); err != nil {
		return err
	}
	if !os.SameFile(now, c.info) {
		return errMoved
	}
	c.size = c.info.Size()
	if err := c.settle(folder, s); err != nil {
		return err
	}
	if again, err := names(folder, s); err != nil || again.base != named.base || again.end != named.end {
		return errors.Join(err, errMoved)
	}
	return nil
}

func names(folder *fsstate.LogFolder, s Stream) (layout, error) {
	list, err := folder.Names()
	if err != nil {
		return layout{}, err
	}
	return layoutOf(s, list)
}

// begin lets the current file begin where the archives end.
func (c *current) begin(cut bool) {
	if cut {
		c.base, c.cut = c.end, true
	}
}

// settle finds what the names cannot say: that the service has cut the file, that a punch is due, and that the file goes
// on with a hole whose archive somebody has removed.
func (c *current) settle(folder *fsstate.LogFolder, s Stream) error {
	if c.size < c.end-c.base {
		c.begin(true)
		return nil
	}
	if e, found := c.newest(); found {
		foreign, err := c.compare(folder, s, e)
		if err != nil {
			return err
		}
		c.begin(foreign)
	}
	off, err := c.skipHole(c.end - c.base)
	if err != nil {
		return err
	}
	if off > c.end-c.base { // a gap, like one between two archives
		for _, e := range c.archives {
			c.stale = append(c.stale, e.archive(s))
		}
		c.archives, c.end = nil, c.base+off
	}
	return nil
}

const chunk = 64 << 10

// compare looks at what the file holds in the range of an archive. Nothing or zeros: it was punched out. The archive's
// bytes, in part or all: the punch is due. Anything else, which is foreign: the service has cut the file and written
// beyond the range since.
func (c *current) compare(folder *fsstate.LogFolder, s Stream, e extent) (foreign bool, err error) {
	var archive *os.File
	defer func() {
		if archive != nil {
			_ = archive.Close()
		}
	}()
	for off, end := e.from-c.base, e.to-c.base; off < end; {
		if off = nextData(c.file, off); off >= end {
			return false, nil
		}
		b := make([]byte, min(chunk, end-off))
		n, err := c.file.ReadAt(b, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if b = b[:n]; n == 0 {
			return false, errMoved // the file has just been cut
		}
		if !zeros(b) {
			if archive == nil {
				if archive, err = openArchive(folder, s, e); err != nil {
					return false, err
				}
			}
			a := make([]byte, n)
			if _, err := archive.ReadAt(a, off-(e.from-c.base)); err != nil {
				return false, err
			}
			for i := range b {
				if b[i] != 0 && b[i] != a[i] {
					return true, nil
				}
			}
			c.pending = true
		}
		off += int64(n)
	}
	return false, nil
}

// openArchive opens an archive. The error is errMoved when it is gone: a sweep has dropped it.
func openArchive(folder *fsstate.LogFolder, s Stream, e extent) (*os.File, error) {
	f, err := folder.Open(e.archive(s), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() != e.size() {
		err = fmt.Errorf("%s has %d bytes, not the %d of its name: remove it", e.archive(s), st.Size(), e.size())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// skipHole gives the offset from off on at which there are bytes of the service. The bytes are asked before the map of
// the file: OpenZFS up to 2.2 has called fresh data a hole (openzfs/zfs#15526).
func (c *current) skipHole(off int64) (int64, error) {
	b := make([]byte, 4096)
	n, err := c.file.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return off, err
	}
	if n == 0 || !zeros(b[:n]) {
		return off, nil
	}
	data := nextData(c.file, off)
	if data == off {
		return off, nil
	}
	data = min(data, c.size)
	if n, err = c.file.ReadAt(b, data); err != nil && !errors.Is(err, io.EOF) {
		return off, err
	}
	for i, x := range b[:n] {
		if x != 0 {
			return data + int64(i), nil
		}
	}
	return data, nil
}

// zeros tells whether b has only zero bytes.
func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

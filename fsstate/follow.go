package fsstate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// JournalPosition is how far somebody has read the journal of a home. The zero one is before its first line.
type JournalPosition struct {
	// Files are the journals that have been read, the old one first: at most two.
	Files []JournalPlace `json:"files,omitempty"`
	// Last is the time of the latest event, no later than the clock said: by it the place is found where the files are not
	// those that were read, as after a restored backup.
	Last time.Time `json:"last,omitzero"`
}

// JournalPlace is a place in one file. The file is known by how it begins, since its name changes with the rotation and its
// inode with a backup.
type JournalPlace struct {
	Head   string `json:"head"`  // SHA-256 of its first Bytes bytes, in hex
	Bytes  int64  `json:"bytes"` // at most Offset
	Offset int64  `json:"offset"`
}

// What bounds the reading of a journal, whatever lies there: agents can write it.
const (
	maxHead     = 512
	maxLine     = 64 << 10       // far above what Journal writes
	maxFollowed = 2 * MaxJournal // of one file: of a larger one, which Journal would have rotated, the end
)

// FollowJournal hands on every event that was appended to the journal since a position, in order, and returns the
// position behind them. Lines that are no events (cut short by a kill, forged, too long) are skipped and counted. A
// rotation loses nothing; a line that is still being written is left for the next time. Where both files are others than
// those that were read, events no later than Last are taken for read.
//
// It takes no lock, cannot block, and reads at most 16 MiB; the error is that of a file which is not plainly ours. A
// journal that is not there is empty.
func (s *Store) FollowJournal(from JournalPosition, visit func(e Event)) (to JournalPosition, skipped uint64, err error) {
	// In this order: what is rotated in between is opened twice, not left out.
	current, place, err := s.openFollowed(JournalFile, from)
	if err != nil {
		return from, 0, err
	}
	defer closeAny(current)
	old, oldPlace, err := s.openFollowed(OldJournalFile, from)
	if err != nil {
		return from, 0, err
	}
	defer closeAny(old)
	if sameFile(old, current) {
		old, oldPlace = nil, nil
	}
	lost := len(from.Files) > 0 && oldPlace == nil && place == nil
	to.Last = from.Last
	now := time.Now()
	read := func(f *os.File, p *JournalPlace) error {
		if f == nil {
			return nil
		}
		if p == nil {
			p = &JournalPlace{}
		}
		offset, bad, err := readEvents(f, p.Offset, func(e Event) {
			if lost && !e.Time.After(from.Last) {
				return
			}
			if e.Time.After(to.Last) && !e.Time.After(now) {
				to.Last = e.Time
			}
			visit(e)
		})
		skipped += bad
		if err != nil {
			return err
		}
		if offset == 0 { // nothing that it could be known by
			return nil
		}
		next, err := placeAt(f, offset)
		to.Files = append(to.Files, next)
		return err
	}
	// Beside a journal that is known, an old one that is not known is none that was ever written after it.
	if oldPlace != nil || place == nil {
		err = read(old, oldPlace)
	}
	if err == nil {
		err = read(current, place)
	}
	if err != nil {
		return from, skipped, fmt.Errorf("read %s: %w", s.Path("", JournalFile), err)
	}
	return to, skipped, nil
}

// openFollowed opens one of the two files and finds the place that was reached in it: nil where it is another file. A file
// that is not there is nil.
func (s *Store) openFollowed(name string, from JournalPosition) (*os.File, *JournalPlace, error) {
	f, info, err := openSafe(s.disk, s.Path("", name), name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range from.Files {
		if p.Offset < 0 || p.Bytes < 0 || p.Bytes > maxHead || p.Bytes > p.Offset || p.Offset > info.Size() {
			continue
		}
		if head, err := headOf(f, p.Bytes); err == nil && head == p.Head {
			return f, &p, nil
		}
	}
	return f, nil, nil
}

func closeAny(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	first, err := a.Stat()
	if err != nil {
		return false
	}
	second, err := b.Stat()
	return err == nil && os.SameFile(first, second)
}

func headOf(f io.ReaderAt, size int64) (string, error) {
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func placeAt(f io.ReaderAt, offset int64) (JournalPlace, error) {
	p := JournalPlace{Bytes: min(offset, maxHead), Offset: offset}
	var err error
	p.Head, err = headOf(f, p.Bytes)
	return p, err
}

// readEvents reads the whole lines of a file from an offset on and returns the offset behind the last of them.
func readEvents(f *os.File, offset int64, visit func(e Event)) (end int64, skipped uint64, err error) {
	info, err := f.Stat()
	if err != nil {
		return offset, 0, err
	}
	return eventsIn(f, offset, info.Size(), visit)
}

// eventsIn is readEvents of what has a size. A line above maxLine is passed over, also while its end is not there yet.
func eventsIn(f io.ReaderAt, offset, size int64, visit func(e Event)) (end int64, skipped uint64, err error) {
	partial := false
	if size-offset > maxFollowed {
		offset, partial = size-maxFollowed, true
	}
	if offset >= size {
		return offset, 0, nil
	}
	buf := make([]byte, 0, min(size-offset, maxLine))
	for offset < size {
		buf = buf[:min(size-offset, int64(cap(buf)))]
		n, err := f.ReadAt(buf, offset)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil // it has become shorter
			}
			return offset, skipped, err
		}
		rest := buf[:n]
		for {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole {
				break
			}
			switch {
			case partial:
				partial = false
				skipped++
			case len(line) == 0: // what closed a line
			default:
				var e Event
				if json.Unmarshal(line, &e) == nil && e.Kind != "" && !e.Time.IsZero() {
					visit(e)
				} else {
					skipped++
				}
			}
			rest = after
		}
		switch {
		case len(rest) < n:
			offset += int64(n - len(rest))
		case n == maxLine: // a full buffer without an end of a line
			partial = true
			offset += int64(n)
		case partial: // the rest of such a line, which ends later
			return offset + int64(n), skipped, nil
		default:
			return offset, skipped, nil // still being written
		}
	}
	return offset, skipped, nil
}

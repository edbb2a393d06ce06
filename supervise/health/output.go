package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

const (
	maxLine   = 16 << 10               // what is looked at of a line
	tailQuiet = 250 * time.Millisecond // after so long without a line end, what stands there is a line: a prompt
)

// Stream is an output file of a service, and where in it the launch began to write. It is read by offset, so that the
// file may be the one that the service inherited. A file cut to less is read again from its beginning; what was archived
// and punched out before it was read is not seen.
type Stream struct {
	File *os.File
	From int64
}

// awaitLine waits for a matching line, polling: a start is short, and an inotify instance for each service that starts
// would be dear (a user has 128 of them).
func awaitLine(ctx context.Context, p pace, re *regexp.Regexp, out []Stream, told func(string)) error {
	readers := make([]lineReader, len(out))
	for i, s := range out {
		readers[i] = lineReader{Stream: s, grown: time.Now()}
	}
	for {
		behind := false
		for i := range readers {
			found, err := readers[i].look(re)
			if err != nil {
				return fmt.Errorf("read output: %w", err)
			}
			if found {
				if m := re.FindSubmatch(readers[i].line); len(m) > 1 && told != nil {
					told(string(m[1]))
				}
				return nil
			}
			behind = behind || readers[i].behind
		}
		err := context.Cause(ctx)
		if !behind {
			err = p.wait(ctx)
		}
		if err != nil {
			return fmt.Errorf("await a line of output like %q: %w", re, err)
		}
	}
}

// lineReader is how far a stream has been looked at.
type lineReader struct {
	Stream

	held    []byte    // the beginning of an unfinished line, at most maxLine of it
	line    []byte    // the one that matched
	matched bool      // held has been looked at as it is
	grown   time.Time // when the file was last seen to have grown
	behind  bool      // there was more than one look reads
}

// look tells whether one of the lines matches that have come since the last look. It reads 1 MiB at most, so that a
// flood keeps neither the other stream from being looked at nor the end of ctx from being seen.
func (r *lineReader) look(re *regexp.Regexp) (bool, error) {
	r.behind = false
	st, err := r.File.Stat()
	if err != nil {
		return false, err
	}
	switch size := st.Size(); {
	case size < r.From: // cut by the service
		r.From, r.held, r.matched = 0, r.held[:0], false
	case size == r.From:
		return r.tail(re), nil
	}
	r.grown = time.Now()
	buf := make([]byte, 4<<10)
	for range 256 {
		n, err := r.File.ReadAt(buf, r.From)
		r.From += int64(n)
		if r.take(buf[:n], re) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	r.behind = true
	return false, nil
}

// take tells whether a line matches that b finishes, or that b makes longer than is looked at.
func (r *lineReader) take(b []byte, re *regexp.Regexp) bool {
	for len(b) > 0 {
		part, rest, ended := bytes.Cut(b, []byte{'\n'})
		b = rest
		if room := maxLine - len(r.held); room > 0 {
			r.held, r.matched = append(r.held, part[:min(room, len(part))]...), false
		}
		if (ended || len(r.held) == maxLine) && r.match(re) {
			return true
		}
		if ended {
			r.held, r.matched = r.held[:0], false
		}
	}
	return false
}

// tail tells whether the unfinished line matches, once nothing has been added to it for a while.
func (r *lineReader) tail(re *regexp.Regexp) bool {
	return len(r.held) > 0 && time.Since(r.grown) >= tailQuiet && r.match(re)
}

func (r *lineReader) match(re *regexp.Regexp) bool {
	if r.matched {
		return false
	}
	r.matched = true
	r.line = bytes.TrimSuffix(r.held, []byte{'\r'})
	return re.Match(r.line)
}

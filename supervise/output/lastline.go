package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
)

const (
	lastWindow = 8 << 10 // in which the last line is looked for
	maxLast    = 500     // bytes of it that are given
)

// LastLine is the last line with anything on it that the service has written to stderr since the last Files of this Log
// (where there was none: ever), or to stdout if there is none in the last 8 KiB of stderr; "" if there is none at all, or
// it cannot be read. It is made fit for a sentence: no control characters, valid UTF-8, at most 500 bytes.
func (l *Log) LastLine() string {
	folder, err := l.store.OpenLog(l.service)
	if err != nil {
		return ""
	}
	defer folder.Close() //nolint:errcheck // a directory handle
	for _, i := range []int{1, 0} {
		if line := lastLine(folder, streams[i], l.launched[i].Load()); line != "" {
			return line
		}
	}
	return ""
}

// lastLine reads the end of the current file, and only if that was archived just now what is in the archive: this is on
// the way from the end of a service to its next start.
func lastLine(folder *fsstate.LogFolder, s Stream, launched int64) string {
	f, err := folder.Open(string(s), os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read only
	st, err := f.Stat()
	if err != nil || st.Size() == launched {
		return ""
	}
	from := launched
	if st.Size() < launched { // cut since
		from = 0
	}
	from = max(from, st.Size()-lastWindow)
	b := make([]byte, st.Size()-from)
	n, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	if bytes.IndexByte(b[:n], 0) < 0 {
		return LastIn(b[:n])
	}
	r, err := newReader(folder, s)
	if err != nil {
		return ""
	}
	defer r.close()
	r.pos = max(r.cur.start(), r.cur.top()-int64(n))
	b = b[:0]
	_ = r.copyTo(r.cur.top(), func(more []byte) error { b = append(b, more...); return nil })
	return LastIn(b)
}

// LastIn is the last line of b that has anything on it, made fit for a sentence as LastLine's is.
func LastIn(b []byte) string {
	for len(b) > 0 {
		i := bytes.LastIndexByte(bytes.TrimRight(b, "\r\n"), '\n')
		if line := plain(string(b[i+1:])); line != "" {
			return line
		}
		b = b[:max(i, 0)]
	}
	return ""
}

// plain is a line without colours, control characters and what is no UTF-8.
func plain(line string) string {
	var text strings.Builder
	for i := 0; i < len(line) && text.Len() <= maxLast; {
		if n := escape(line[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		i += n
		switch {
		case r == '\t':
			text.WriteByte(' ')
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			text.WriteRune(r)
		}
	}
	out := strings.TrimSpace(text.String())
	for len(out) > maxLast {
		_, n := utf8.DecodeLastRuneInString(out)
		out = out[:len(out)-n]
	}
	return out
}

// escape is the length of the terminal sequence that s begins with: ESC [ … letter.
func escape(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}

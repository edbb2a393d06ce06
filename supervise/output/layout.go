package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stream is one of the two outputs of a service, and the name of its current file.
type Stream string

// The streams.
const (
	Out Stream = "out"
	Err Stream = "err"
)

var streams = [2]Stream{Out, Err}

// maxPosition bounds the positions in a name: beyond it lies a forgery, and sums could overflow.
const maxPosition = 1 << 62

// extent is a range of byte positions of a stream: [from, to).
type extent struct{ from, to int64 }

func (e extent) size() int64 { return e.to - e.from }

// archive is the name under which a range of a stream lies.
func (e extent) archive(s Stream) string { return fmt.Sprintf("%s.%020d-%020d", s, e.from, e.to) }

// mark is the name that says that the current file begins at a position.
func mark(s Stream, base int64) string { return fmt.Sprintf("%s@%020d", s, base) }

// temporary begins the names of archives that are being written.
func temporary(s Stream) string { return string(s) + ".tmp-" }

// layout is what the names in a folder say of one stream. They are the only truth about it: nothing else is recorded.
type layout struct {
	archives []extent // ascending, each beginning where the one before ends
	base     int64    // position of the current file's first byte
	end      int64    // what is below is archived or gone, what is not lies in the current file
	stale    []string // leftovers: of writers that were killed, and archives before a gap
}

// layoutOf reads the names of a folder. Names that mean nothing here are left alone.
func layoutOf(s Stream, names []string) (layout, error) {
	var l layout
	var marks []int64
	for _, name := range names {
		if strings.HasPrefix(name, temporary(s)) {
			l.stale = append(l.stale, name)
			continue
		}
		if text, found := strings.CutPrefix(name, string(s)+"@"); found {
			if base, ok := position(text); ok {
				marks = append(marks, base)
			}
			continue
		}
		text, found := strings.CutPrefix(name, string(s)+".")
		from, to, ranged := strings.Cut(text, "-")
		if !found || !ranged {
			continue
		}
		a, ok := position(from)
		b, also := position(to)
		if !ok || !also {
			continue
		}
		if a >= b || b > maxPosition {
			return layout{}, fmt.Errorf("%s is no range of an output: remove it", name)
		}
		l.archives = append(l.archives, extent{a, b})
	}
	slices.Sort(marks)
	if n := len(marks); n > 0 {
		if l.base = marks[n-1]; l.base > maxPosition {
			return layout{}, fmt.Errorf("%s is no position of an output: remove it", mark(s, l.base))
		}
		for _, m := range marks[:n-1] {
			l.stale = append(l.stale, mark(s, m))
		}
	}
	slices.SortFunc(l.archives, func(a, b extent) int {
		if a.from != b.from {
			return compare(a.from, b.from)
		}
		return compare(a.to, b.to)
	})
	return l, l.join(s)
}

func compare(a, b int64) int {
	if a < b {
		return -1
	}
	return 1
}

// join finds the end, and sets aside what lies before a gap: it was to be dropped, or has lost what follows it.
func (l *layout) join(s Stream) error {
	l.end = l.base
	first := 0
	for i, e := range l.archives {
		if i > 0 {
			before := l.archives[i-1]
			if e.from < before.to {
				return fmt.Errorf("archives %s and %s overlap: remove one", before.archive(s), e.archive(s))
			}
			if e.from > before.to {
				first = i
			}
		}
		l.end = max(l.end, e.to)
	}
	if n := len(l.archives); n > 0 && l.archives[n-1].to < l.end {
		first = n
	}
	for _, e := range l.archives[:first] {
		l.stale = append(l.stale, e.archive(s))
	}
	l.archives = l.archives[first:]
	return nil
}

// newest is the newest archive, if it lies in the current file's range.
func (l *layout) newest() (extent, bool) {
	if n := len(l.archives); n > 0 && l.archives[n-1].from >= l.base {
		return l.archives[n-1], true
	}
	return extent{}, false
}

// start is the oldest position that can be read.
func (l *layout) start() int64 {
	if len(l.archives) > 0 {
		return l.archives[0].from
	}
	return l.end
}

// at is the archive that holds a position.
func (l *layout) at(pos int64) (extent, bool) {
	for _, e := range l.archives {
		if e.from <= pos && pos < e.to {
			return e, true
		}
	}
	return extent{}, false
}

// position reads the 20 digits of a name.
func position(text string) (int64, bool) {
	if len(text) != 20 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxPosition {
		return maxPosition + 1, true // said to be no range
	}
	return int64(n), true
}

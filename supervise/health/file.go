package health

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"time"
)

// fileTick is how far a file's time may lie before the moment of the change: the kernel stamps files by a clock that
// moves once a tick, 10 ms at most (CONFIG_HZ=100; some 16 ms on Windows).
const fileTick = 16 * time.Millisecond

// changed is when the file at path was last changed, links followed. Nothing is opened.
func changed(path string) (time.Time, error) {
	st, err := os.Stat(path)
	if err != nil {
		if in, ok := errors.AsType[*fs.PathError](err); ok {
			err = in.Err
		}
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

// exists is nil where something is at path.
func exists(path string) error {
	if _, err := changed(path); err != nil {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	return nil
}

// fresh is nil where something is at path that was changed since started.
func fresh(path string, started time.Time) error {
	at, err := changed(path)
	if err != nil {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	if !since(at, started) {
		return fmt.Errorf("look for %s: it is %s older than the launch", path, span(started.Round(0).Sub(at)))
	}
	return nil
}

// touched tells whether something is at path that was changed since started.
func touched(path string, started time.Time) bool { return fresh(path, started) == nil }

// maxMatched is what is looked at of a file.
const maxMatched = 64 << 10

// holds is nil where a regular file at path matches. Links are followed; nothing that could block is opened.
func holds(path string, re *regexp.Regexp) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("look into %s: no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, errors.Unwrap(err))
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(f, maxMatched))
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, errors.Unwrap(err))
	}
	if !re.Match(text) {
		return fmt.Errorf("look into %s: nothing matches %q", path, re)
	}
	return nil
}

// since tells whether a file's time is not before started. A time without a fraction comes from a file system that
// keeps whole seconds (or from a program that does), and may stand for any moment of its second.
func since(at, started time.Time) bool {
	if at.Nanosecond() == 0 {
		started = started.Truncate(time.Second)
	}
	return !at.Before(started.Round(0).Add(-fileTick))
}

// beats is nil where the file at path was touched within maxAge before now, or where the service was launched within
// maxAge. A time that lies further ahead than maxAge is no sign of life (the clock was set back, or somebody wrote it):
// the next touch puts it right.
//
// A started with a monotonic reading is compared by that, so that neither a set clock nor a sleep counts as a start
// without a heartbeat. Nor has a service beaten while nothing ran: it gets maxAge from woke on, too (zero: no such gap).
func beats(path string, maxAge time.Duration, started, woke, now time.Time) error {
	for _, since := range []time.Time{started, woke} {
		if up := now.Sub(since); up <= maxAge && up >= -maxAge {
			return nil
		}
	}
	at, err := changed(path)
	if err != nil {
		return fmt.Errorf("heartbeat %s: %w", path, err)
	}
	switch age := now.Round(0).Sub(at); {
	case age > maxAge:
		return fmt.Errorf("heartbeat %s: last %s ago, at most %s is healthy", path, span(age), span(maxAge))
	case age < -maxAge:
		return fmt.Errorf("heartbeat %s: its time is %s ahead of the clock", path, span(-age))
	}
	return nil
}

// span is a duration as a person says it.
func span(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

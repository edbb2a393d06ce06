package fsstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// The journal and the one before it, in supervisor/ itself.
const (
	JournalFile    = "journal.jsonl"
	OldJournalFile = "journal.old.jsonl"
)

// MaxJournal is the size in bytes at which the journal becomes the old one, which is dropped.
const MaxJournal = 4 << 20

// maxText bounds one text of an event, in bytes: a session key can be any string.
const maxText = 500

// Event is one line of the journal: what changed, never what was asked. It has no place for a prompt.
type Event struct {
	Time     time.Time `json:"time"` // set when zero
	Kind     string    `json:"kind"` // "turn", "service", "handoff", …
	Session  string    `json:"session,omitempty"`
	Service  string    `json:"service,omitempty"`
	Handoff  string    `json:"handoff,omitempty"`
	Platform string    `json:"platform,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Instance string    `json:"instance,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	From     string    `json:"from,omitempty"` // phase before
	To       string    `json:"to,omitempty"`   // phase after
	Reason   string    `json:"reason,omitempty"`
	Code     *int      `json:"code,omitempty"`   // exit code, where there is one
	Signal   int       `json:"signal,omitempty"` // signal that ended the process
	// Millis is the time from the last proof of life, or the death, of a turn's run to its continuation, in milliseconds: in
	// "launched" of a continuation, and never 0 there.
	Millis int64 `json:"ms,omitempty"`
	// LockMillis is how long its writer has waited for locks since its last event, in milliseconds, each wait of 100 or more.
	LockMillis int64 `json:"lock_ms,omitempty"` // set by Journal
}

// Journal appends one line to the journal. Lines of several processes are whole and never mixed; a line that a killed
// writer or a full disk cut short is closed by the next one, so a reader skips what is no JSON (an empty line: what
// looked cut short was still being written). It is a history for
// people: not synced, and no decision reads it.
func (s *Store) Journal(e Event) error {
	if _, err := s.change("journal", "", JournalFile); err != nil {
		return err
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	e.LockMillis = s.waited.Swap(0)
	for _, text := range []*string{&e.Kind, &e.Session, &e.Service, &e.Handoff, &e.Platform, &e.Agent, &e.Instance, &e.From, &e.To, &e.Reason} {
		if len(*text) > maxText {
			*text = (*text)[:maxText] // a cut rune becomes U+FFFD
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	f, size, err := s.openJournal()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if last := []byte{'\n'}; size > 0 {
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	n, err := s.disk.Write(f, line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if cerr := s.disk.CloseFile(f); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", s.Path("", JournalFile), err)
	}
	if size+int64(len(line)) > MaxJournal {
		return s.rotateJournal()
	}
	return nil
}

// openJournal opens the journal for one line, and makes it where it is missing.
func (s *Store) openJournal() (*os.File, int64, error) {
	path := s.Path("", JournalFile)
	for range maxReplaced {
		f, info, err := openSafe(s.disk, path, JournalFile, os.O_RDWR|os.O_APPEND)
		if err == nil {
			return f, info.Size(), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
		f, err = s.disk.Open(JournalFile, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return f, 0, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, 0, err
		}
	}
	return nil, 0, &UnsafeError{Op: "open", Path: path, Problem: "is replaced again and again"}
}

// rotateJournal makes the journal the old one. Of several that find it full, one does; it looks again under the lock,
// since a second rename would drop what was just kept. Only a try: the caller may hold a stripe, even this one.
func (s *Store) rotateJournal() error {
	stripe := stripeOf(JournalFile)
	line := s.queues.line(stripe)
	select {
	case line <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-line }()
	l, err := s.tryFile(stripeFile(stripe))
	if l == nil {
		return err
	}
	defer l.Unlock() //nolint:errcheck // the process's end frees it
	info, err := s.disk.Lstat(JournalFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= MaxJournal {
		return nil
	}
	if err != nil {
		return err
	}
	return s.disk.Rename(JournalFile, OldJournalFile)
}

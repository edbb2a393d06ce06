package fsstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// journalReader is somebody who follows a journal, and what he was handed.
type journalReader struct {
	t       *testing.T
	s       *Store
	at      JournalPosition
	skipped uint64
}

// read returns the sessions of the events that are new.
func (r *journalReader) read() string {
	r.t.Helper()
	var got []string
	at, skipped, err := r.s.FollowJournal(r.at, func(e Event) { got = append(got, e.Session) })
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := json.Marshal(at) // as it is kept
	r.at = JournalPosition{}
	if err = errors.Join(err, json.Unmarshal(text, &r.at)); err != nil {
		r.t.Fatal(err)
	}
	r.skipped += skipped
	return strings.Join(got, " ")
}

func (r *journalReader) expect(want string) {
	r.t.Helper()
	if got := r.read(); got != want {
		r.t.Fatalf("read %.200q, not %.200q", got, want)
	}
	if again := r.read(); again != "" {
		r.t.Fatalf("read for the second time: %.200q", again)
	}
}

func (r *journalReader) write(sessions ...string) {
	r.t.Helper()
	for _, session := range sessions {
		if err := r.s.Journal(Event{Kind: "turn", Session: session}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *journalReader) append(text string) {
	r.t.Helper()
	f, err := os.OpenFile(r.s.Path("", JournalFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *journalReader) rotate() {
	r.t.Helper()
	if err := os.Rename(r.s.Path("", JournalFile), r.s.Path("", OldJournalFile)); err != nil {
		r.t.Fatal(err)
	}
}

func newJournalReader(t *testing.T) *journalReader {
	t.Helper()
	return &journalReader{t: t, s: newStore(t)}
}

func TestAFollowedJournalIsReadOnce(t *testing.T) {
	t.Parallel()
	r := newJournalReader(t)
	r.expect("")
	r.write("a", "b")
	r.expect("a b")
	r.write("c")
	r.expect("c")
}

func TestAFollowedJournalIsReadOverItsRotation(t *testing.T) {
	t.Parallel()
	r := newJournalReader(t)
	r.write("a")
	r.rotate()
	r.write("b")
	r.expect("a b") // both, the old one first
	r.write("c")
	r.rotate()
	r.expect("c")
	r.write("d")
	r.expect("d")
	r.rotate()
	r.write("e")
	r.expect("e")
	// A writer that had the file open when it was renamed.
	if err := os.Rename(r.s.Path("", OldJournalFile), r.s.Path("", JournalFile+".x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.s.Path("", JournalFile), r.s.Path("", OldJournalFile)); err != nil {
		t.Fatal(err)
	}
	r.expect("")
	r.write("f")
	r.expect("f")
}

func TestAFollowedJournalThatIsAnotherOneIsReadByTime(t *testing.T) {
	t.Parallel()
	r := newJournalReader(t)
	old := time.Now().Add(-time.Hour).UTC()
	line := func(at time.Time, session string) string {
		text, err := json.Marshal(Event{Time: at, Kind: "turn", Session: session})
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	r.append(line(old, "a") + line(old.Add(time.Minute), "b"))
	r.expect("a b")
	// Cut and written anew, as an editor or a restored backup does; its head is another.
	if err := os.WriteFile(r.s.Path("", JournalFile), []byte(line(old.Add(time.Second), "a2")+line(old.Add(2*time.Minute), "c")), 0o600); err != nil {
		t.Fatal(err)
	}
	r.expect("c")
	// Shorter than what was read.
	if err := os.Truncate(r.s.Path("", JournalFile), 10); err != nil {
		t.Fatal(err)
	}
	r.append("\n" + line(old.Add(3*time.Minute), "d"))
	r.expect("d")
	// A time ahead of the clock is no reason to take everything for read that comes.
	r.append(line(time.Now().Add(24*time.Hour), "future"))
	r.expect("future")
	if err := os.Remove(r.s.Path("", JournalFile)); err != nil {
		t.Fatal(err)
	}
	r.write("now")
	r.expect("now")
}

func TestWhatIsNoEventIsPassedOverOnce(t *testing.T) {
	t.Parallel()
	r := newJournalReader(t)
	r.write("a")
	r.append(`{"time":"2026-`)
	r.expect("a")
	r.write("b") // closes it
	r.expect("b")
	if r.skipped != 1 {
		t.Errorf("%d lines skipped", r.skipped)
	}
	r.append("\x00\xff\n[]\n{}\n{\"kind\":1}\nnull\n" + strings.Repeat("[", 1000) + "\n\n")
	r.append(strings.Repeat("x", 5*maxLine))
	r.expect("")
	r.append(strings.Repeat("y", maxLine) + "\n")
	r.write("c")
	r.expect("c")
	if r.skipped < 8 || r.skipped > 9 {
		t.Errorf("%d lines skipped", r.skipped)
	}
	// A line of the largest size that can be written.
	big := strings.Repeat("\x01", maxText)
	if err := r.s.Journal(Event{Kind: "turn", Session: big, Agent: big, Instance: big, From: big, To: big, Reason: big, Platform: big, Service: big, Handoff: big}); err != nil {
		t.Fatal(err)
	}
	r.expect(big)
}

// What an agent can make of it: 1 TiB of nothing.
func TestAJournalWithoutEndIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	r := newJournalReader(t)
	r.append("")
	if err := os.Truncate(r.s.Path("", JournalFile), 1<<40); err != nil {
		t.Skipf("no sparse file of 1 TiB here: %v", err)
	}
	inTime(t, func() {
		r.append("\n")
		r.write("a")
		if got := r.read(); got != "a" {
			t.Errorf("read %q", got)
		}
	})
}

// Whatever a file holds, and wherever reading begins, the offset stays in it and does not go back, a second look finds
// nothing new, and what was appended whole is found.
func FuzzFollowedLines(f *testing.F) {
	f.Add([]byte("{\"time\":\"2026-01-01T00:00:00Z\",\"kind\":\"x\"}\n"), int64(0))
	f.Add([]byte("\n\n{"), int64(1))
	f.Add([]byte("{\"kind\":1}\r\n\x00\n{}{}\nnull\n"), int64(3))
	f.Fuzz(func(t *testing.T, data []byte, from int64) {
		if from < 0 || from > int64(len(data)) {
			from = 0
		}
		end, _, err := eventsIn(bytes.NewReader(data), from, int64(len(data)), func(Event) {})
		if err != nil || end < from || end > int64(len(data)) {
			t.Fatalf("from %d of %d to %d, %v", from, len(data), end, err)
		}
		if again, _, err := eventsIn(bytes.NewReader(data), end, int64(len(data)), func(e Event) { t.Errorf("again: %+v", e) }); err != nil || again < end {
			t.Fatalf("once more from %d: %d, %v", end, again, err)
		}
		whole := append(bytes.Clone(data), fmt.Sprintf("\n{\"time\":%q,\"kind\":\"mine\"}\n", time.Unix(1, 0).Format(time.RFC3339))...)
		found := false
		if _, _, err := eventsIn(bytes.NewReader(whole), end, int64(len(whole)), func(e Event) { found = found || e.Kind == "mine" }); err != nil || !found {
			t.Fatalf("what came after it was not found: %v", err)
		}
	})
}

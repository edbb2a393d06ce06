package fsstate

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func helperJournal(args []string) int {
	s := mustOpen(args[0])
	for i := range must(strconv.Atoi(args[2])) {
		must(0, s.Journal(Event{Kind: "turn", Session: args[1], Attempt: i + 1, Reason: strings.Repeat("r", i%maxText)}))
	}
	return 0
}

// events reads a journal and fails on a line that is none.
func events(t *testing.T, path string) []Event {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []Event
	for line := range bytes.Lines(data) {
		if len(line) == 1 {
			continue // a writer saw another's line half done and closed it
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func TestJournalLinesOfConcurrentProcessesAreWholeAcrossARotation(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	// Full but for some lines, so that the writers meet the rotation.
	filler := strings.Repeat(`{"time":"2026-01-01T00:00:00Z","kind":"filler"}`+"\n", MaxJournal/48-100)
	if err := os.WriteFile(s.Path("", JournalFile), []byte(filler), 0o600); err != nil {
		t.Fatal(err)
	}
	const processes, lines = 4, 300
	var wg sync.WaitGroup
	for i := range processes {
		cmd := helper(t, "journal", s.Home().Path, "writer"+strconv.Itoa(i), strconv.Itoa(lines))
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := map[string]int{}
	for _, e := range append(events(t, s.Path("", OldJournalFile)), events(t, s.Path("", JournalFile))...) {
		if e.Kind == "filler" {
			continue
		}
		if got[e.Session]++; e.Attempt != got[e.Session] {
			t.Fatalf("%s: line %d came as number %d", e.Session, e.Attempt, got[e.Session])
		}
	}
	for i := range processes {
		if n := got["writer"+strconv.Itoa(i)]; n != lines {
			t.Errorf("writer %d: %d of %d lines", i, n, lines)
		}
	}
	if info, err := os.Stat(s.Path("", OldJournalFile)); err != nil || info.Size() < MaxJournal {
		t.Errorf("not rotated, or twice: %v, %v", info, err)
	}
	if info, err := os.Stat(s.Path("", JournalFile)); err != nil || info.Size() > MaxJournal {
		t.Errorf("journal: %v, %v", info, err)
	}
}

func TestJournalClosesALineThatWasCutShort(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := os.WriteFile(s.Path("", JournalFile), []byte(`{"time":"2026-`), 0o600); err != nil {
		t.Fatal(err)
	}
	code := 3
	event := Event{Time: time.Unix(1, 0), Kind: "turn", Session: strings.Repeat("é", 400), Code: &code}
	for range 2 {
		if err := s.Journal(event); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(s.Path("", JournalFile))
	lines := strings.Split(string(data), "\n")
	if err != nil || len(lines) != 4 {
		t.Fatalf("%q, %v", data, err)
	}
	var e Event
	if err := json.Unmarshal([]byte(lines[1]), &e); err != nil || *e.Code != 3 || e.Session[:500] != event.Session[:500] {
		t.Errorf("%+v, %v", e, err)
	}
	if len(e.Session) > maxText+3 {
		t.Errorf("session of %d bytes", len(e.Session))
	}
}

func TestJournalIsNotHeldUpByALockedStripe(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	unlock, err := s.Lock(t.Context(), JournalFile, "same stripe as the rotation")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := os.WriteFile(s.Path("", JournalFile), make([]byte, MaxJournal), 0o600); err != nil {
		t.Fatal(err)
	}
	inTime(t, func() {
		if err := s.Journal(Event{Kind: "turn"}); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(s.Path("", OldJournalFile)); err == nil {
		t.Error("rotated without the lock")
	}
}

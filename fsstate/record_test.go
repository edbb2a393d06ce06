package fsstate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestNameIsTheKeyOnlyWhereThatIsSafeEverywhere(t *testing.T) {
	t.Parallel()
	hash := func(key string) string {
		sum := sha256.Sum256([]byte(key))
		return "=" + hex.EncodeToString(sum[:])
	}
	for _, plain := range []string{"a", "main", "a-b_c0", strings.Repeat("x", 64), "console", "com10", "0"} {
		if got := Name(plain); got != plain {
			t.Errorf("Name(%q) = %q", plain, got)
		}
	}
	for _, key := range []string{
		"", "A", "agent:main:telegram:dm:42", "..", "a/b", "a.b", "-a", "_a", "a\n", "ä", "con", "nul", "com1", "lpt9", "aux",
		strings.Repeat("x", 65), "=" + strings.Repeat("0", 64), "a\x00", "prn",
	} {
		if got := Name(key); got != hash(key) {
			t.Errorf("Name(%q) = %q", key, got)
		}
	}
}

func TestWriteReadRemove(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if _, _, err := s.Read(Turns, "a.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of nothing: %v", err)
	}
	for _, text := range []string{"one", "", strings.Repeat("x", MaxRecord)} {
		if err := s.Write(Turns, "a.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, info, err := s.Read(Turns, "a.json")
		if err != nil || string(got) != text || info.Size != int64(len(text)) {
			t.Fatalf("Read: %d bytes, %+v, %v", len(got), info, err)
		}
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := s.Touch(Turns, "a.json", old); err != nil {
		t.Fatal(err)
	}
	if _, info, err := s.Read(Turns, "a.json"); err != nil || !info.ModTime.Equal(old) {
		t.Errorf("after Touch: %v, %v", info.ModTime, err)
	}
	for range 2 {
		if err := s.Remove(Turns, "a.json"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	if err := s.Touch(Turns, "a.json", old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Touch of nothing: %v", err)
	}
}

func TestTooLargeRecordIsRefusedAndTheOldOneStays(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := s.Write(Turns, "a.json", []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(Turns, "a.json", make([]byte, MaxRecord+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Write: %v", err)
	}
	if got, _, err := s.Read(Turns, "a.json"); err != nil || string(got) != "old" {
		t.Errorf("Read: %q, %v", got, err)
	}
	if err := os.WriteFile(s.Path(Turns, "b.json"), make([]byte, MaxRecord+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(Turns, "b.json"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Read: %v", err)
	}
}

func TestNameThatLeavesTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, file := range []string{"", ".", "..", "a/b", "../x", "a\\b", "c:x", "a\x00", "/etc/passwd", strings.Repeat("x", 256)} {
		_, _, rerr := s.Read(Turns, file)
		_, qerr := s.Quarantine(Turns, file, time.Now())
		_, oerr := s.NewOutput(file)
		_, perr := s.OpenRun(file)
		for op, err := range map[string]error{
			"Read": rerr, "Write": s.Write(Turns, file, nil), "Remove": s.Remove(Turns, file),
			"Touch": s.Touch(Turns, file, time.Now()), "Quarantine": qerr, "NewOutput": oerr, "OpenRun": perr,
		} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s of %q: %v", op, file, err)
			}
		}
	}
}

func TestListIsSortedAndLeavesOutWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, name := range []string{"b.json", "a.json", ".hidden", "c.json"} {
		if err := s.Write(Ended, name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(s.Path(Ended, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	aside, err := s.Quarantine(Ended, "c.json", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	if err != nil || aside != "c.json.corrupt-20260102T030405.000000006Z" {
		t.Errorf("Quarantine: %q, %v", aside, err)
	}
	if names, err := s.List(Ended); err != nil || !slices.Equal(names, []string{"a.json", "b.json"}) {
		t.Errorf("List: %v, %v", names, err)
	}
	if err := os.RemoveAll(s.Path(Ended, "")); err != nil {
		t.Fatal(err)
	}
	if names, err := s.List(Ended); err != nil || len(names) != 0 {
		t.Errorf("List of a missing folder: %v, %v", names, err)
	}
}

func TestQuarantineNeverOverwritesWhatLiesAside(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := time.Now()
	for i := range 2 {
		if err := s.Write(Turns, "a.json", []byte{byte('0' + i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Quarantine(Turns, "a.json", now); (err != nil) != (i == 1) || err != nil && !errors.Is(err, fs.ErrExist) {
			t.Errorf("time %d: %v", i, err)
		}
	}
	long := strings.Repeat("x", 250)
	if err := s.Write(Turns, long, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Quarantine(Turns, long, now); err != nil {
		t.Errorf("a long name: %v", err)
	}
}

func TestSweepTmpRemovesOnlyWhatIsOld(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(s.Path(Tmp, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Touch(Tmp, "old", time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.SweepTmp(time.Now()); err != nil {
		t.Fatal(err)
	}
	if names, err := s.List(Tmp); err != nil || !slices.Equal(names, []string{"new"}) {
		t.Errorf("left: %v, %v", names, err)
	}
}

// sumRecord is a record of about 2 KB that tells whether it is whole.
func sumRecord(version int) []byte {
	body := strconv.Itoa(version) + " " + strings.Repeat("x", 2000)
	sum := sha256.Sum256([]byte(body))
	return fmt.Appendf(nil, "%x %s", sum, body)
}

func recordVersion(data []byte) (int, error) {
	sum, body, _ := bytes.Cut(data, []byte(" "))
	want := sha256.Sum256(body)
	if string(sum) != hex.EncodeToString(want[:]) {
		return 0, fmt.Errorf("torn record of %d bytes", len(data))
	}
	version, _, _ := bytes.Cut(body, []byte(" "))
	return strconv.Atoi(string(version))
}

func helperWriteLoop(args []string) int {
	s := mustOpen(args[0])
	done := make(chan struct{})
	go func() { untilStdinCloses(); close(done) }()
	for v := 1; ; v++ {
		if err := s.Write(Turns, "x.json", sumRecord(v)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if v == 1 {
			fmt.Fprintln(os.Stdout, "writing")
		}
		select {
		case <-done:
			return 0
		default:
		}
	}
}

func TestReaderSeesWholeVersionsWhileAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w := start(t, "write-loop", s.Home().Path)
	last, seen := 0, 0
	for deadline := time.Now().Add(20 * time.Second); seen < 40; {
		data, _, err := s.Read(Turns, "x.json")
		if err != nil {
			t.Fatal(err)
		}
		v, err := recordVersion(data)
		if err != nil || v < last {
			t.Fatalf("version %d after %d: %v", v, last, err)
		}
		if v > last {
			seen++
		}
		last = v
		if time.Now().After(deadline) {
			t.Fatalf("saw %d versions only", seen)
		}
	}
	w.kill()
	data, _, err := s.Read(Turns, "x.json")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := recordVersion(data); err != nil || v < last {
		t.Errorf("after SIGKILL: version %d after %d, %v", v, last, err)
	}
}

func BenchmarkWrite2K(b *testing.B) {
	s := benchStore(b)
	data := sumRecord(1)
	for b.Loop() {
		if err := s.Write(Turns, "x.json", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead2K(b *testing.B) {
	s := benchStore(b)
	if err := s.Write(Turns, "x.json", sumRecord(1)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := s.Read(Turns, "x.json"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	h := benchStore(b).Home()
	for b.Loop() {
		s, err := Open(h, Options{})
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	dir := b.TempDir()
	s, err := Open(Home{Path: dir, Root: dir}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

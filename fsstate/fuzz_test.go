package fsstate

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func fuzzStore(f *testing.F) *Store {
	f.Helper()
	dir := f.TempDir()
	s, err := Open(Home{Path: dir, Root: dir}, Options{UnsafeFilesystem: true})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

func writeFuzzed(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An outcome decides that a request never runs again: what is read is what was asked about, and can be written.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"version":1,"session":"s","id":"r1","prompt_sha256":"","end":{"code":0,"reason":"success","at":"2026-03-04T05:06:07Z"},"attempts":1,"started_at":"2026-03-04T05:06:07Z"}`))
	f.Add([]byte(`{"version":1,"session":"s","id":"r2"}`))
	f.Add([]byte(`{"version":1,"session":"s","id":"r1","ID":"r2"}`))
	f.Add([]byte(`{"version":2,"session":"s","id":"r1"}`))
	f.Add([]byte(`{"version":1,"session":"s","id":"r1","end":null,"attempts":1e9}`))
	f.Add([]byte(`{"version":1,"session":"s","id":"r1","instance":"../../x"}`))
	ts := TurnFiles{Store: fuzzStore(f)}
	path := ts.Store.Path(Outcomes, outcomeFile("s", "r1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFuzzed(t, path, data)
		o, err := ts.Outcome("s", "r1")
		if err != nil {
			if o != nil {
				t.Fatal("an outcome and an error")
			}
			return
		}
		if o == nil || o.Session != "s" || o.ID != "r1" {
			t.Fatalf("read %+v", o)
		}
		if err := ts.PutOutcome(o); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := ts.Outcome("s", "r1")
		if err != nil || !again.End.At.Equal(o.End.At) || again.End.Code != o.End.Code || again.Attempts != o.Attempts {
			t.Fatalf("wrote %+v, read %+v, %v", o, again, err)
		}
	})
}

// Whatever lies in its place, a key is 32 bytes as they are spelled there, and the file is never changed.
func FuzzKeyFile(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", keySize) + "\n"))
	f.Add([]byte(" " + strings.Repeat("AB", keySize)))
	f.Add([]byte(strings.Repeat("ab", keySize-1)))
	f.Add([]byte(strings.Repeat("ab", keySize) + "00"))
	f.Add([]byte(strings.Repeat("ab", 1000)))
	f.Add([]byte{})
	dir := f.TempDir()
	path := filepath.Join(dir, keyFile)
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFuzzed(t, path, data)
		old := time.Now().Add(-2 * settled) // an old key is not synced
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		key, err := LoadKey(dir)
		if err == nil && (len(key) != keySize || !strings.EqualFold(hex.EncodeToString(key), strings.TrimSpace(string(data)))) {
			t.Errorf("key %x of %q", key, data)
		}
		if _, corrupt := errors.AsType[*CorruptError](err); err != nil && (key != nil || !corrupt && !errors.Is(err, ErrTooLarge)) {
			t.Errorf("key %x, %v", key, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, data) {
			t.Errorf("the file was changed to %q, %v", left, err)
		}
	})
}

// The journal has no decoder of ours; its readers take one JSON object a line. So each event is one, whatever it says,
// and whatever stood before it.
func FuzzJournalLine(f *testing.F) {
	f.Add("turn", "agent:main:telegram:dm:42", "a\nb", 12, []byte(nil))
	f.Add("", "\xff\xfe", "\u2028\x00</script>", -1, []byte("{\"kind\":\"tu"))
	f.Add(strings.Repeat("é", 400), strings.Repeat("x", 2000), "]", 0, []byte("\n\n"))
	f.Add("turn", "s", "r", 1, []byte{0})
	s := fuzzStore(f)
	path := s.Path("", JournalFile)
	f.Fuzz(func(t *testing.T, kind, session, reason string, pid int, before []byte) {
		writeFuzzed(t, path, before)
		if err := s.Journal(Event{Kind: kind, Session: session, Reason: reason, PID: pid}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line, cut := bytes.CutPrefix(data, before)
		if len(before) > 0 && before[len(before)-1] != '\n' {
			line, cut = bytes.CutPrefix(line, []byte("\n"))
		}
		if !cut || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' || !utf8.Valid(line) {
			t.Fatalf("wrote %q", line)
		}
		var e Event
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil || e.PID != pid {
			t.Fatalf("%v of %q", err, line)
		}
		for said, want := range map[string]string{e.Kind: kind, e.Session: session, e.Reason: reason} {
			if utf8.ValidString(want) && len(want) <= maxText && said != want {
				t.Errorf("said %q for %q", said, want)
			}
		}
	})
}

// Who holds a lock is read from a file that anyone with our user id may have written: it is shown, or it is not.
func FuzzLockHolder(f *testing.F) {
	f.Add([]byte(`{"pid":812,"purpose":"turn run","since":"2026-03-04T05:06:07Z"}`))
	f.Add([]byte(`{"pid":812,"purpose":"turn run","since":"2026-03-04T05:06:07Z"}` + strings.Repeat(" ", 300)))
	f.Add([]byte(`{"pid":"x"}`))
	f.Add([]byte(`{"pid":1e3,"purpose":null}`))
	f.Add([]byte("null"))
	f.Add([]byte{})
	s := fuzzStore(f)
	file := stripeFile(7)
	padding := make([]byte, holderOffset)
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFuzzed(t, s.Path("", file), append(padding[:holderOffset:holderOffset], data...))
		h := s.holder(file)
		if len(h.Purpose) > 3*holderSize {
			t.Errorf("a purpose of %d bytes", len(h.Purpose))
		}
		if text := (&LockedError{Name: "s.json", Holder: h}).Error(); !strings.HasPrefix(text, "lock s.json: held by ") {
			t.Errorf("says %q", text)
		}
		s.sign(file, "next")
		if next := s.holder(file); next.PID != os.Getpid() || next.Purpose != "next" {
			t.Errorf("after the next holder: %+v", next)
		}
	})
}

// The profile that `hermes profile use` chose becomes a folder's name.
func FuzzActiveProfile(f *testing.F) {
	for _, text := range []string{"coder\n", "Default", "../..", "a/b", "root", "\ufeffcoder", "", "con", strings.Repeat("a", 70)} {
		f.Add([]byte(text))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFuzzed(t, filepath.Join(root, "active_profile"), data)
		name, err := activeProfile(root)
		if name != "" && (err != nil || !PlainName(name)) {
			t.Errorf("%q, %v", name, err)
		}
	})
}

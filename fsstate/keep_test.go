package fsstate

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAFileThatIsKeptIsReplacedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a[b.prom")
	for _, text := range []string{"old\n", "new\n"} {
		if err := KeepFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "new\n" {
		t.Errorf("%q, %v", text, err)
	}
	stale := filepath.Join(dir, tempPrefix(filepath.Base(path))+randomName())
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(stale, time.Time{}, time.Now().Add(-2*leftoverAge)); err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeftovers(path); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	for range 2 { // none is none
		if err := RemoveKept(path); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestAFaultThatLastsIsOneError: who tells an error once must not be told another one at each try.
func TestAFaultThatLastsIsOneError(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := os.RemoveAll(s.Path(Tmp, "")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "none", "x.prom")
	for name, keep := range map[string]func() error{
		"in the store": func() error { return s.Keep("", "x.json", nil) },
		"outside":      func() error { return KeepFile(path, nil, 0o644) },
	} {
		first, second := keep(), keep()
		if first == nil || second == nil || first.Error() != second.Error() {
			t.Errorf("%s: %v, then %v", name, first, second)
		}
	}
}

package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// awaited fails the test unless a wake-up comes.
func awaited(t *testing.T, wake <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		t.Fatalf("no wake-up: %s", what)
	}
}

func TestOneWatchWakesEachForItsOwnFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &Watch{}
	one, other, all := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	if !w.Add(dir, "one", one) {
		t.Skip("no inotify to be had")
	}
	if !w.Add(dir, "other", other) || !w.Add(dir, "", all) {
		t.Fatal("a second waiter of one folder is refused")
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	awaited(t, one, "one was written")
	awaited(t, all, "all were written")
	select {
	case <-other:
		t.Error("woken for another file")
	default:
	}
	w.Remove(dir, one)
	write("other")
	awaited(t, other, "the others still wait")
	w.Remove(dir, other)
	w.Remove(dir, all)
	w.Remove(dir, all) // once more is no error
	if !w.Add(dir, "one", one) {
		t.Fatal("not watched again")
	}
	write("one")
	awaited(t, one, "watched again")
}

func TestNoWatchMeansPolling(t *testing.T) {
	t.Parallel()
	var none *Watch
	wake := make(chan struct{}, 1)
	if none.Add(t.TempDir(), "", wake) {
		t.Error("a watch that is none was given")
	}
	none.Remove("anything", wake)
	w := &Watch{}
	w.Remove("anything", wake)
	if w.Add(filepath.Join(t.TempDir(), "missing"), "", wake) {
		t.Error("a folder that is not there is watched")
	}
}

package ident

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// newWitness makes a witness file with a prompt in it, locked by the returned file.
func newWitness(t *testing.T) (*os.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witness.in")
	if err := os.WriteFile(path, []byte("the prompt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := LockWitness(f); err != nil {
		t.Fatal(err)
	}
	return f, path
}

// expectWitness is exact about HELD. FREE may come a moment late: every fork of a test beside this one carries a copy
// of each open file until its exec closes it, and Go lets other forks begin before the kernel has done so.
func expectWitness(t *testing.T, when, path string, want Witness) {
	t.Helper()
	got := ProbeWitness(path)
	for late := time.Now().Add(10 * time.Second); want == WitnessFree && got == WitnessHeld && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
		got = ProbeWitness(path)
	}
	if got != want {
		t.Errorf("%s: %v, want %v", when, got, want)
	}
}

func TestWitnessIsHeldUntilItsFileIsClosed(t *testing.T) {
	t.Parallel()
	f, path := newWitness(t)
	for range 3 { // a probe must not take anything away
		expectWitness(t, "locked", path, WitnessHeld)
	}
	f.Close()
	for range 3 { // nor keep it
		expectWitness(t, "closed", path, WitnessFree)
	}
}

func TestWitnessHasOneHolder(t *testing.T) {
	t.Parallel()
	first, path := newWitness(t)
	second, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	err = LockWitness(second)
	if pathErr, ok := errors.AsType[*fs.PathError](err); !ok || pathErr.Path != path || !errors.Is(err, ErrWitnessHeld) {
		t.Errorf("second lock: %v", err)
	}
	first.Close()
	if err := LockWitness(second); err != nil {
		t.Errorf("lock of a free witness: %v", err)
	}
}

func TestLockOfAClosedFileIsAnError(t *testing.T) {
	t.Parallel()
	f, _ := newWitness(t)
	f.Close()
	err := LockWitness(f)
	if pathErr, ok := errors.AsType[*fs.PathError](err); !ok || pathErr.Op != "lock" {
		t.Errorf("%v", err)
	}
}

func TestHeldWitnessCanBeRead(t *testing.T) {
	t.Parallel()
	_, path := newWitness(t)
	if got, err := os.ReadFile(path); err != nil || string(got) != "the prompt\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsNoWitnessFileIsUnknown(t *testing.T) {
	t.Parallel()
	_, path := newWitness(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Logf("the symlink case is left out: %v", err)
	} else {
		expectWitness(t, "symlink to a held witness", link, WitnessUnknown)
	}
	expectWitness(t, "missing", filepath.Join(dir, "missing"), WitnessUnknown)
	expectWitness(t, "folder", dir, WitnessUnknown)
	expectWitness(t, "path below a file", filepath.Join(path, "x"), WitnessUnknown)
	expectWitness(t, "no path", "", WitnessUnknown)
	expectWitness(t, "NUL in the path", "a\x00b", WitnessUnknown)
}

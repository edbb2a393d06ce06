package fsstate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the examination of the transitions found once, each by its symptom.

var killed = troubles[len(troubles)-1]

// lives examines one transition under one trouble, the next try and the power loss after it included.
func lives(t *testing.T, name string, tr trouble) {
	t.Helper()
	e := newExam(t, transitionNamed(t, name), nil)
	if err := e.fault(tr); err != nil {
		t.Fatal(err)
	}
	for _, problem := range e.problems {
		t.Error(problem)
	}
}

// The first try removed the name and could not make that durable; the second found nothing, and said so at once.
func TestAMarkerThatWasDeletedAtTheSecondTryDoesNotComeBack(t *testing.T) {
	t.Parallel()
	lives(t, "delete", trouble{name: "EIO", err: syscall.EIO})
	lives(t, "archive", killed)
}

// Its maker was killed before the folders were durable, and the next process took them as they were.
func TestATurnInAHomeWhoseMakerWasKilledIsNotLost(t *testing.T) {
	t.Parallel()
	lives(t, "open a new home, first turn", killed)
	lives(t, "open a home that Hermes made, first turn", killed)
}

// As above for the key: every record of the home would be a stranger's.
func TestAKeyWhoseMakerWasKilledIsNotLost(t *testing.T) {
	t.Parallel()
	lives(t, "load the key for the first time", killed)
}

// Only the last of the folders that LoadKey makes was durable, not the ones above it (~/.config on a new machine).
func TestAKeyInFoldersThatAreAllNewIsNotLost(t *testing.T) {
	t.Parallel()
	e := newExam(t, transitionNamed(t, "load the key for the first time"), nil)
	if err := e.cut(); err != nil || len(e.problems) > 0 {
		t.Error(e.problems, err)
	}
}

// A name that cannot be looked at was taken for free, and what bears it would have been replaced.
func TestANameThatCannotBeLookedAtIsNotTakenForFree(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	aside := "s.json" + corruptMark + turnEpoch.Format("20060102T150405.000000000Z")
	for _, file := range []string{"s.json", aside} {
		if err := s.Write(Turns, file, []byte(file)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.NewWitness(instanceOf(1), []byte("held"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.disk = blindDisk{s.disk}
	if _, err := s.Quarantine(Turns, "s.json", turnEpoch); !errors.Is(err, syscall.EIO) {
		t.Errorf("quarantine: %v", err)
	}
	if f, err := s.NewWitness(instanceOf(1), []byte("new")); f != nil || !errors.Is(err, syscall.EIO) {
		t.Errorf("witness: %v", err)
	}
	for path, want := range map[string]string{s.Path(Turns, aside): aside, s.Path(Run, instanceOf(1)+".in"): "held"} {
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("%s holds %q, %v", filepath.Base(path), got, err)
		}
	}
}

// blindDisk cannot look at what has its name already.
type blindDisk struct{ disk }

func (d blindDisk) Lstat(name string) (os.FileInfo, error) {
	if strings.HasPrefix(name, string(Tmp)+"/") {
		return d.disk.Lstat(name)
	}
	return nil, syscall.EIO
}

// A key that has been there for long costs no sync: every command loads it.
func TestAnOldKeyIsLoadedWithoutASync(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "config")
	if _, err := LoadKey(dir); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	load := func() {
		t.Helper()
		_, err := loadKey(dir, func(dir string) (disk, error) {
			d, err := openDisk(dir)
			return hookDisk{d, func(string, string) error { syncs++; return nil }}, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if load(); syncs != 1 {
		t.Errorf("a new key: %d changes or syncs, want 1", syncs)
	}
	old := time.Now().Add(-2 * settled)
	if err := os.Chtimes(filepath.Join(dir, keyFile), old, old); err != nil {
		t.Fatal(err)
	}
	if load(); syncs != 1 {
		t.Errorf("an old key: %d changes or syncs, want 0", syncs-1)
	}
}

//go:build unix

package fsstate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeptFileHasItsMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.prom")
	if err := KeepFile(path, nil, 0o666); err != nil { // which no usual umask lets pass
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What stands in the place of a file and is none is left as it is: a folder that a container made for a file that was not
// there, a user's link.
func TestWhatIsNoFileIsNeitherReplacedNorRemoved(t *testing.T) {
	t.Parallel()
	for kind, thing := range hostile {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.prom")
			outside, untouched := outsideFolder(t)
			thing.make(t, path, outside)
			before, err := os.Lstat(path)
			fatal(t, err)
			if before.Mode().IsRegular() {
				t.Skip("a file")
			}
			inTime(t, func() {
				err := KeepFile(path, []byte("x"), 0o644)
				if unsafe, ok := errors.AsType[*UnsafeError](err); !ok || !strings.Contains(unsafe.Problem, thing.problem) {
					t.Errorf("%v", err)
				}
				fatal(t, RemoveKept(path))
			})
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("%v, %v", after, err)
			}
			untouched()
		})
	}
	path := filepath.Join(t.TempDir(), "empty.prom")
	fatal(t, os.Mkdir(path, 0o700))
	fatal(t, RemoveKept(path))
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("an empty folder is gone: %v", err)
	}
}

//go:build unix

package fsstate

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile are the things that may stand where one of our files is expected. make gets the place and a folder outside
// that holds a file "victim", and skips where it has no rights.
var hostile = map[string]struct {
	make    func(t *testing.T, at, outside string)
	problem string // in the error of Read
}{
	"FIFO": {
		func(t *testing.T, at, _ string) { t.Helper(); fatal(t, syscall.Mkfifo(at, 0o600)) },
		"is a FIFO",
	},
	"symlink inside": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			fatal(t, os.WriteFile(filepath.Join(filepath.Dir(at), "other"), []byte("victim"), 0o600))
			fatal(t, os.Symlink("other", at))
		},
		"is a symbolic link",
	},
	"symlink outside": {
		func(t *testing.T, at, outside string) {
			t.Helper()
			fatal(t, os.Symlink(filepath.Join(outside, "victim"), at))
		},
		"is a symbolic link",
	},
	"dangling symlink outside": {
		func(t *testing.T, at, outside string) {
			t.Helper()
			fatal(t, os.Symlink(filepath.Join(outside, "new"), at))
		},
		"is a symbolic link",
	},
	"hard link": {
		func(t *testing.T, at, outside string) {
			t.Helper()
			fatal(t, os.Link(filepath.Join(outside, "victim"), at))
		},
		"hard link",
	},
	"directory": {
		func(t *testing.T, at, _ string) { t.Helper(); fatal(t, os.MkdirAll(filepath.Join(at, "full"), 0o700)) },
		"is a directory",
	},
	"socket": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			short := filepath.Join(t.TempDir(), "s") // a socket's path is at most 108 bytes long
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
			fatal(t, err)
			l.SetUnlinkOnClose(false)
			fatal(t, l.Close())
			fatal(t, os.Rename(short, at))
		},
		"is a socket",
	},
	"device": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			if err := syscall.Mknod(at, syscall.S_IFCHR|0o600, 1<<8|5); err != nil { // /dev/zero
				t.Skipf("cannot make a device: %v", err)
			}
		},
		"is a device",
	},
	"1 TB sparse file": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			fatal(t, os.WriteFile(at, nil, 0o600))
			if err := os.Truncate(at, 1<<40); err != nil {
				t.Skipf("cannot make a sparse file of 1 TB: %v", err)
			}
		},
		"is larger than",
	},
	"world-writable": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			fatal(t, os.WriteFile(at, []byte("{}"), 0o600))
			fatal(t, os.Chmod(at, 0o666))
		},
		"may be written by others (mode 0666)",
	},
	"foreign owner": {
		func(t *testing.T, at, _ string) {
			t.Helper()
			fatal(t, os.WriteFile(at, []byte("{}"), 0o600))
			if err := os.Chown(at, 12345, 12345); err != nil {
				t.Skipf("cannot give a file away: %v", err)
			}
		},
		"belongs to uid 12345",
	},
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outsideFolder is a folder that no operation may touch; the result checks that.
func outsideFolder(t *testing.T) (dir string, untouched func()) {
	t.Helper()
	dir = t.TempDir()
	victim := filepath.Join(dir, "victim")
	fatal(t, os.WriteFile(victim, []byte("victim"), 0o600))
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	fatal(t, os.Chtimes(victim, long, long))
	return dir, func() {
		t.Helper()
		entries := must(os.ReadDir(dir))
		info := must(os.Stat(victim))
		text := must(os.ReadFile(victim))
		if len(entries) != 1 || string(text) != "victim" || !info.ModTime().Equal(long) || info.Mode().Perm() != 0o600 {
			t.Errorf("outside was touched: %d entries, %q, %v, %v", len(entries), text, info.ModTime(), info.Mode())
		}
	}
}

func eachHostile(t *testing.T, f func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(hostile)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, kind)
		})
	}
}

func TestHostileRecordIsRefusedByReadersAndReplacedByWriters(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		path := s.Path(Turns, "x.json")
		hostile[kind].make(t, path, outside)
		inTime(t, func() {
			_, _, err := s.Read(Turns, "x.json")
			unsafe, ok := errors.AsType[*UnsafeError](err)
			if !ok || !strings.Contains(unsafe.Problem, hostile[kind].problem) || unsafe.Path != path ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("Read: %v", err)
			}
			if _, _, err := ReadFile(path, MaxRecord); err == nil {
				t.Error("ReadFile took it")
			}
			if _, _, err := ReadUserFile(path, MaxRecord); (err == nil) != (kind == "world-writable") {
				t.Errorf("ReadUserFile: %v", err)
			}
			if kind != "1 TB sparse file" {
				if err := ReplaceFile(path, []byte("new"), 0o600); err == nil {
					t.Error("ReplaceFile took it")
				}
				if err := s.Touch(Turns, "x.json", time.Now()); err == nil {
					t.Error("Touch took it")
				}
			}
			untouched()
			err = s.Write(Turns, "x.json", []byte("new"))
			if kind == "directory" {
				if err == nil {
					t.Error("Write replaced a folder")
				}
				return
			}
			if err != nil {
				t.Errorf("Write: %v", err)
			}
			if got, _, err := s.Read(Turns, "x.json"); err != nil || string(got) != "new" {
				t.Errorf("after Write: %q, %v", got, err)
			}
			untouched()
		})
		if names := must(os.ReadDir(s.Path(Tmp, ""))); len(names) != 0 {
			t.Errorf("tmp holds %v", names)
		}
	})
}

func TestHostileRecordCanBeMovedAside(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, s.Path(Turns, "x.json"), outside)
		inTime(t, func() {
			aside, err := s.Quarantine(Turns, "x.json", time.Now())
			if err != nil {
				t.Fatalf("Quarantine: %v", err)
			}
			if _, err := os.Lstat(s.Path(Turns, aside)); err != nil {
				t.Error(err)
			}
			names, err := s.List(Turns)
			if err != nil || slices.Contains(names, aside) || slices.Contains(names, "x.json") {
				t.Errorf("List: %v, %v", names, err)
			}
		})
		untouched()
	})
}

func TestHostileLockFileIsRefused(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, s.Path("", stripeFile(stripeOf("x.json"))), outside)
		inTime(t, func() {
			unlock, err := s.Lock(t.Context(), "x.json", "test")
			if kind == "1 TB sparse file" { // size is nothing to a lock
				fatal(t, err)
				unlock()
				return
			}
			if _, ok := errors.AsType[*UnsafeError](err); !ok {
				t.Errorf("Lock: %v", err)
			}
			// The place in our own line was given up with the error.
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := s.Lock(ctx, "x.json", "test"); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("second Lock waited: %v", err)
			}
		})
		untouched()
	})
}

func TestHostileJournalIsRefused(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		if kind == "1 TB sparse file" {
			t.Skip("a journal is never read whole; one of that size is rotated")
		}
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, s.Path("", JournalFile), outside)
		inTime(t, func() {
			if err := s.Journal(Event{Kind: "test"}); err == nil {
				t.Error("Journal took it")
			}
		})
		untouched()
	})
}

func TestHostileFileInRunIsNeitherReadNorTakenOver(t *testing.T) {
	t.Parallel()
	instance := strings.Repeat("a", 32)
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, s.Path(Run, instance+".in"), outside)
		inTime(t, func() {
			f, err := s.OpenRun(instance + ".in")
			if kind == "1 TB sparse file" { // outputs have no bound
				fatal(t, err)
				_ = f.Close()
			} else if _, ok := errors.AsType[*UnsafeError](err); !ok {
				t.Errorf("OpenRun: %v", err)
			}
			if _, err := s.NewOutput(instance + ".in"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("NewOutput: %v", err)
			}
			if _, err := s.NewWitness(instance, []byte("x")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("NewWitness: %v", err)
			}
		})
		untouched()
	})
}

func TestHostileStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", "turns", "locks", "tmp", "run"} {
		t.Run("supervisor/"+folder, func(t *testing.T) {
			t.Parallel()
			eachHostile(t, func(t *testing.T, kind string) {
				t.Helper()
				h := newHome(t)
				at := filepath.Join(h.Path, stateFolder, folder)
				if folder != "" {
					fatal(t, os.Mkdir(filepath.Dir(at), 0o700))
				}
				outside, untouched := outsideFolder(t)
				if kind == "directory" {
					fatal(t, os.Mkdir(at, 0o700))
					fatal(t, os.Chmod(at, 0o770))
				} else {
					hostile[kind].make(t, at, outside)
				}
				inTime(t, func() {
					for name, open := range map[string]func() (*Store, error){
						"Open":     func() (*Store, error) { return Open(h, Options{}) },
						"OpenRead": func() (*Store, error) { return OpenRead(h) },
					} {
						s, err := open()
						if unsafe, ok := errors.AsType[*UnsafeError](err); !ok || s != nil || unsafe.Path != at {
							t.Errorf("%s: %v", name, err)
						}
					}
				})
				untouched()
			})
		})
	}
}

func TestStateFolderThatLinksOutsideGetsNoFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	outside, untouched := outsideFolder(t)
	fatal(t, os.Symlink(outside, filepath.Join(h.Path, stateFolder)))
	if _, err := Open(h, Options{}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("Open: %v", err)
	}
	untouched()
}

func TestForeignOrWritableStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	for mode, bad := range map[fs.FileMode]bool{0o700: false, 0o755: false, 0o720: true, 0o702: true, 0o1777: true} {
		h := newHome(t)
		dir := filepath.Join(h.Path, stateFolder)
		fatal(t, os.Mkdir(dir, 0o700))
		fatal(t, os.Chmod(dir, mode))
		s, err := Open(h, Options{})
		if s != nil {
			_ = s.Close()
		}
		if _, unsafe := errors.AsType[*UnsafeError](err); unsafe != bad {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	h := newHome(t)
	dir := filepath.Join(h.Path, stateFolder)
	fatal(t, os.Mkdir(dir, 0o700))
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Skipf("cannot give a folder away: %v", err)
	}
	if _, err := Open(h, Options{}); err == nil || !strings.Contains(err.Error(), "belongs to uid 12345") {
		t.Errorf("foreign owner: %v", err)
	}
}

func TestHostileKeyIsRefusedAndNeverReplaced(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		dir := t.TempDir()
		fatal(t, os.Chmod(dir, 0o700))
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, filepath.Join(dir, keyFile), outside)
		before := must(os.Lstat(filepath.Join(dir, keyFile)))
		inTime(t, func() {
			if key, err := LoadKey(dir); err == nil {
				t.Errorf("LoadKey gave %x", key)
			}
		})
		if after, err := os.Lstat(filepath.Join(dir, keyFile)); err != nil || !os.SameFile(before, after) {
			t.Errorf("key was replaced: %v", err)
		}
		untouched()
	})
}

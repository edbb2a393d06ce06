package output

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

// refused runs everything that touches a log and wants the error to say what is wrong, and nothing to hang.
func (w *world) refused(t *testing.T, want string, launches bool) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		check := func(what string, err error) {
			var unsafe *fsstate.UnsafeError
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(want, " is ") && !errors.As(err, &unsafe) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		_, err := w.log.Sweep(2000)
		check("Sweep", err)
		_, err = readAll(w.log.store, Out)
		check("Tail", err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		check("Follow", w.log.Follow(ctx, 10, func(Stream, []byte) error { return nil }))
		if !launches {
			_, _, err = w.log.Files()
			check("Files", err)
		}
		_ = w.log.LastLine()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("hangs")
	}
}

func TestWhatIsNotPlainlyOursIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		want     string
		do       func(w *world, outside string) error
		launches bool // Files does not look
	}{
		"a FIFO as out": {"/out: is a FIFO, not a regular file", func(w *world, _ string) error {
			return errors.Join(os.Remove(w.path("out")), syscall.Mkfifo(w.path("out"), 0o600))
		}, false},
		"a link as out": {"/out: is a symbolic link", func(w *world, outside string) error {
			return errors.Join(os.Remove(w.path("out")), os.Symlink(filepath.Join(outside, "file"), w.path("out")))
		}, false},
		"a hard link as out": {"/out: has more than one name", func(w *world, outside string) error {
			return errors.Join(os.Remove(w.path("out")), os.Link(filepath.Join(outside, "file"), w.path("out")))
		}, false},
		"a folder as out": {"/out: is a directory", func(w *world, _ string) error {
			return errors.Join(os.Remove(w.path("out")), os.Mkdir(w.path("out"), 0o700))
		}, false},
		"the folder is a link": {"/api: is a symbolic link", func(w *world, outside string) error {
			return errors.Join(os.RemoveAll(w.dir), os.Symlink(outside, w.dir))
		}, false},
		"the folder is a link within": {"/api: is a symbolic link", func(w *world, _ string) error {
			return errors.Join(os.RemoveAll(w.dir), os.Symlink("../turns", w.dir))
		}, false},
		"the folder is a FIFO": {"/api: is a FIFO", func(w *world, _ string) error {
			return errors.Join(os.RemoveAll(w.dir), syscall.Mkfifo(w.dir, 0o600))
		}, false},
		"log is a link": {"/log: is a symbolic link", func(w *world, outside string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(w.dir)), os.Symlink(outside, filepath.Dir(w.dir)))
		}, false},
		"overlapping archives": {"overlap: remove one", func(w *world, _ string) error {
			return os.WriteFile(w.path(extent{500, 1500}.archive(Out)), nil, 0o600)
		}, true},
		"an archive of another length": {"has 3 bytes, not the 1000 of its name: remove it", func(w *world, _ string) error {
			name := w.path(extent{0, 1000}.archive(Out))
			return errors.Join(os.WriteFile(name, []byte("abc"), 0o600), w.f[0].Truncate(0), wrote(w.f[0], lines(500, 800)))
		}, true},
		"an absurd archive": {"is no range of an output", func(w *world, _ string) error {
			return os.WriteFile(w.path("out.00000000000000000000-09223372036854775807"), nil, 0o600)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(Out, lines(0, 100))
			w.sweep(1 << 20)
			outside := t.TempDir()
			kept := lines(0, 1000)
			if err := os.WriteFile(filepath.Join(outside, "file"), []byte(kept), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(w, outside); err != nil {
				t.Fatal(err)
			}
			w.refused(t, tc.want, tc.launches)
			entries := must(os.ReadDir(outside))
			if data := must(os.ReadFile(filepath.Join(outside, "file"))); string(data) != kept || len(entries) != 1 {
				t.Errorf("outside was touched: %v", entries)
			}
			if entries := must(os.ReadDir(w.log.store.Path(fsstate.Turns, ""))); len(entries) != 0 {
				t.Errorf("turns/ was touched: %v", entries)
			}
		})
	}
}

func wrote(f *os.File, text string) error {
	_, err := f.WriteString(text)
	return err
}

func TestLinkUnderTheNameOfAnArchiveIsNotFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 10))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("0123456789"), 0o600), os.Symlink(secret, w.path(extent{0, 10}.archive(Out)))); err != nil {
		t.Fatal(err)
	}
	if text, err := readAll(w.log.store, Out); err == nil || strings.Contains(text, "0123") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := w.log.Sweep(0); err == nil {
		t.Error("swept")
	}
	if err := os.Symlink(secret, w.path("err.tmp-X")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.path(extent{0, 10}.archive(Out))); err != nil {
		t.Fatal(err)
	}
	w.sweep(0)
	if data := must(os.ReadFile(secret)); string(data) != "0123456789" {
		t.Errorf("the link's target holds %q", data)
	}
}

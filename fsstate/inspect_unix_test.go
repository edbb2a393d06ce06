//go:build unix

package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInspectTellsWhatReadRefuses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write := func(folder Folder, name string) string {
		t.Helper()
		if err := s.Write(folder, name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		return s.Path(folder, name)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(Turns, "fine.json")
	must(os.Truncate(write(Turns, "large.json"), MaxRecord+1))
	must(os.Truncate(write(Run, "0.out"), 1<<40)) // an output has no bound
	must(os.Chmod(write(Ended, "open.json"), 0o666))
	must(syscall.Mkfifo(s.Path(Handoffs, "fifo.json"), 0o600))
	must(os.Symlink("/dev/zero", s.Path("", JournalFile)))
	must(syscall.Mkfifo(s.Path(Services, "old.json.corrupt-1"), 0o600)) // out of the way already
	must(os.Mkdir(s.Path(Turns, "folder"), 0o777))                      // which no list has
	var got []string
	for _, err := range s.Inspect(9) {
		if _, is := errors.AsType[*UnsafeError](err); !is {
			t.Errorf("%T: %v", err, err)
		}
		got = append(got, strings.TrimPrefix(err.Error(), "read "+s.Path("", "")))
	}
	want := []string{
		"/journal.jsonl: is a symbolic link, not a regular file",
		"/turns/large.json: is larger than 1048576 bytes",
		"/ended/open.json: may be written by others (mode 0666)",
		"/handoffs/fifo.json: is a FIFO, not a regular file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{s.Path(Services, "old.json.corrupt-1")}, s.Aside()); diff != "" {
		t.Error(diff)
	}
	for i := range 4 {
		must(os.Chmod(write(Ended, "more"+string(rune('0'+i))+".json"), 0o666))
	}
	if n := len(s.Inspect(2)); n != 5 {
		t.Errorf("%d found where two of a folder were asked for", n)
	}
}

func TestHeldLocksAreThoseOfStripes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release, held, err := s.TryLease("dispatcher")
	if err != nil || !held {
		t.Fatal(held, err)
	}
	defer release()
	unlock, err := s.Lock(t.Context(), "a", "a test")
	if err != nil {
		t.Fatal(err)
	}
	locks := s.HeldLocks()
	if len(locks) != 1 || locks[0].Holder.PID != os.Getpid() || locks[0].Holder.Purpose != "a test" || "locks/"+locks[0].File != stripeFile(stripeOf("a")) {
		t.Errorf("%+v", locks)
	}
	unlock()
	if locks := s.HeldLocks(); len(locks) > 0 {
		t.Errorf("%+v", locks)
	}
}

func TestReadKeyMakesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "config")
	for range 2 {
		if _, err := ReadKey(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the folder was made", err)
	}
	made, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadKey(dir)
	if err != nil || !cmp.Equal(made, read) {
		t.Errorf("%x, not %x: %v", read, made, err)
	}
}

func TestStaleTmpIsWhatASweepTakes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "young": time.Minute} {
		if err := os.WriteFile(s.Path(Tmp, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(s.Path(Tmp, name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := s.StaleTmp(now)
	if diff := cmp.Diff([]string{"old"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

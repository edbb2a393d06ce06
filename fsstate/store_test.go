package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestOpenMakesThePrivateFoldersAndNothingElse(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), ".hermes")
	s := openStore(t, Home{Path: root, Root: root}) // the root home may be made
	if !s.Trusted() {
		t.Error("not trusted")
	}
	entries, err := os.ReadDir(s.Path("", ""))
	if err != nil || len(entries) != len(folders) {
		t.Errorf("made %v, %v", entries, err)
	}
	for _, dir := range append(folders, "") {
		info, err := os.Stat(s.Path(dir, ""))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if got := s.Path(Turns, "x.json"); got != filepath.Join(root, "supervisor", "turns", "x.json") {
		t.Errorf("Path: %s", got)
	}
}

func TestOpenMakesNoFolderAboveTheHomeAndNoProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := filepath.Join(dir, "not-mounted", "hermes")
	profile := filepath.Join(dir, "profiles", "coder")
	for _, h := range []Home{
		{Path: deep, Root: deep},
		{Path: profile, Root: dir, Profile: "coder"},
		{Path: "relative", Root: "relative"},
	} {
		if _, err := Open(h, Options{}); err == nil {
			t.Errorf("opened %+v", h)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}

func TestOpenDoesNotBringBackADeletedProfile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	profile := filepath.Join(root, "profiles", "coder")
	for _, dir := range []string{profile, filepath.Join(root, "profiles", ".deleted", "coder")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(Home{Path: profile, Root: root, Profile: "coder"}, Options{})
	if e, ok := errors.AsType[*HomeError](err); !ok || e.Profile != "coder" {
		t.Errorf("Open: %v", err)
	}
	if entries, err := os.ReadDir(profile); err != nil || len(entries) != 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}

func TestOpenReadMakesAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if _, err := OpenRead(h); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if entries, err := os.ReadDir(h.Path); err != nil || len(entries) != 0 {
		t.Errorf("made %v, %v", entries, err)
	}
	if err := openStore(t, h).Write(Turns, "x.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(h.Path, stateFolder, string(Log))); err != nil {
		t.Fatal(err)
	}
	s, err := OpenRead(h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if data, _, err := s.Read(Turns, "x.json"); err != nil || string(data) != "x" {
		t.Errorf("Read: %q, %v", data, err)
	}
	_, lerr := s.Lock(t.Context(), "x.json", "test")
	_, werr := s.NewWitness("0123456789abcdef0123456789abcdef", nil)
	_, oerr := s.NewOutput("x.out")
	_, qerr := s.Quarantine(Turns, "x.json", time.Now())
	for op, err := range map[string]error{
		"Write": s.Write(Turns, "x.json", nil), "Remove": s.Remove(Turns, "x.json"), "Lock": lerr, "NewWitness": werr,
		"Touch": s.Touch(Turns, "x.json", time.Now()), "Journal": s.Journal(Event{}), "NewOutput": oerr, "Quarantine": qerr,
		"SweepTmp": s.SweepTmp(time.Now()),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// untrustedDisk is on a file system whose locks lie.
type untrustedDisk struct{ disk }

func (untrustedDisk) Trusted() (bool, string, error) { return false, "nfs", nil }

func TestUntrustedFileSystemIsRefusedWithoutATrace(t *testing.T) {
	t.Parallel()
	nfs := func(dir string) (disk, error) {
		d, err := openDisk(dir)
		return untrustedDisk{d}, err
	}
	h := newHome(t)
	_, err := open(h, Options{}, true, nfs)
	if e, ok := errors.AsType[*UntrustedError](err); !ok || e.Type != "nfs" {
		t.Errorf("open: %v", err)
	}
	if entries, err := os.ReadDir(h.Path); err != nil || len(entries) != 0 {
		t.Errorf("made %v, %v", entries, err)
	}
	s, err := open(h, Options{UnsafeFilesystem: true}, true, nfs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Trusted() {
		t.Error("trusted")
	}
	if _, err := open(h, Options{}, true, nfs); err == nil {
		t.Error("an existing store on it was opened")
	}
	if runtime.GOOS == "linux" {
		if ok, name, err := trusted("/proc"); ok || name == "" || err != nil {
			t.Errorf("/proc: %v %q %v", ok, name, err)
		}
	}
}

func TestReplaceFileKeepsTheMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no modes to check")
	}
	path := filepath.Join(t.TempDir(), "markers.json")
	for _, c := range []struct{ before, perm, want fs.FileMode }{
		{0, 0o644, 0o644}, {0o600, 0o644, 0o600}, {0o644, 0o600, 0o644}, {0o400, 0o600, 0o400},
	} {
		_ = os.Remove(path)
		if c.before != 0 {
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.before); err != nil {
				t.Fatal(err)
			}
		}
		if err := ReplaceFile(path, []byte("new"), c.perm); err != nil {
			t.Fatal(err)
		}
		data, info, err := ReadFile(path, 3)
		if err != nil || string(data) != "new" || info.Size != 3 {
			t.Errorf("%q, %+v, %v", data, info, err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != c.want {
			t.Errorf("%o with %o became %v, %v", c.before, c.perm, st.Mode(), err)
		}
	}
	if _, _, err := ReadFile(path, 2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("bound: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
	if _, _, err := ReadFile(filepath.Join(path, "x"), 2); err == nil {
		t.Error("a file was taken for a folder")
	}
	if _, _, err := ReadFile(filepath.Join(t.TempDir(), "none", "x"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

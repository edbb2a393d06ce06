package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a new one that nobody else can write, whatever the umask.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mode(t, dir, 0o700)
	return dir
}

func file(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mode(t *testing.T, path string, perm os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("this system makes no link for us: %v", err)
	}
	return path
}

// refused checks that loading path is refused with one line that begins with the path and ends in want.
func refused(t *testing.T, path, want string) {
	t.Helper()
	for _, explicit := range []bool{true, false} {
		_, err := Load(Source{Path: path, Explicit: explicit, Dir: filepath.Dir(path)})
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Fatalf("%v is no *Error (%T)", err, err)
		}
		if got := strings.TrimPrefix(err.Error(), path+": "); got != want {
			t.Errorf("explicit %v:\n got %s\nwant %s", explicit, got, want)
		}
	}
}

func TestAMissingFileIsTheDefaultsUnlessSomebodyNamedIt(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, path := range []string{filepath.Join(dir, "hermes.toml"), filepath.Join(dir, "no", "folder", "hermes.toml")} {
		c, err := Load(Source{Path: path})
		if err != nil || c.Path != path || !c.AutoContinue.Enabled || c.Agents == nil {
			t.Errorf("not the defaults: %+v, %v", c, err)
		}
		_, err = Load(Source{Path: path, Explicit: true})
		if err == nil || err.Error() != path+": no such file" {
			t.Errorf("named: %v", err)
		}
	}
}

func TestAFileBehindALinkIsRead(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	if err := os.MkdirAll(filepath.Join(dir, "dotfiles", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	file(t, filepath.Join(dir, "dotfiles", "h.toml"), "auto_continue.enabled = false")
	link(t, filepath.Join("dotfiles", "h.toml"), filepath.Join(dir, "relative"))
	link(t, "dotfiles", filepath.Join(dir, "folder"))
	link(t, filepath.Join("dotfiles", "deep"), filepath.Join(dir, "deep"))
	for _, path := range []string{
		filepath.Join(dir, "relative"),
		link(t, filepath.Join(dir, "relative"), filepath.Join(dir, "twice")),
		filepath.Join(dir, "folder", "h.toml"),
		link(t, "deep/../h.toml", filepath.Join(dir, "upwards")), // up from dotfiles/deep, not from deep
	} {
		c, err := Load(Source{Path: path})
		if err != nil || c.AutoContinue.Enabled {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
	}
}

func TestALinkToNowhereIsNoMissingFile(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	refused(t, link(t, filepath.Join(dir, "gone"), filepath.Join(dir, "a")), "is a link that leads to no file")
	refused(t, link(t, filepath.Join(dir, "gone", "too"), filepath.Join(dir, "b")), "is a link that leads to no file")
	refused(t, link(t, "c", filepath.Join(dir, "c")), "leads through too many links")
}

func TestAFolderIsNoFile(t *testing.T) {
	t.Parallel()
	refused(t, folder(t), "is a folder, not a regular file")
}

func TestAHugeFileIsNotRead(t *testing.T) {
	t.Parallel()
	path := file(t, filepath.Join(folder(t), "hermes.toml"), strings.Repeat("#\n", maxFile/2))
	if _, err := Load(Source{Path: path}); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("no sparse file of 1 TiB here: %v", err)
	}
	refused(t, path, "is larger than 128 KiB")
}

func TestTheWorkingDirectoryIsReadWhereItIsNamed(t *testing.T) {
	dir := folder(t)
	file(t, filepath.Join(dir, "hermes.toml"), "auto_continue.enabled = 1")
	t.Chdir(dir)
	_, err := Load(Source{Path: "hermes.toml", Explicit: true, Dir: dir})
	if want := "hermes.toml:1: auto_continue.enabled: must be true or false, not an integer"; err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

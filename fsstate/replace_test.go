package fsstate

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// With umask 002 what a person writes is group-writable, and on some mounts every file is 0777.
func TestAUsersFileMayHaveTheModeOfTheirUmask(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no modes to check")
	}
	path := filepath.Join(t.TempDir(), "settings.json")
	for _, mode := range []os.FileMode{0o664, 0o666, 0o777} {
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if text, _, err := ReadUserFile(path, 10); string(text) != "old" || err != nil {
			t.Errorf("%o: read %q, %v", mode, text, err)
		}
		if err := ReplaceUserFile(path, []byte("new"), 0o600); err != nil {
			t.Errorf("%o: %v", mode, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%o became %v, %v", mode, info.Mode(), err)
		}
		if _, _, err := ReadFile(path, 10); err == nil {
			t.Errorf("%o: taken for a file of the state", mode)
		}
	}
}

func TestWhatAKilledReplacementLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	old := time.Now().Add(-time.Hour)
	for name, stays := range map[string]bool{
		".settings.json-0123456789abcdef":  false,
		".settings.json-fedcba9876543210":  true, // new: its writer may be at it
		".settings.json-0123456789ABCDEF":  true, // not a name of ours, nor are these
		".settings.json-0123456789abcde":   true,
		".settings.json-backup":            true,
		".settings.local-0123456789abcdef": true,
		"settings.json":                    true,
	} {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != ".settings.json-fedcba9876543210" {
			if err := os.Chtimes(at, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := RemoveLeftovers(path); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(at); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := RemoveLeftovers(filepath.Join(dir, "none", "x")); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

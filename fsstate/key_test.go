package fsstate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func helperLoadKey(args []string) int {
	untilStdinCloses() // so that all begin at once
	fmt.Fprintln(os.Stdout, hex.EncodeToString(must(LoadKey(args[0]))))
	return 0
}

func TestKeyMadeByEightProcessesAtOnceIsOneKey(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "config", "hermes-supervisor")
	gate, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, 8)
	var wg sync.WaitGroup
	for i := range keys {
		cmd := helper(t, "load-key", dir)
		cmd.Stdin = gate
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			keys[i] = strings.TrimSpace(out.String())
		})
	}
	_ = gate.Close()
	_ = open.Close()
	wg.Wait()
	key, err := LoadKey(dir)
	if err != nil || len(key) != keySize {
		t.Fatalf("LoadKey: %x, %v", key, err)
	}
	for i, k := range keys {
		if k != hex.EncodeToString(key) {
			t.Errorf("process %d got %q, want %x", i, k, key)
		}
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the key and its lock
		t.Errorf("folder holds %v, %v", entries, err)
	}
}

func TestKeyOfAnotherFormIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "00", strings.Repeat("zz", keySize), strings.Repeat("00", keySize+1)} {
		dir := t.TempDir()
		path := filepath.Join(dir, keyFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKey(dir)
		if corrupt, ok := errors.AsType[*CorruptError](err); !ok || corrupt.Path != path {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

func TestKeyFolderThatOthersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights lie in access control lists, which are not examined")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	_, err := LoadKey(dir)
	if _, ok := errors.AsType[*UnsafeError](err); !ok {
		t.Errorf("LoadKey: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
	if _, err := LoadKey("relative"); err == nil {
		t.Error("a relative folder was taken")
	}
}

func TestWhatAKilledKeyMakerLeftIsSweptByTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tmpStart+"0123"), []byte("00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, tmpStart+"*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

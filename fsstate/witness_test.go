package fsstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// helperWaitControl is an agent that reads its stdin, says what it read and lives until its control pipe closes.
func helperWaitControl([]string) int {
	text := must(io.ReadAll(os.Stdin))
	fmt.Fprintf(os.Stdout, "%s\n", text)
	control := os.NewFile(3, "control")
	_, _ = io.Copy(io.Discard, control)
	return 0
}

// expectFree waits out the forks of the tests beside this one: each carries a copy of every open file until its exec.
func expectFree(t *testing.T, when, path string) {
	t.Helper()
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		w := ident.ProbeWitness(path)
		if w == ident.WitnessFree {
			return
		}
		if w != ident.WitnessHeld || time.Now().After(late) {
			t.Fatalf("%s: %v", when, w)
		}
	}
}

func TestWitnessIsHeldByTheChildThatInheritsItAsStdin(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a lock does not pass to a child on Windows")
	}
	s := newStore(t)
	instance := ident.NewInstance()
	f, err := s.NewWitness(instance, []byte("the prompt"))
	if err != nil {
		t.Fatal(err)
	}
	path := s.Path(Run, instance+".in")
	if w := ident.ProbeWitness(path); w != ident.WitnessHeld {
		t.Errorf("before the launch: %v", w)
	}
	cmd := helper(t, "wait-control")
	cmd.Stdin = f
	control, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{control}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = control.Close()
	_ = f.Close()
	line := make([]byte, len("the prompt\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "the prompt\n" {
		t.Errorf("child read %q, %v", line, err)
	}
	if w := ident.ProbeWitness(path); w != ident.WitnessHeld {
		t.Errorf("child lives, parent's copy is closed: %v", w)
	}
	_ = hold.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	expectFree(t, "child is gone", path)
}

func TestWitnessOfAKeeperIsNotInherited(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("handles are inherited one by one on Windows")
	}
	s := newStore(t)
	instance := ident.NewInstance()
	f, err := s.NewWitness(instance, nil)
	if err != nil {
		t.Fatal(err)
	}
	child := start(t, "hold-lock", s.Home().Path, "a.json", "x")
	defer child.kill()
	_ = f.Close()
	expectFree(t, "a child lives that did not inherit it", s.Path(Run, instance+".in"))
}

func TestWitnessAppearsLockedAndDurable(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	instance := ident.NewInstance()
	path := s.Path(Run, instance+".in")
	synced, named := false, false
	s.disk = hookDisk{s.disk, func(op, name string) error {
		switch op {
		case "sync":
			synced = true
		case "rename":
			named = true
			if w := ident.ProbeWitness(s.Path("", name)); !synced || w != ident.WitnessHeld {
				t.Errorf("renamed while synced=%v, %v", synced, w)
			}
			if _, err := os.Lstat(path); err == nil {
				t.Error("visible before the rename")
			}
		}
		return nil
	}}
	f, err := s.NewWitness(instance, []byte("x"))
	if err != nil || !named {
		t.Fatalf("NewWitness: %v", err)
	}
	defer f.Close()
	if _, err := f.WriteString("y"); err == nil {
		t.Error("an agent could change its prompt")
	}
	if _, err := s.NewWitness(instance, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "x" {
		t.Errorf("content %q, %v", text, err)
	}
	for _, bad := range []string{"", "x", "../" + instance[3:], instance[1:] + "G"} {
		if _, err := s.NewWitness(bad, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("instance %q: %v", bad, err)
		}
	}
}

func TestOutputIsNewAppendsAndHasNoSizeLimitForReaders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	out, err := s.NewOutput("x.out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := s.NewOutput("x.out"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := out.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	if err := out.Truncate(2 * MaxRecord); err != nil {
		t.Fatal(err)
	}
	in, err := s.OpenRun("x.out")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if n, err := io.Copy(io.Discard, in); err != nil || n != 2*MaxRecord {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := s.OpenRun("y.out"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}

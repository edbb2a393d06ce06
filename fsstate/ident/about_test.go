package ident

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	gops "github.com/shirou/gopsutil/v4/process"
)

// The library is the witness here: on Linux the program itself reads what it needs, since linking the library costs
// each start of it, hooks of agents included, a tenth of its time.
func TestWhatIsToldOfAProcessIsWhatTheLibraryTells(t *testing.T) {
	t.Parallel()
	peer, err := gops.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	type told struct {
		Argv, Environ    []string
		Name, Executable string
		Parent           int
	}
	var got, want told
	var errs [10]error
	got.Argv, errs[0] = CommandLine(pid)
	got.Environ, errs[1] = Environment(pid)
	got.Name, errs[2] = Name(pid)
	got.Executable, errs[3] = Executable(pid)
	got.Parent, errs[4] = Parent(pid)
	want.Argv, errs[5] = peer.CmdlineSlice()
	want.Environ, errs[6] = peer.Environ()
	want.Name, errs[7] = peer.Name()
	want.Executable, errs[8] = peer.Exe()
	ppid, err := peer.Ppid()
	want.Parent, errs[9] = int(ppid), err
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Parent != os.Getppid() {
		t.Errorf("the parent is %d and not %d", got.Parent, os.Getppid())
	}
	if user, err := User(pid); user != os.Getuid() && runtime.GOOS != "windows" {
		t.Errorf("of user %d, %v", user, err)
	}
	ms, err := peer.CreateTime()
	if err != nil {
		t.Fatal(err)
	}
	if seconds, err := Created(pid); err != nil || math.Abs(seconds-float64(ms)/1000) > 0.0011 {
		t.Errorf("it began at %f, the library has %d ms; %v", seconds, ms, err)
	}
	if all, err := PIDs(); err != nil || !slices.Contains(all, pid) || !slices.Contains(all, os.Getppid()) {
		t.Errorf("pid %d or its parent %d is not among %d; %v", pid, os.Getppid(), len(all), err)
	}
}

func TestOfAProcessThatIsGoneNothingIsTold(t *testing.T) {
	t.Parallel()
	c, _ := start(t, "idle", nil)
	c.end()
	pid := c.Process.Pid
	for what, ask := range map[string]func() error{
		"command line": func() error { _, err := CommandLine(pid); return err },
		"environment":  func() error { _, err := Environment(pid); return err },
		"name":         func() error { _, err := Name(pid); return err },
		"program":      func() error { _, err := Executable(pid); return err },
		"parent":       func() error { _, err := Parent(pid); return err },
		"user":         func() error { _, err := User(pid); return err },
		"start":        func() error { _, err := Created(pid); return err },
	} {
		if err := ask(); runtime.GOOS == "linux" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: %v", what, err)
		} else if err == nil && what != "environment" {
			t.Errorf("%s: told of a process that is gone", what)
		}
	}
}

package ident

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Facts of Hermes: its marker has psutil's create time, the boot in whole seconds and hundredths of a second upon it.
func TestStartIsThatOfPsutil(t *testing.T) {
	t.Parallel()
	stat := statLine(812, "x", "S", "1", "58714")
	if got, err := fakeProc(t, map[string]string{"812/stat": stat, "stat": "cpu 1 2\nintr 3\nbtime 1796000000\n"}).created(812); err != nil || math.Abs(got-1796000587.14) > 1e-6 {
		t.Errorf("%f, %v", got, err)
	}
	for name, files := range map[string]map[string]string{
		"no such process":  {"stat": "btime 1\n"},
		"no boot":          {"812/stat": stat, "stat": "cpu 1 2\n"},
		"boot is a word":   {"812/stat": stat, "stat": "btime soon\n"},
		"no stat of all":   {"812/stat": stat},
		"stat of another":  {"812/stat": statLine(81, "x", "S", "1", "58714"), "stat": "btime 1\n"},
		"stat of one torn": {"812/stat": "812 (x", "stat": "btime 1\n"},
	} {
		if got, err := fakeProc(t, files).created(812); err == nil {
			t.Errorf("%s: %f", name, got)
		}
	}
}

func TestNameThatTheKernelCutIsCompletedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ comm, cmdline, want string }{
		"short":                {"codex\n", "/bin/node\x00x\x00", "codex"},
		"cut":                  {"hermes-supervis\n", "/opt/hermes-supervisor\x00turn\x00", "hermes-supervisor"},
		"cut, and another one": {"a-long-thread-n\n", "/bin/node\x00x\x00", "a-long-thread-n"},
		"cut, no command line": {"a-long-kernel-t\n", "", "a-long-kernel-t"},
		"a line of its own":    {"a\nb\n", "x\x00", "a\nb"},
	} {
		p := fakeProc(t, map[string]string{"812/comm": c.comm, "812/cmdline": c.cmdline})
		if got, err := p.name(812); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestUserIsTheRealOne(t *testing.T) {
	t.Parallel()
	if got, err := fakeProc(t, map[string]string{"812/status": "Name:\tUid:\\n 7\nUid:\t1000\t0\t0\t0\n"}).user(812); err != nil || got != 1000 {
		t.Errorf("%d, %v", got, err)
	}
	for name, status := range map[string]string{"none": "Name:\tx\n", "empty": "Uid:\t\n", "a word": "Uid:\troot\n"} {
		if got, err := fakeProc(t, map[string]string{"812/status": status}).user(812); err == nil {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestProgramThatWasReplacedIsToldByItsPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "an agent")
	c, _ := start(t, "idle", func(cmd *exec.Cmd) {
		if err := os.Link(cmd.Path, path); err != nil {
			t.Skip("a program of its own needs a link to the test's, on the same file system: ", err)
		}
		cmd.Path = path
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Executable(c.Process.Pid); err != nil || got != path {
		t.Errorf("%q, %v", got, err)
	}
}

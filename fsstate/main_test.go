package fsstate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// helperVar names the program that the re-executed test binary plays.
const helperVar = "FSSTATE_TEST_HELPER"

// helpers are the programs; each gets its arguments and returns its exit code.
var helpers = map[string]func(args []string) int{
	"hold-lock":    helperHoldLock,
	"count-up":     helperCountUp,
	"write-loop":   helperWriteLoop,
	"load-key":     helperLoadKey,
	"journal":      helperJournal,
	"wait-control": helperWaitControl,
	"die-at":       helperDieAt,
	"hold-lease":   helperHoldLease,
}

// played are the programs that a test started: one that none starts is dead code.
var played = map[string]*atomic.Bool{}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVar); name != "" {
		os.Exit(helpers[name](os.Args[1:]))
	}
	for name := range helpers {
		played[name] = &atomic.Bool{}
	}
	code := m.Run()
	if code == 0 && wholeSuite() {
		for name, was := range played {
			if !was.Load() {
				fmt.Fprintf(os.Stderr, "no test plays helper %s\n", name)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// wholeSuite is false when the command line chose some of the tests.
func wholeSuite() bool {
	for _, arg := range os.Args[1:] {
		for _, flag := range []string{"-test.run=", "-test.skip=", "-test.list=", "-test.short", "-test.fuzz"} {
			if len(arg) >= len(flag) && arg[:len(flag)] == flag && arg != "-test.run=" && arg != "-test.run=^Test" {
				return false
			}
		}
	}
	return true
}

// helper is the re-executed test binary; it is killed when the test ends.
func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if helpers[name] == nil {
		t.Fatalf("no helper %q", name)
	}
	played[name].Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, testBinary(t), args...)
	cmd.Env = append(os.Environ(), helperVar+"="+name)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func testBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// running is a started helper that says one line when it is ready and ends when its stdin closes.
type running struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said string
}

func start(t *testing.T, name string, args ...string) *running {
	t.Helper()
	cmd := helper(t, name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	r := &running{cmd: cmd, in: in, out: bufio.NewReader(out)}
	r.said, err = r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("helper %s said %q: %v", name, r.said, err)
	}
	return r
}

// kill ends a helper with SIGKILL and waits until it is gone.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// untilStdinCloses ends a helper with its test.
func untilStdinCloses() { _, _ = io.Copy(io.Discard, os.Stdin) }

func newHome(t *testing.T) Home {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return Home{Path: dir, Root: dir}
}

func newStore(t *testing.T) *Store {
	t.Helper()
	return openStore(t, newHome(t))
}

func openStore(t *testing.T, h Home) *Store {
	t.Helper()
	s, err := Open(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inTime fails the test when f blocks.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("blocked")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// mustOpen is for helpers: a home's path in, its store out.
func mustOpen(path string) *Store {
	return must(Open(Home{Path: path, Root: path}, Options{}))
}

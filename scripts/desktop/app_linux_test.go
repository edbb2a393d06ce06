package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything here waits for what must come.
const patience = 60 * time.Second

// program is the hermes-supervisor under test.
var program string

// TestMain is the app itself where it is told to be.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "app" {
		os.Exit(run(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(withProgram(m))
}

func withProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "desktop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "hermes-supervisor")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/hermes-supervisor").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// user is a person with a home, a configuration and the app.
type user struct {
	t         *testing.T
	dir, home string
}

func newUser(t *testing.T, toml string) *user {
	t.Helper()
	u := &user{t: t, dir: t.TempDir()}
	u.home = filepath.Join(u.dir, "home")
	if err := os.Mkdir(u.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.file("hermes.toml"), []byte(strings.ReplaceAll(toml, "DIR", u.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what a failed test has left
		for _, pid := range u.alive() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return u
}

func (u *user) file(name string) string { return filepath.Join(u.dir, name) }

func (u *user) call(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "HOME="+u.dir, "XDG_CONFIG_HOME="+u.file(".config"), "HERMES_HOME="+u.home)
	return cmd
}

// supervised is a command line of hermes-supervisor.
func (u *user) supervised(args ...string) *exec.Cmd {
	return u.call(append([]string{program, "-c", u.file("hermes.toml")}, args...)...)
}

// alive are all processes of this user.
func (u *user) alive() (pids []int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "HERMES_HOME="+u.home+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (u *user) until(what string, holds func() bool) {
	u.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			u.t.Fatalf("it never came true that %s", what)
		}
	}
}

func (u *user) allGone() {
	u.t.Helper()
	u.until("every process is gone", func() bool { return len(u.alive()) == 0 })
}

func (u *user) exists(name string) bool {
	_, err := os.Stat(u.file(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// pid is what a service has written into a file of its own.
func (u *user) pid(name string) (pid int) {
	u.t.Helper()
	u.until(name+" holds a pid", func() bool {
		text, _ := os.ReadFile(u.file(name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid != 0 && strings.HasSuffix(string(text), "\n")
	})
	return pid
}

func (u *user) lines(name string) int {
	text, _ := os.ReadFile(u.file(name))
	return strings.Count(string(text), "\n")
}

func (u *user) signal(s syscall.Signal, pids ...int) {
	u.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			u.t.Fatalf("%s to %d: %v", s, pid, err)
		}
	}
}

// app is the app as it runs.
type app struct {
	*user

	cmd        *exec.Cmd
	button     *os.File
	window     *bufio.Scanner
	supervisor int
}

func (u *user) start() *app {
	u.t.Helper()
	a := &app{user: u, cmd: u.call(os.Args[0], "app", "--", program, "-c", u.file("hermes.toml"))}
	theirs, ours, err := os.Pipe()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	a.cmd.Stderr = os.Stderr
	a.cmd.Stdin, a.button, a.window = theirs, ours, bufio.NewScanner(out)
	if err := a.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	_ = theirs.Close()
	u.t.Cleanup(func() { _ = ours.Close() })
	a.supervisor, _ = strconv.Atoi(strings.TrimPrefix(a.shows("supervisor "), "supervisor "))
	return a
}

// shows reads on until a line begins like that.
func (a *app) shows(beginning string) string {
	a.t.Helper()
	var seen []string
	for a.window.Scan() {
		if seen = append(seen, a.window.Text()); strings.HasPrefix(a.window.Text(), beginning) {
			return a.window.Text()
		}
	}
	a.t.Fatalf("%q is never shown: %q", beginning, seen)
	return ""
}

func (a *app) ends() int {
	a.t.Helper()
	for a.window.Scan() {
	}
	_ = a.cmd.Wait()
	return a.cmd.ProcessState.ExitCode()
}

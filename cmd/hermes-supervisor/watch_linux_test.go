package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x" // of tests alone: a terminal that can be read
	"golang.org/x/sys/unix"
)

var updateFrames = flag.Bool("update-frames", false, "write the screens of testdata/watch anew")

// screenOf is a program at a terminal of its own, and what is on the screen of that.
type screenOf struct {
	t      *testing.T
	vt     vt10x.Terminal
	master *os.File
	cmd    *exec.Cmd
	before unix.Termios
	ended  chan struct{}
	home   string
	dir    string
}

// watchHome makes a home with a configuration; what runs there ends with the test.
func watchHome(t *testing.T, config string) (dir, home string, env []string) {
	t.Helper()
	dir = t.TempDir()
	home = filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(dir, "hermes.toml"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killThoseOf(home) })
	return dir, home, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, ".config"), "HERMES_HOME="+home,
		"HERMES_SUPERVISOR_CONFIG="+filepath.Join(dir, "hermes.toml"), "GORACE=atexit_sleep_ms=0", "TERM=xterm-256color", "PS1=> ", "ENV=", "NO_COLOR=", "CLICOLOR=")
}

// onScreen starts a program at a terminal of a size.
func onScreen(t *testing.T, dir, home string, env []string, width, height int, argv ...string) *screenOf {
	t.Helper()
	master, terminal, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	s := &screenOf{t: t, vt: vt10x.New(vt10x.WithSize(width, height)), master: master, ended: make(chan struct{}), home: home, dir: dir}
	s.resize(width, height)
	s.before = s.modes()
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Dir, s.cmd.Env = dir, env
	if err := startAt(terminal, s.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(s.vt, master) // ends with EIO when the last user of the terminal is gone
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("on the screen:\n%s", s.vt.String())
		}
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = master.Close()
	})
	return s
}

func (s *screenOf) resize(width, height int) {
	s.t.Helper()
	s.vt.Resize(width, height)
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screenOf) modes() unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *modes
}

func (s *screenOf) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until the screen matches.
func (s *screenOf) sees(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	var found string
	if err := within(patience, func() (bool, error) {
		found = re.FindString(s.vt.String())
		return found != "", nil
	}); err != nil {
		s.t.Fatalf("%q is not on the screen: %v\n%s", pattern, err, s.vt.String())
	}
	return found
}

// is waits until the screen below its first line is that of testdata/watch.
func (s *screenOf) is(name string) {
	s.t.Helper()
	path := filepath.Join("testdata", "watch", name)
	below := func() string {
		lines := strings.Split(s.vt.String(), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines[1:], "\n") + "\n"
	}
	if *updateFrames {
		time.Sleep(2 * time.Second) // a person looks at what was written
		if err := os.WriteFile(path, []byte(below()), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	got := ""
	if err := within(patience/4, func() (bool, error) { got = below(); return got == string(want), nil }); err != nil {
		s.t.Fatalf("%s (-want +got):\n%s", path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
	}
}

// left waits for the end, with this exit code, and checks that the terminal is as it was.
func (s *screenOf) left(code int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("it does not end")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, not %d", got, code)
	}
	s.isFree()
}

// mode is that of the screen, which is being written meanwhile.
func (s *screenOf) mode() vt10x.ModeFlag {
	s.vt.Lock()
	defer s.vt.Unlock()
	return s.vt.Mode()
}

// isFree waits until the terminal is as it was before.
func (s *screenOf) isFree() {
	s.t.Helper()
	var diff string
	if err := within(patience, func() (bool, error) {
		mode := s.mode()
		diff = cmp.Diff(s.before, s.modes())
		return mode&vt10x.ModeAltScreen == 0 && mode&vt10x.ModeHide == 0 && mode&vt10x.ModeWrap != 0 && diff == "", nil
	}); err != nil {
		s.t.Errorf("the screen has mode %b, and the terminal's modes are (-before +after):\n%s", s.mode(), diff)
	}
}

// idleServices are services that nobody runs: their screen is the same at any time.
func idleServices(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[service]]\nname = \"worker-%03d\"\ncommand = [\"sleep\", \"1000\"]\n", i+1)
	}
	return b.String()
}

func TestWatchFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3, 500} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			dir, home, env := watchHome(t, idleServices(n))
			s := onScreen(t, dir, home, env, 80, 24, "hermes-supervisor", "status", "--watch")
			name := func(at string) string { return fmt.Sprintf("%d-services-%s", n, at) }
			s.sees(`^hermes-supervisor +.*run was never started`)
			s.is(name("80x24"))
			s.resize(200, 50)
			s.is(name("200x50"))
			s.resize(20, 5)
			s.is(name("20x5"))
			s.resize(80, 24)
			s.is(name("80x24"))
			s.types("G")
			s.is(name("80x24-at-the-end"))
			s.types("\x0c") // drawn anew, it is the same
			s.is(name("80x24-at-the-end"))
			s.types("g")
			s.is(name("80x24"))
			if s.mode()&vt10x.ModeHide == 0 {
				t.Error("the cursor is to be seen")
			}
			s.types("q")
			s.left(0)
		})
	}
}

const three = `
[[service]]
name = "alpha"
command = ["agent", "put", 'one\ntwo\n', "hang"]
[[service]]
name = "beta"
command = ["agent", "hang"]
[[service]]
name = "gamma"
command = ["agent", "err", 'no token\n', "exit", "78"]
`

// startRun starts a run that ends with the test.
func startRun(t *testing.T, dir string, env []string) *exec.Cmd {
	t.Helper()
	run := exec.Command("hermes-supervisor", "run")
	run.Dir, run.Env = dir, env
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	return run
}

func TestWatchGivesOrders(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, three)
	run := startRun(t, dir, env)
	s := onScreen(t, dir, home, env, 100, 30, "hermes-supervisor", "status", "--watch")
	s.sees(fmt.Sprintf(`run \(pid %d\)$`, run.Process.Pid))
	s.sees(`^> alpha +running`)
	s.sees(`^  gamma +parked .*exit 78: no token`)
	pid := strings.Fields(s.sees(`^  beta +running +\d+`))[2]
	s.types("j")
	s.sees(`^> beta`)
	s.types("r")
	s.sees(`^restart beta\? y/n`)
	s.types("n")
	s.sees(`^nothing was ordered`)
	s.types("r")
	s.sees(`^restart beta\? y/n`)
	s.types("y")
	s.sees(`^beta: running`)
	if err := within(patience, func() (bool, error) {
		return strings.Fields(s.sees(`^> beta +running +\d+`))[3] != pid, nil
	}); err != nil {
		t.Errorf("beta has pid %s still", pid)
	}
	s.types("s")
	s.sees(`^stop beta\? y/n`)
	s.types("y")
	s.sees(`^beta: stopped`)
	s.sees(`^> beta +stopped +- `)
	s.types("S")
	s.sees(`^> beta +running`)
	s.types("je")
	s.sees(`^to change it +read .logs gamma., settle what it says, then .start gamma.`)
	s.types("\x1b")
	s.sees(`^> gamma`)
	s.types("\x1b[Al") // up, in three bytes
	s.sees(`it has printed nothing`)
	s.types("qkl")
	s.sees(`^two`)
	s.types("q")
	s.sees(`service +beta +running`) // an event
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.left(143)
}

func TestWatchGoesToTheShellAndBack(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, idleServices(3))
	s := onScreen(t, dir, home, env, 80, 24, "sh", "-i")
	s.sees(`^> `)
	s.before = s.modes()
	shell := s.group()
	for range 2 {
		s.types("hermes-supervisor status --watch\n")
		s.sees(`^> worker-001`)
		for _, stop := range []func(){
			func() { s.types("\x1a") },
			func() { _ = unix.Kill(s.group(), unix.SIGTSTP) },
		} {
			stop()
			s.sees(`Stopped`)
			s.isFree()
			s.types("clear; fg\n")
			s.sees(`^> worker-001`)
		}
		s.types("\x03")
		s.isFree()
		if err := within(patience, func() (bool, error) { return s.group() == shell, nil }); err != nil { // until it has ended it reads what is typed
			t.Fatal(err)
		}
		s.types("clear; echo code$?.\n")
		s.sees(`^code0\.`)
	}
	s.types("exit\n")
	<-s.ended
}

// A script that called it is stopped with it, or the shell would not come back.
func TestCtrlZStopsTheScriptThatWatches(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, idleServices(3))
	if err := os.WriteFile(filepath.Join(dir, "look"), []byte("hermes-supervisor status --watch\necho looked\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, dir, home, env, 80, 24, "sh", "-i")
	s.sees(`^> `)
	s.before = s.modes()
	s.types("sh look\n")
	s.sees(`^> worker-001`)
	group := s.group()
	t.Cleanup(func() {
		if t.Failed() {
			_ = unix.Kill(-group, unix.SIGKILL) // stopped, it would keep the terminal open
		}
	})
	s.types("\x1a")
	s.sees(`Stopped`)
	s.isFree()
	s.types("clear; fg\n")
	s.sees(`^> worker-001`)
	s.types("q")
	s.sees(`^looked`)
	s.isFree()
	s.types("exit\n")
	<-s.ended
}

// Nobody could continue it where the terminal was opened for it alone.
func TestCtrlZStopsNothingWhereThereIsNoShell(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, idleServices(3))
	s := onScreen(t, dir, home, env, 80, 24, "hermes-supervisor", "status", "--watch")
	s.sees(`^> worker-001`)
	s.types("\x1a")
	s.sees(`^there is no shell to go back to`)
	s.types("j")
	s.sees(`^> worker-002`)
	if err := s.cmd.Process.Signal(unix.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	s.sees(`^there is no shell to go back to`)
	s.types("q")
	s.left(0)
}

// What was typed before the question was on the screen, or pasted, does not answer it.
func TestPastedTextStopsNoService(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, three)
	startRun(t, dir, env)
	s := onScreen(t, dir, home, env, 100, 30, "hermes-supervisor", "status", "--watch")
	s.sees(`^> alpha +running`)
	s.types("systemctl restart y\n") // a terminal that does not tell pastes
	s.sees(`^stop alpha\? y/n`)
	s.types("n")
	s.sees(`^nothing was ordered`)
	s.types("\x1b[200~systemctl restart y\n\x1b[201~")
	s.sees(`^what is pasted orders nothing`)
	s.types("\x1b[200~syq\x1b[201~jj")
	s.sees(`^> gamma`)
	s.sees(`^  alpha +running`)
	s.types("\x1b[200~never ended\x03")
	s.left(0)
}

// A configuration that is being written, or broken for a while, takes nothing from the screen; why it is an old one is
// told for as long as it is.
func TestWatchKeepsWhatItShowsWhileItCannotRead(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, idleServices(3))
	s := onScreen(t, dir, home, env, 200, 24, "hermes-supervisor", "status", "--watch")
	s.sees(`^> worker-001`)
	file := filepath.Join(dir, "hermes.toml")
	if err := os.WriteFile(file, []byte("[[service]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sees(`not up to date$`)
	s.sees(`/hermes.toml:2: is no TOML`)
	s.types("j")
	s.sees(`^> worker-002`)
	if err := os.WriteFile(file, []byte(idleServices(4)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sees(`^  worker-004`)
	s.sees(`run was never started in this home$`)
	s.sees(`^\? keys`)
	s.types("q")
	s.left(0)
}

func (s *screenOf) group() int {
	s.t.Helper()
	group, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		s.t.Fatal(err)
	}
	return group
}

// A run that dies is seen though it writes nothing any more.
func TestWatchSeesARunDie(t *testing.T) {
	t.Parallel()
	dir, home, env := watchHome(t, three)
	run := startRun(t, dir, env)
	s := onScreen(t, dir, home, env, 100, 30, "hermes-supervisor", "status", "--watch")
	s.sees(`^> alpha +running`)
	_ = run.Process.Kill()
	_ = run.Wait()
	s.sees(`run \(pid \d+\) is gone: its process is gone$`)
	s.sees(`^> alpha +running.*lives on while run is down`)
	s.types("q")
	s.left(0)
}

// A terminal that can do nothing, and whoever asks for JSON, get lines.
func TestWatchWithoutAScreen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		term, sees string
		args       []string
	}{
		{"dumb", `SERVICE +PROFILE`, nil},
		{"xterm", `"schema": 1`, []string{"--json"}},
	} {
		dir, home, env := watchHome(t, idleServices(1))
		s := onScreen(t, dir, home, append(env, "TERM="+tc.term), 100, 40, append([]string{"hermes-supervisor", "status", "--watch"}, tc.args...)...)
		s.sees(tc.sees)
		if s.mode()&vt10x.ModeAltScreen != 0 {
			t.Errorf("TERM=%s %v: it took the screen", tc.term, tc.args)
		}
		s.types("\x03")
		<-s.ended
	}
}

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/supervise/process"
)

// unread is a run whose output goes into a pipe that stays open.
type unread struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	pipe *os.File // where it can be read
}

// runUnread starts one, whose pipe has room for nothing where it is filled before.
func runUnread(t *testing.T, filled bool, config string, args ...string) *unread {
	t.Helper()
	return runUnreadIn(t, t.TempDir(), filled, config, args...)
}

func runUnreadIn(t *testing.T, dir string, filled bool, config string, args ...string) *unread {
	t.Helper()
	u := &unread{t: t, dir: dir}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	u.pipe = os.NewFile(uintptr(fds[0]), "pipe")
	t.Cleanup(func() { u.pipe.Close() })
	if filled {
		fillPipe(t, fds[1])
	}
	out := os.NewFile(uintptr(fds[1]), "pipe")
	defer out.Close()
	path := filepath.Join(u.dir, "hermes.toml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config, "DIR", u.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "DIR", u.dir)
	}
	home := filepath.Join(u.dir, "home")
	u.cmd = exec.Command("hermes-supervisor", append([]string{"--home", home, "--config", path}, args...)...)
	u.cmd.Env = append(os.Environ(), "HERMES_HOME="+home, "GORACE=atexit_sleep_ms=0")
	u.cmd.Stdout, u.cmd.Stderr = out, out
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killThoseOf(home) })
	return u
}

// fillPipe writes into a pipe until it takes no more.
func fillPipe(t *testing.T, fd int) {
	t.Helper()
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{4096, 1} {
		for err := error(nil); !errors.Is(err, unix.EAGAIN); {
			if _, err = unix.Write(fd, bytes.Repeat([]byte("."), n)); err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// starts waits until a service has written so many lines into its file, and gives the last, its pid.
func (u *unread) starts(file string, n int) int {
	u.t.Helper()
	var pid int
	if err := within(patience, func() (bool, error) {
		text, _ := os.ReadFile(filepath.Join(u.dir, file))
		lines := strings.SplitAfter(string(text), "\n")
		if len(lines) <= n {
			return false, nil
		}
		var err error
		pid, err = strconv.Atoi(strings.TrimSpace(lines[n-1]))
		return true, err
	}); err != nil {
		u.t.Fatalf("start %d: %v", n, err)
	}
	return pid
}

// ends ends it with a signal and tells how it ended.
func (u *unread) ends(with os.Signal) int {
	u.t.Helper()
	if err := u.cmd.Process.Signal(with); err != nil {
		u.t.Fatal(err)
	}
	return u.over()
}

func (u *unread) over() int {
	u.t.Helper()
	late := time.AfterFunc(patience, func() { _ = u.cmd.Process.Kill() })
	defer late.Stop()
	_ = u.cmd.Wait()
	if left := thoseOf(filepath.Join(u.dir, "home")); len(left) > 0 {
		u.t.Errorf("these live: %v", left)
	}
	return u.cmd.ProcessState.ExitCode()
}

func TestRunSupervisesAndStopsWhereNobodyReadsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run"}, {"--json", "run"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			u := runUnread(t, true, "[[service]]\nname = 'web'\ncommand = ['/bin/sh', '-c', 'echo $$$$ >>DIR/starts; exec sleep 300']\n[service.restart]\ndelay = '1ms'\n", args...)
			for n := range 3 {
				if err := unix.Kill(u.starts("starts", n+1), unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			u.starts("starts", 4)
			if code := u.ends(unix.SIGTERM); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

func TestAStopDoesNotWaitForAReaderOfAProgramThatFloodsIt(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"run":         {"run", "--", "/bin/sh", "-c", "echo $$ >>DIR/starts; exec yes"},
		"its own end": {"run", "--restart", "never", "--", "/bin/sh", "-c", "head -c 300000 /dev/zero; echo $$ >>DIR/starts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := runUnread(t, true, "", args...)
			u.starts("starts", 1)
			if code := u.ends(unix.SIGTERM); code != 0 && code != 128+int(unix.SIGTERM) {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// TestAPipelineGetsAllThatAProgramPrinted has a reader that begins late: the program has ended by itself, and nobody wants
// anything to end early.
func TestAPipelineGetsAllThatAProgramPrinted(t *testing.T) {
	t.Parallel()
	u := runUnread(t, false, "", "run", "--restart", "never", "--", "/bin/sh", "-c", "head -c 300000 /dev/zero; echo $$ >>DIR/starts; exit 3")
	u.starts("starts", 1)
	if err := within(patience, func() (bool, error) {
		return len(thoseOf(filepath.Join(u.dir, "home"))) == 1, nil // run alone, which has seen the end
	}); err != nil {
		t.Fatal(err)
	}
	printed := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(u.pipe)
		printed <- all
	}()
	if code := u.over(); code != 3 {
		t.Errorf("exit %d", code)
	}
	if n := bytes.Count(<-printed, []byte{0}); n != 300_000 {
		t.Errorf("%d bytes of 300000", n)
	}
}

// TestAKeeperObeysWhereNobodyReadsItsAgent: one signal is enough, and what it has to record is recorded.
func TestAKeeperObeysWhereNobodyReadsItsAgent(t *testing.T) {
	t.Parallel()
	const flood = "echo $$ >>DIR/starts; trap 'exit 0' TERM INT; head -c 300000 /dev/zero; sleep 300 & wait"
	for name, tc := range map[string]struct {
		with unix.Signal
		args []string
		code int
		open bool
	}{
		"a stop":              {unix.SIGTERM, []string{"--drain", "0"}, 143, true},
		"a stop, --json":      {unix.SIGTERM, []string{"--drain", "10ms", "--json"}, 143, true},
		"an interrupt":        {unix.SIGINT, []string{"--outcome", "DIR/outcome"}, 130, false},
		"an interrupt, --id":  {unix.SIGINT, []string{"--outcome", "DIR/outcome", "--id", "some"}, 130, false},
		"its output was held": {unix.SIGINT, []string{"--outcome", "DIR/outcome", "--hold-output"}, 130, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := runUnread(t, true, "", slices.Concat([]string{"turn", "run", "--session", "job", "--prompt", "p"}, tc.args, []string{"--", "/bin/sh", "-c", flood})...)
			u.starts("starts", 1)
			if code := u.ends(tc.with); code != tc.code {
				t.Errorf("exit %d", code)
			}
			if _, err := os.Stat(filepath.Join(u.dir, "home", "supervisor", "turns", "job.json")); (err == nil) != tc.open {
				t.Errorf("the marker: %v", err)
			}
			if _, err := os.Stat(filepath.Join(u.dir, "outcome")); (err == nil) == tc.open {
				t.Errorf("the outcome: %v", err)
			}
		})
	}
}

// TestAKeeperObeysWhileItEndsWhatItsAgentLeft: the one signal comes after the turn's end, and before the wait for its reader.
func TestAKeeperObeysWhileItEndsWhatItsAgentLeft(t *testing.T) {
	t.Parallel()
	const leaves = "head -c 300000 /dev/zero; trap '' TERM; sleep 300 & exit 3"
	u := runUnread(t, true, "", "turn", "run", "--session", "job", "--prompt", "p", "--", "/bin/sh", "-c", leaves)
	if err := within(patience, func() (bool, error) {
		text, _ := os.ReadFile(filepath.Join(u.dir, "home", "supervisor", "turns", "job.json"))
		return bytes.Contains(text, []byte(`"concluded"`)), nil
	}); err != nil {
		t.Fatal(err)
	}
	if code := u.ends(unix.SIGTERM); code != 3 {
		t.Errorf("exit %d", code)
	}
}

// TestAnAnswerThatNobodyReadsEndsByOneSignal is a request that is given again when it has ended.
func TestAnAnswerThatNobodyReadsEndsByOneSignal(t *testing.T) {
	t.Parallel()
	args := func() []string {
		return []string{"turn", "run", "--session", "job", "--prompt", "p", "--id", "some", "--", "/bin/sh", "-c", "head -c 300000 /dev/zero; exit 3"}
	}
	first := runUnread(t, false, "", args()...)
	go func() { _, _ = io.Copy(io.Discard, first.pipe) }()
	if code := first.over(); code != 3 {
		t.Fatalf("exit %d", code)
	}
	for _, with := range []unix.Signal{unix.SIGTERM, unix.SIGINT} {
		u := runUnreadIn(t, first.dir, false, "", args()...)
		if err := within(patience, func() (bool, error) { // it has begun to print
			n, err := unix.IoctlGetInt(int(u.pipe.Fd()), unix.TIOCINQ)
			return n > 0, err
		}); err != nil {
			t.Fatal(err)
		}
		if code := u.ends(with); code != 3 {
			t.Errorf("%s: exit %d", with, code)
		}
	}
}

// TestRunEndsWhereItsFirstLineWasNotRead: what it said before it supervised anything is no reason to stay.
func TestRunEndsWhereItsFirstLineWasNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profile := filepath.Join(dir, "home", "profiles", "other")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	u := runUnreadIn(t, dir, true, "[[service]]\nname = 'web'\ncommand = ['sleep', '300']\nprofiles = ['one']\n[agent.own]\ncommand = ['true']\n", "--home", profile, "run")
	if err := within(patience, func() (bool, error) {
		_, err := os.Stat(filepath.Join(profile, "supervisor", "supervisor.json"))
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if code := u.ends(unix.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestALateReaderGetsAllThatAPlatformSaid is a pager: nobody wants anything to end early. A signal does.
func TestALateReaderGetsAllThatAPlatformSaid(t *testing.T) {
	t.Parallel()
	const config = "[handoff.platform.tele]\ncommand = ['/bin/sh', '-c', 'head -c 300000 /dev/zero >&2; echo >>DIR/starts']\n"
	dir := t.TempDir()
	for n, with := range []unix.Signal{0, unix.SIGTERM, unix.SIGINT} {
		if code := runUnreadIn(t, dir, false, config, "handoff", "request", "job", "tele").over(); code != 0 {
			t.Fatalf("exit %d", code)
		}
		u := runUnreadIn(t, dir, false, config, "handoff", "deliver", "job")
		if err := within(patience, func() (bool, error) {
			text, _ := os.ReadFile(filepath.Join(dir, "starts"))
			list, err := os.ReadDir(filepath.Join(dir, "home", "supervisor", "handed"))
			return len(text) > n && len(list) > n, err
		}); err != nil {
			t.Fatal(err)
		}
		if with != 0 {
			if code := u.ends(with); code != 0 {
				t.Errorf("%s: exit %d", with, code)
			}
			continue
		}
		if err := within(2*process.UnreadFor, func() (bool, error) {
			left, err := filepath.Glob(filepath.Join(dir, "home", "supervisor", "run", "*.err"))
			return len(left) == 0, err
		}); err == nil {
			t.Error("the rest was given up")
		}
		printed := make(chan []byte, 1)
		go func() {
			all, _ := io.ReadAll(u.pipe)
			printed <- all
		}()
		if code := u.over(); code != 0 {
			t.Errorf("exit %d", code)
		}
		if n := bytes.Count(<-printed, []byte{0}); n != 300_000 {
			t.Errorf("%d bytes of 300000", n)
		}
	}
}

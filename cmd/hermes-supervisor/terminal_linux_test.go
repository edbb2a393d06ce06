package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dialog is a shell command at a terminal of its own, and whoever types there.
type dialog struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	name   string // of the terminal
	dir    string
	ended  chan struct{}
	hungUp func()        // has nobody read from the terminal any more
	unread chan struct{} // closed when nobody reads from the terminal any more

	mu      sync.Mutex
	printed []byte
	read    int // so much of it has been looked at
}

// typeTo starts the shell command, in which hermes-supervisor is to be called as "$hs".
func typeTo(t *testing.T, script string) *dialog {
	t.Helper()
	master, terminal, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	d := &dialog{
		t: t, master: master, name: terminal.Name(), dir: t.TempDir(),
		ended: make(chan struct{}), unread: make(chan struct{}),
	}
	end := make(chan struct{})
	d.hungUp = sync.OnceFunc(func() { close(end) })
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 101}); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command("sh", "-c", script)
	d.cmd.Dir = d.dir
	home := filepath.Join(d.dir, "home")
	d.cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+filepath.Join(d.dir, ".config"), "HERMES_HOME="+home,
		"GORACE=atexit_sleep_ms=0", "hs=hermes-supervisor", "PS1=> ", "ENV=", "TERM=dumb")
	if err := errors.Join(os.Mkdir(home, 0o700), startAt(terminal, d.cmd)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(d, unhurried{master, end}) // ends with EIO when the last user of the terminal is gone
		close(d.unread)
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		killThoseOf(home)
		d.hungUp()
		<-d.unread // a read that waits would keep it open
		_ = master.Close()
		if t.Failed() {
			d.mu.Lock()
			defer d.mu.Unlock()
			t.Logf("at the terminal:\n%s", d.printed)
		}
	})
	return d
}

// killThoseOf ends what a failed test has left: whatever names its home in the environment.
func killThoseOf(home string) {
	for _, pid := range thoseOf(home) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

func thoseOf(home string) (pids []int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		text, err := os.ReadFile(path)
		pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && perr == nil && strings.Contains(string(text), "HERMES_HOME="+home+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unhurried reads from a terminal only what is there, so that it can be closed.
type unhurried struct {
	terminal *os.File
	end      <-chan struct{}
}

func (u unhurried) Read(b []byte) (int, error) {
	for {
		select {
		case <-u.end:
			return 0, io.EOF
		default:
		}
		fds := []unix.PollFd{{Fd: int32(u.terminal.Fd()), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 20); n > 0 {
			return u.terminal.Read(b)
		}
	}
}

func (d *dialog) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.printed = append(d.printed, b...)
	return len(b), nil
}

func (d *dialog) types(text string) {
	d.t.Helper()
	if _, err := d.master.WriteString(text); err != nil {
		d.t.Fatal(err)
	}
}

// sees waits until what is printed from here on matches, and returns the first group of the match, if there is one.
func (d *dialog) sees(pattern string) (found string) {
	d.t.Helper()
	re := regexp.MustCompile(pattern)
	if err := within(patience, func() (bool, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		at := re.FindSubmatchIndex(d.printed[d.read:])
		if at == nil {
			return false, nil
		}
		if len(at) > 2 {
			found = string(d.printed[d.read+at[2] : d.read+at[3]])
		}
		d.read += at[1]
		return true, nil
	}); err != nil {
		d.t.Fatalf("%q was not printed: %v", pattern, err)
	}
	return found
}

func (d *dialog) seesPID(pattern string) int {
	d.t.Helper()
	pid, err := strconv.Atoi(d.sees(pattern))
	if err != nil {
		d.t.Fatal(err)
	}
	return pid
}

func (d *dialog) foreground() int {
	group, err := unix.IoctlGetInt(int(d.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		d.t.Fatal(err)
	}
	return group
}

// awaits waits until the terminal's foreground is a group that holds.
func (d *dialog) awaits(what string, holds func(group int) bool) {
	d.t.Helper()
	if err := within(patience, func() (bool, error) { return holds(d.foreground()), nil }); err != nil {
		d.t.Fatalf("the terminal's foreground is not %s: %v", what, err)
	}
}

func (d *dialog) ends() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatal("it does not end")
	}
	return d.cmd.ProcessState.ExitCode()
}

func is(want int) func(int) bool { return func(got int) bool { return got == want } }

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func statOf(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if err != nil || len(fields) < 2 {
		return []string{"", "0"}
	}
	return fields
}

func stopped(pid int) bool { return statOf(pid)[0] == "T" }

func parentOf(pid int) int {
	parent, _ := strconv.Atoi(statOf(pid)[1])
	return parent
}

// The script's shell is not interactive: run is in its group, which is the session leader's.
func TestInteractiveShellUnderRunHasTheTerminal(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `sleep 300 & other=$!
		$hs run --restart never -- sh
		echo code$?; kill -0 $other && echo lives; kill $other; read x; exit 0`)
	d.types("set -m; echo pid$$.; tty; stty size\n")
	shell := d.seesPID(`pid(\d+)\.`)
	d.sees(regexp.QuoteMeta(d.name))
	d.sees(`33 101`)
	d.awaits("the shell", is(shell))

	d.types("sleep 301\n")
	// Not before the exec: dash runs until then in its own memory (vfork), where a signal does harm.
	d.awaits("its job", func(group int) bool {
		name, _ := os.ReadFile("/proc/" + strconv.Itoa(group) + "/comm")
		return string(name) == "sleep\n"
	})
	d.types("\x03")
	d.awaits("the shell again", is(shell))
	d.types("echo st$?.\n")
	d.sees(`st130\.`)

	// In a group of its own; and, with job control off, an orphan in the shell's group that nothing marks as its own.
	d.types("sleep 302 & echo job$!.\n")
	job := d.seesPID(`job(\d+)\.`)
	d.types("set +m; (env -i sleep 303 & echo orphan$!.)\n")
	orphan := d.seesPID(`orphan(\d+)\.`)
	d.types("exit 7\n")
	d.sees(`stopped: .*\(exit 7\)`)
	d.sees(`code7\s`)
	d.sees(`lives`)
	if alive(job) || alive(orphan) {
		t.Errorf("after run, what its program left lives: job %v, orphan %v", alive(job), alive(orphan))
	}
	d.awaits("run's group", is(d.cmd.Process.Pid))
	if strings.Contains(string(d.printed), "can't access tty") {
		t.Error("the shell had no job control")
	}
	d.types("\n")
	d.ends()
	logs, _ := filepath.Glob(filepath.Join(d.dir, "home", "supervisor", "log", "sh", "*"))
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil && info.Size() > 0 {
			t.Errorf("%s holds %d bytes of what was for the terminal", log, info.Size())
		}
	}
}

func TestRestartedProgramHasTheTerminalAgainAsItWas(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec $hs run --restart on-failure -- sh -c '
		grep -E "Sig(Ign|Blk)" /proc/self/status
		test -e failed || { touch failed; stty raw -echo; kill -KILL $$; }
		echo again$$.; stty -a; read x; echo "got $x"'`)
	for range 2 {
		for _, set := range []string{"Blk", "Ign"} {
			signals, err := strconv.ParseUint(d.sees("Sig"+set+`:\s+([0-9a-f]+)`), 16, 64)
			if err != nil || signals&(1<<(unix.SIGTTOU-1)|1<<(unix.SIGTTIN-1)|1<<(unix.SIGTSTP-1)) != 0 {
				t.Errorf("it inherits Sig%s %x, %v", set, signals, err)
			}
		}
	}
	again := d.seesPID(`again(\d+)\.`)
	d.sees(`[^-]icanon`)
	d.sees(`[^-]echo\b`)
	d.awaits("the second launch", is(again))
	d.types("word\n")
	d.sees(`got word`)
	if code := d.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestCtrlZStopsRunAndItsProgramUntilTheShellContinuesThem(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec sh -i`)
	shell := d.cmd.Process.Pid
	d.sees(`> `)
	d.types(`$hs run --restart never -- sh -c 'stty -echo; echo begun$$.; read x; echo "got $x"; exit 5'` + "\n")
	program := d.seesPID(`begun(\d+)\.`)
	d.awaits("the program", is(program))
	for range 3 {
		d.types("\x1a")
		d.sees(`Stopped`)
		d.awaits("the shell", is(shell))
		d.types("fg\n")
		d.awaits("the program", is(program))
	}
	d.types("word\n")
	d.sees(`got word`)
	d.awaits("the shell", is(shell))
	d.types("echo code$?.\n")
	d.sees(`code5\.`)
	d.types("exit\n")
	d.ends()
}

func TestRestartInTheBackgroundDoesNotTakeTheTerminalFromTheShell(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec sh -i`)
	shell := d.cmd.Process.Pid
	d.sees(`> `)
	d.types(`$hs run --restart on-failure -- sh -c 'echo begun$$.; read x; echo "got $x"'` + "\n")
	first := d.seesPID(`begun(\d+)\.`)
	d.awaits("the program", is(first))
	d.types("\x1a")
	d.sees(`Stopped`)
	if err := unix.Kill(first, unix.SIGKILL); err != nil { // run is stopped too, and sees it when it goes on
		t.Fatal(err)
	}
	d.types("bg\n")
	second := d.seesPID(`begun(\d+)\.`)
	if group := d.foreground(); group != shell {
		t.Errorf("group %d has the terminal, and not the shell, %d", group, shell)
	}
	// It wants to read: that stops it, and run. The shell tells of that before its next prompt.
	if err := within(patience, func() (bool, error) { return stopped(second) && stopped(parentOf(second)), nil }); err != nil {
		t.Fatal("the program or run does not stop:", err)
	}
	d.types("fg\n")
	d.awaits("the program", is(second))
	d.types("word\n")
	d.sees(`got word`)
	d.awaits("the shell", is(shell))
	d.types("exit\n")
	d.ends()
}

// There is no shell to go to: the program goes on.
func TestCtrlZWhereRunIsNoJobOfAShellIsUndone(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec $hs run --restart never -- sh -c 'echo begun$$.; read x; echo "got $x"; exit 6'`)
	d.awaits("the program", is(d.seesPID(`begun(\d+)\.`)))
	d.types("\x1aword\n")
	d.sees(`got word`)
	if code := d.ends(); code != 6 {
		t.Errorf("exit code %d", code)
	}
}

// An interactive shell ignores SIGTERM.
func TestOrderedStopEndsAnInteractiveShell(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec $hs run -- sh`)
	d.types("echo pid$$.\n")
	shell := d.seesPID(`pid(\d+)\.`)
	d.awaits("the shell", is(shell))
	if err := d.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.ends(); code != 0 || alive(shell) {
		t.Errorf("exit code %d, the shell lives: %v", code, alive(shell))
	}
	d.sees(`stopped`)
}

func TestRunInTheBackgroundLeavesTheTerminalAlone(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `set -m
		$hs run --restart never -- sh -c 'echo program; exit 3' & wait $!; echo code$?.`)
	d.sees(`program`)
	d.sees(`code3\.`)
	d.ends()
}

// hangUp closes the terminal, as the end of its window does.
func (d *dialog) hangUp() {
	d.t.Helper()
	d.hungUp()
	<-d.unread
	if err := d.master.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.ends()
	home := filepath.Join(d.dir, "home")
	if err := within(patience, func() (bool, error) { return len(thoseOf(home)) == 0, nil }); err != nil {
		d.t.Errorf("after the terminal, these live: %v", thoseOf(home))
	}
}

func TestClosedTerminalLeavesNothing(t *testing.T) {
	t.Parallel()
	const services = `printf '[[service]]\nname = "web"\ncommand = ["sleep", "300"]\n' >h.toml; chmod 600 h.toml; `
	for name, tc := range map[string]struct{ script, sees string }{
		"run":                               {services + `exec $hs -c h.toml run`, `web +running`},
		"run in a shell":                    {services + `$hs -c h.toml run; echo over`, `web +running`},
		"run, no stream is the terminal":    {services + `$hs -c h.toml run >log 2>&1 & until grep -q running log 2>/dev/null; do sleep 0.01; done; echo seen; wait`, `seen`},
		"run, only its input is from there": {services + `(until grep -q running log; do sleep 0.01; done; echo seen) 2>/dev/null & exec $hs -c h.toml run >log 2>&1`, `seen`},
		"a program at the terminal":         {`exec $hs run -- sh -c 'echo begun; sleep 300'`, `begun`},
		"a shell at the terminal":           {`exec $hs run -- sh -i`, `> `},
		"a program that is deaf to SIGHUP":  {`exec $hs run -- sh -c 'trap "" HUP; echo begun; sleep 300; sleep 300'`, `begun`},
		"a program beside others' services": {services + `exec $hs -c h.toml run -- sh -c 'echo begun; sleep 300'`, `begun`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := typeTo(t, tc.script)
			d.sees(tc.sees)
			d.hangUp()
		})
	}
}

// The turn stays open: nobody has said that it is not wanted any more.
func TestClosedTerminalLeavesTheTurnOpen(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec $hs turn run --session job --prompt 'long job' --drain 0 -- sh -c 'echo begun; sleep 300'`)
	d.sees(`begun`)
	d.hangUp()
	if _, err := os.Stat(filepath.Join(d.dir, "home", "supervisor", "turns", "job.json")); err != nil {
		t.Error(err)
	}
}

// TestRunWithTheTerminalStopsWhereThatIsStopped is Ctrl-S, and a stop from elsewhere.
func TestRunWithTheTerminalStopsWhereThatIsStopped(t *testing.T) {
	t.Parallel()
	d := typeTo(t, `exec "$hs" run -- sh -c 'echo up; exec sleep 300'`)
	d.sees("up")
	terminal, err := os.OpenFile(d.name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const off = 0 // TCOOFF
	if err := errors.Join(unix.IoctlSetInt(int(terminal.Fd()), unix.TCXONC, off), terminal.Close()); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.ends(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

//go:build linux

package turn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// Between the fork and the exec a launch is a process without a program: it has the keeper's environment and command
// line, and nothing but its witness tells what it is. A tracer holds it there.

func init() {
	parts["tracer"] = playTracer
	if len(os.Args) > 1 && os.Args[1] == "keeper" {
		const anybody = ^uintptr(0)
		_ = unix.Prctl(unix.PR_SET_PTRACER, anybody, 0, 0, 0) // where Yama lets only parents trace
	}
}

// playTracer is a process of its own: a tracer takes over the waiting for its tracees, which in the tests' process
// would be taken from os/exec. It is told a keeper's pid and the path of its marker, says "attached", and holds the
// first process that the keeper forks when the marker says "intended": "held PID". Its own end lets everything go on.
func playTracer(args []string) int {
	runtime.LockOSThread() // a tracee belongs to the thread that attached it
	keeper := must(strconv.Atoi(args[0]))
	if err := seizeAll(keeper); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 0
	}
	fmt.Fprintln(os.Stdout, "attached")
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0 // nobody is left
		}
		if !status.Stopped() {
			continue // a thread or process has ended
		}
		signal := 0
		event := int(status) >> 16
		switch {
		case event == unix.PTRACE_EVENT_STOP && status.StopSignal() == syscall.SIGTRAP:
			if tgid(tid) != keeper && intended(args[1]) {
				fmt.Fprintln(os.Stdout, "held", tid) // and it stays in this stop
				continue
			}
		case event == unix.PTRACE_EVENT_STOP: // the keeper was stopped by a signal, and must stay so
			_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(tid), 0, 0, 0, 0)
			continue
		case event == 0:
			signal = int(status.StopSignal())
		}
		_ = unix.PtraceCont(tid, signal)
	}
}

// seizeAll attaches to every thread of a process; one that begins meanwhile is begun by a traced one, or seen in the
// next round.
func seizeAll(pid int) error {
	const options = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE
	seized := map[string]bool{}
	for fresh := true; fresh; {
		fresh = false
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if seized[task.Name()] {
				continue
			}
			seized[task.Name()], fresh = true, true
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, options, 0, 0)
			if errno != 0 && errno != unix.EPERM { // EPERM: attached by itself, or nobody may
				return errno
			}
			if errno == unix.EPERM && tid == pid {
				return errno
			}
		}
	}
	return nil
}

func tgid(tid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

func intended(marker string) bool {
	text, err := os.ReadFile(marker)
	return err == nil && bytes.Contains(text, []byte(strconv.Quote(fsstate.PhaseIntended)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// heldLaunch is a launch between its fork and its exec.
type heldLaunch struct {
	*home

	keeper  *keeper
	call    call
	child   int
	release func()
}

// holdLaunch starts a keeper and holds the process that it forks for the agent.
func holdLaunch(t *testing.T) *heldLaunch {
	t.Helper()
	return newHome(t).holdLaunch(t)
}

func (h *home) holdLaunch(t *testing.T) *heldLaunch {
	t.Helper()
	c := h.run("prompt", "say", "@"+h.markerPath(), "await", "./go", "exit", "3")
	gated := c
	gated.Gate = h.file("gate")
	k := h.start(gated)
	h.until("the keeper waits", func() bool { return h.exists("gate.ready") })
	tracer := exec.Command(testBinary(t), "tracer", strconv.Itoa(k.cmd.Process.Pid), h.markerPath())
	out, err := tracer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	release := func() { _ = tracer.Process.Kill(); _ = tracer.Wait() }
	t.Cleanup(release)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "attached" {
		t.Skipf("a process cannot be traced here: %s", lines.Text())
	}
	h.touch("gate")
	var child int
	if !lines.Scan() {
		t.Fatal("the tracer has seen no fork")
	}
	if _, err := fmt.Sscanf(lines.Text(), "held %d", &child); err != nil {
		t.Fatalf("the tracer said %q", lines.Text())
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err != nil || len(h.agents()) > 0 || exe != testBinary(t) {
		t.Fatalf("the agent runs already: %s, %v", exe, err)
	}
	return &heldLaunch{home: h, keeper: k, call: c, child: child, release: release}
}

// refused checks that the session is taken, by the lock or by what lives, and that the owner is not dead.
func (h *heldLaunch) refused() {
	h.Helper()
	before := h.state()
	second := h.call
	second.Within = 200 * time.Millisecond
	r := h.start(second).wait()
	if locked := strings.Contains(r.Err, fmt.Sprintf("held by pid %d (", h.keeper.cmd.Process.Pid)); !locked && (r.Err != "" || r.Outcome.State != Refused) {
		h.Fatalf("a second keeper: %+v", r)
	}
	h.unchanged(before)
	if m := h.mustTurn(); m.Phase != fsstate.PhaseIntended || m.Owner.PID != 0 || m.Attempts != 0 {
		h.Errorf("marker %+v", m)
	}
	if v := h.view(); v.Owner.Verdict != ident.Alive || v.Keeper.Verdict != ident.Alive {
		h.Errorf("owner %v: %s; keeper %v: %s", v.Owner.Verdict, v.Owner.Why, v.Keeper.Verdict, v.Keeper.Why)
	}
	h.ran(0)
}

func TestKeeperKilledBetweenForkAndExec(t *testing.T) {
	t.Parallel()
	h := holdLaunch(t)
	h.refused()
	h.keeper.signal(syscall.SIGKILL)
	h.until("the keeper is gone", func() bool { return gone(h.keeper.cmd.Process.Pid) })
	h.refused() // what it has forked has its lock and its witness still
	h.release()
	agent := h.started(1)
	if v := h.view(); v.Owner.Verdict != ident.Alive || v.Keeper.Verdict != ident.Dead {
		t.Errorf("owner %v: %s; keeper %v: %s", v.Owner.Verdict, v.Owner.Why, v.Keeper.Verdict, v.Keeper.Why)
	}
	before := h.state()
	h.start(h.call).want(Refused, policy.ReasonOwnerAlive, 0)
	h.unchanged(before)
	h.touch("go")
	h.awaitGone(agent)
	if o := h.start(h.call).want(Concluded, policy.ReasonHandledError, 3); o.Attempts != 1 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.ran(2)
	h.noMarker()
}

func TestContinuationIsChargedBeforeItsFork(t *testing.T) {
	t.Parallel()
	before := newHome(t)
	before.interrupted("prompt")
	h := before.holdLaunch(t)
	if m := h.mustTurn(); m.Phase != fsstate.PhaseIntended || m.Attempts != 1 {
		t.Errorf("a continuation is forked, and the marker is %s with %d attempts", m.Phase, m.Attempts)
	}
	h.keeper.signal(syscall.SIGKILL)
	h.until("the keeper is gone", func() bool { return gone(h.keeper.cmd.Process.Pid) })
	h.release()
	agent := h.started(1)
	h.touch("go")
	h.awaitGone(agent)
	if o := h.start(h.call).want(Concluded, policy.ReasonHandledError, 3); o.Attempts != 2 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.ran(2)
	h.noMarker()
}

func TestKeeperStoppedBetweenForkAndExec(t *testing.T) {
	t.Parallel()
	h := holdLaunch(t)
	h.keeper.signal(syscall.SIGSTOP)
	h.refused()
	h.release()
	h.until("the keeper is stopped", func() bool { return procState(h.keeper.cmd.Process.Pid) == 'T' })
	agent := h.started(1) // it runs, and its keeper cannot record its pid
	if m := h.mustTurn(); m.Phase != fsstate.PhaseIntended || instanceOf(t, agent) != m.Owner.Instance {
		t.Errorf("marker %+v", m)
	}
	second := h.call
	second.Within = 200 * time.Millisecond
	if r := h.start(second).wait(); !strings.Contains(r.Err, fmt.Sprintf("held by pid %d (", h.keeper.cmd.Process.Pid)) {
		t.Errorf("a second keeper: %+v", r)
	}
	h.touch("go")
	h.keeper.signal(syscall.SIGCONT)
	h.keeper.want(Concluded, policy.ReasonHandledError, 3)
	h.ran(1)
	h.noMarker()
}

func TestLaunchKilledBetweenForkAndExec(t *testing.T) {
	t.Parallel()
	h := holdLaunch(t)
	h.refused()
	if err := syscall.Kill(h.child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.touch("go")
	h.release()
	if o := h.keeper.want(Concluded, policy.ReasonHandledError, 3); o.Attempts != 1 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.ran(1)
	h.noMarker()
}

func TestLaunchAndKeeperKilledBetweenForkAndExec(t *testing.T) {
	t.Parallel()
	h := holdLaunch(t)
	h.keeper.signal(syscall.SIGKILL)
	h.until("the keeper is gone", func() bool { return gone(h.keeper.cmd.Process.Pid) })
	if err := syscall.Kill(h.child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.release()
	h.awaitGone(h.child)
	if v := h.view(); v.Owner.Verdict != ident.Dead || v.Keeper.Verdict != ident.Dead {
		t.Errorf("owner %v: %s; keeper %v: %s", v.Owner.Verdict, v.Owner.Why, v.Keeper.Verdict, v.Keeper.Why)
	}
	h.touch("go")
	h.start(h.call).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(1)
	h.noMarker()
}

// agents are the living agents of this home by the process table alone: programs of the test binary that have the
// test's folder in their command line.
func (h *home) agents() []int {
	h.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		h.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		argv, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(argv, []byte("\x00agent\x00")) || !bytes.Contains(argv, []byte(h.dir+"/")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && !gone(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// procState is the letter of proc_pid_stat(5), 0 where there is no such process.
func procState(pid int) byte {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return fieldsAfterName(line)[0][0]
}

// fieldsAfterName are the fields of a stat line from the third on.
func fieldsAfterName(line []byte) []string {
	return strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
}

// instanceOf is the instance that a process's environment names.
func instanceOf(t *testing.T, pid int) string {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	for kv := range strings.SplitSeq(string(env), "\x00") {
		if instance, ok := strings.CutPrefix(kv, ident.InstanceVar+"="); ok {
			return instance
		}
	}
	return ""
}

// view is what `turn list` says of theSession.
func (h *home) view() View {
	h.Helper()
	views, bad := h.room.List()
	if len(bad) > 0 || len(views) != 1 {
		h.Fatalf("listed %d turns, %v", len(views), bad)
	}
	return views[0]
}

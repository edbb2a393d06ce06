package ident

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	// A child that starts a child of its own in a session of its own, which inherits stdin (the witness).
	helpers["parent"] = func() {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), helperVar+"=grandchild")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			say("start grandchild: %v", err)
			return
		}
		linger()
	}
	helpers["grandchild"] = func() {
		say("%d", os.Getpid())
		linger()
	}
	// A child that forks without exec, as a launch does in its first moment.
	helpers["fork"] = func() {
		pid, errno := forkWithoutExec()
		if errno != 0 {
			say("fork: %v", errno)
			return
		}
		say("%d", pid)
		linger()
	}
}

// forkWithoutExec leaves a copy of this process behind that only waits to be killed. In the copy no Go code may run
// but raw system calls: it has one thread and no scheduler.
//
//go:norace
//go:noinline
func forkWithoutExec() (int, syscall.Errno) {
	minute := &syscall.Timespec{Sec: 60}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(minute)), 0, 0, 0)
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return int(pid), errno
}

// orphan takes hold of a descendant that is to outlive its parent, and sees to its end.
type orphan struct{ pid, fd int }

func adopt(t *testing.T, pid int) orphan {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := orphan{pid, fd}
	t.Cleanup(func() { o.end(t); unix.Close(fd) })
	return o
}

// number reads a pid that a helper said.
func number(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(line)
	if err != nil || n <= 1 {
		t.Fatalf("helper said %q, not a pid", line)
	}
	return n
}

// end kills the orphan and waits until it has ended.
func (o orphan) end(t *testing.T) {
	t.Helper()
	unix.PidfdSendSignal(o.fd, unix.SIGKILL, nil, 0)
	poll := []unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 10_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Errorf("orphan %d does not end: %v", o.pid, err)
		}
		return
	}
}

func TestWitnessIsHeldByAGrandchildAfterTheChildsDeath(t *testing.T) {
	t.Parallel()
	c, line, path := startOnWitness(t, "parent")
	o := adopt(t, number(t, line))
	c.end()
	expectWitness(t, "child killed, grandchild runs", path, WitnessHeld)
	o.end(t)
	expectWitness(t, "grandchild killed", path, WitnessFree)
}

func TestWitnessIsHeldAcrossAForkWithoutExec(t *testing.T) {
	t.Parallel()
	c, line, path := startOnWitness(t, "fork")
	o := adopt(t, number(t, line))
	c.end()
	expectWitness(t, "parent killed, its fork never came to exec", path, WitnessHeld)
	o.end(t)
	expectWitness(t, "fork killed", path, WitnessFree)
}

func TestScanFindsChildAndGrandchildInItsOwnSession(t *testing.T) {
	t.Parallel()
	instance := NewInstance()
	c, line := start(t, "parent", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, InstanceVar+"="+instance)
	})
	o := adopt(t, number(t, line))
	expectTagged := func(when string, want ...int) {
		t.Helper()
		slices.Sort(want)
		tagged, err := ScanTagged()
		if err != nil {
			t.Fatal(err)
		}
		if got := tagged[instance]; !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", when, got, want)
		}
	}
	id, err := Of(c.Process.Pid, instance)
	if err != nil {
		t.Fatal(err)
	}
	expectTagged("both run", c.Process.Pid, o.pid)
	c.end()
	expectTagged("child killed", o.pid)

	got := Judge(Evidence{ID: id, Witness: WitnessFree, Trusted: true, Tagged: ScanTagged})
	if got.Verdict != Alive || !slices.Equal(got.PIDs, []int{o.pid}) {
		t.Errorf("dead by pid, with a tagged descendant: %+v", got)
	}
	o.end(t)
	expectTagged("both killed")
}

func TestScanLeavesOutTheScanner(t *testing.T) {
	t.Parallel()
	instance := NewInstance()
	c, line := start(t, "scan", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, InstanceVar+"="+instance)
	})
	if line != "0 tagged" {
		t.Errorf("a process that carries a tag, and scans, found: %s", line)
	}
	tagged, err := ScanTagged()
	if err != nil {
		t.Fatal(err)
	}
	if got := tagged[instance]; !slices.Equal(got, []int{c.Process.Pid}) {
		t.Errorf("others found %v, want %d", got, c.Process.Pid)
	}
}

func init() {
	helpers["scan"] = func() {
		tagged, err := ScanTagged()
		if err != nil {
			say("%v", err)
			return
		}
		say("%d tagged", len(tagged[os.Getenv(InstanceVar)]))
		linger()
	}
}

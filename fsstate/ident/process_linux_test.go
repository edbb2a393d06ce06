package ident

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const leaderHelper = "zombie-leader"

func init() {
	// The main goroutine runs on the leader thread only as long as it never left it.
	if os.Getenv(helperVar) == leaderHelper {
		runtime.LockOSThread()
	}
	// A process whose leader thread has exited while others work on. The raw exit ends the calling thread alone;
	// syscall.Syscall and not RawSyscall, so that the Go scheduler does not wait for it.
	helpers[leaderHelper] = func() {
		go func() {
			leader := strconv.Itoa(os.Getpid())
			for {
				line, _ := os.ReadFile("/proc/self/task/" + leader + "/stat")
				if st, err := parseStat(line, os.Getpid()); err == nil && st.state == 'Z' {
					break
				}
				runtime.Gosched()
			}
			say("ready")
			linger()
			os.Exit(0)
		}()
		syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// withoutPidfd plays an old kernel, or a sandbox that forbids it.
func withoutPidfd(errno unix.Errno) lookup {
	return func(pid int) (process, error) {
		return proc.look(pid, func(int, int) (int, error) { return -1, errno })
	}
}

// looks are the ways to look at a process, which must all say the same.
var looks = map[string]lookup{
	"pidfd":           look,
	"without pidfd":   withoutPidfd(unix.ENOSYS),
	"pidfd forbidden": withoutPidfd(unix.EPERM),
}

func expectCompare(t *testing.T, when string, id Ident, want Verdict) {
	t.Helper()
	for how, look := range looks {
		if got, why := compare(id, here(), look); got != want {
			t.Errorf("%s, %s: %v: %s, want %v", when, how, got, why, want)
		}
	}
}

func expectDone(t *testing.T, when string, pid int) {
	t.Helper()
	for how, look := range looks {
		if p, err := look(pid); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s, %s: %+v, %v, want os.ErrProcessDone", when, how, p, err)
		}
	}
}

func TestZombieIsDead(t *testing.T) {
	t.Parallel()
	c, _, witness := startOnWitness(t, "idle")
	id, err := Of(c.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	expectCompare(t, "running", id, Alive)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // until it is a zombie, and leave it one
		err := unix.Waitid(unix.P_PID, id.PID, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
	if st, err := proc.stat(id.PID); err != nil || st.state != 'Z' || st.start != id.Start {
		t.Fatalf("not a zombie: %+v, %v", st, err)
	}
	expectCompare(t, "zombie", id, Dead)
	expectDone(t, "zombie", id.PID)
	expectWitness(t, "zombie", witness, WitnessFree)
	c.end()
	expectCompare(t, "reaped", id, Dead)
	expectDone(t, "reaped", id.PID)
}

func TestZombieLeaderWithLivingThreadsIsAlive(t *testing.T) {
	t.Parallel()
	instance := NewInstance()
	c, _ := start(t, leaderHelper, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, InstanceVar+"="+instance)
	})
	st, err := proc.stat(c.Process.Pid)
	if err != nil || st.state != 'Z' {
		t.Fatalf("the leader is no zombie: %+v, %v", st, err)
	}
	id, err := Of(c.Process.Pid, instance)
	if err != nil {
		t.Fatal(err)
	}
	expectCompare(t, "threads live", id, Alive)
	tagged, err := ScanTagged()
	if err != nil {
		t.Fatal(err)
	}
	if pids := tagged[instance]; len(pids) != 1 || pids[0] != id.PID {
		t.Errorf("the scan found %v, want %d", pids, id.PID)
	}
	c.end()
	expectCompare(t, "killed", id, Dead)
}

func TestThreadIsNoProcess(t *testing.T) {
	t.Parallel()
	tids, stay := make(chan int), make(chan struct{})
	defer close(stay)
	for range 2 { // one of two locked threads is not the leader
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			tids <- unix.Gettid()
			<-stay
		}()
	}
	tid := <-tids
	if other := <-tids; tid == os.Getpid() {
		tid = other
	}
	st, err := proc.stat(tid) // /proc shows it like a process, with a start of its own
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(tid, 0); err != nil {
		t.Fatalf("kill(tid, 0): %v; the test is about a number that seems to live", err)
	}
	expectDone(t, "thread", tid)
	id, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	id.PID, id.Start = tid, st.start
	expectCompare(t, "thread with the recorded tick", id, Dead)
	if _, err := Of(tid, ""); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Of a thread: %v", err)
	}
}

func TestRecycledPidIsDeadHoweverItIsLookedAt(t *testing.T) {
	t.Parallel()
	id, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	expectCompare(t, "this process", id, Alive)
	id.Start--
	expectCompare(t, "another tick", id, Dead)
}

func TestTroubleOfOursIsNotDeath(t *testing.T) {
	t.Parallel()
	id, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENODEV, unix.EIO} {
		if got, why := compare(id, here(), withoutPidfd(errno)); got != Unknown {
			t.Errorf("pidfd_open: %v: %v: %s", errno, got, why)
		}
	}
}

// fakeProc is a proc file system with our own pid in it.
func fakeProc(t *testing.T, files map[string]string) procfs {
	t.Helper()
	root := t.TempDir()
	if err := os.Symlink(strconv.Itoa(os.Getpid()), filepath.Join(root, "self")); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return procfs(root)
}

func TestProcThatLiesOrHidesIsUnknown(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	self := strconv.Itoa(pid)
	status := "Name:\tx\nTgid:\t" + self + "\n"
	tests := map[string]map[string]string{
		"hidden":           {},
		"stat is broken":   {self + "/stat": "nonsense", self + "/status": status},
		"stat of another":  {self + "/stat": statLine(pid+1, "x", "S", "1", "5"), self + "/status": status},
		"stat is empty":    {self + "/stat": "", self + "/status": status},
		"status is broken": {self + "/stat": "", self + "/status": "Name:\tx\n"},
		"stat is a folder": {self + "/stat/x": "", self + "/status": status},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakeProc(t, files)
			for how, open := range map[string]func(int, int) (int, error){
				"pidfd":         unix.PidfdOpen,
				"without pidfd": func(int, int) (int, error) { return -1, unix.ENOSYS },
			} {
				got, err := p.look(pid, open)
				if err == nil || errors.Is(err, os.ErrProcessDone) {
					t.Errorf("%s: %+v, %v", how, got, err)
				}
			}
		})
	}
}

func TestProcOfAnotherPidNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	p := fakeProc(t, map[string]string{strconv.Itoa(pid) + "/stat": statLine(pid, "x", "S", "1", "5")})
	if got, err := p.look(pid, unix.PidfdOpen); err != nil || got.start != 5 {
		t.Fatalf("before: %+v, %v", got, err)
	}
	self := p.path("self")
	if err := os.Remove(self); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("1", self); err != nil {
		t.Fatal(err)
	}
	if got, err := p.look(pid, unix.PidfdOpen); err == nil || errors.Is(err, os.ErrProcessDone) {
		t.Errorf("look: %+v, %v", got, err)
	}
	if got, err := p.tagged(1); err == nil {
		t.Errorf("scan: %v", got)
	}
}

func TestScanPassesOverWhatIsGoneAndFailsWithoutATable(t *testing.T) {
	t.Parallel()
	p := fakeProc(t, map[string]string{
		"40/environ": "A=1\x00" + InstanceVar + "=aa\x00",
		"41/environ": "", // kernel thread
		"42/stat":    "", // gone before it was read
		"43/environ": InstanceVar + "=me\x00",
		// a leader that has exited
		"44/stat":            statLine(44, "x", "Z", "2", "5"),
		"44/environ":         "",
		"44/task/44/environ": "",
		"44/task/45/environ": InstanceVar + "=aa\x00",
		// no process
		"x/environ": InstanceVar + "=aa\x00",
	})
	got, err := p.tagged(43)
	if err != nil || len(got) != 1 || len(got["aa"]) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := procfs(filepath.Join(t.TempDir(), "missing")).tagged(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process table: %v", err)
	}
}

func init() {
	// What a process in namespaces of its own says about the identity that it is given.
	helpers["namespaced"] = func() {
		id, err := identFromEnv()
		if err != nil {
			say("%v", err)
			return
		}
		_, selfErr := Self("")
		at := here()
		say("%v pidns=%t timens=%t self=%t", Check(id), at.pidns == id.PIDNS, at.timens == id.TimeNS, selfErr == nil)
	}
}

const identVar = "IDENT_TEST_IDENT"

func identFromEnv() (id Ident, err error) {
	fields := strings.Fields(os.Getenv(identVar))
	id.PID, _ = strconv.Atoi(fields[0])
	id.Start, _ = strconv.ParseInt(fields[1], 10, 64)
	id.BootID = fields[2]
	id.PIDNS, _ = strconv.ParseUint(fields[3], 10, 64)
	id.TimeNS, err = strconv.ParseUint(fields[4], 10, 64)
	return id, err
}

// askNamespaced starts a helper in other namespaces and asks it about a process of ours.
func askNamespaced(t *testing.T, attr *syscall.SysProcAttr) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make namespaces everywhere")
	}
	id, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), helperVar+"=namespaced", identVar+"="+strings.Join([]string{
		strconv.Itoa(id.PID), strconv.FormatInt(id.Start, 10), id.BootID,
		strconv.FormatUint(id.PIDNS, 10), strconv.FormatUint(id.TimeNS, 10),
	}, " "))
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		t.Skipf("this system makes no such namespace: %v", err)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Without a mount of its own, /proc of a new pid namespace shows the parent's processes.
func TestAnotherPidNamespaceSaysUnknown(t *testing.T) {
	t.Parallel()
	got := askNamespaced(t, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID})
	if want := "UNKNOWN pidns=false timens=true self=false"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnotherTimeNamespaceSaysUnknown(t *testing.T) {
	t.Parallel()
	got := askNamespaced(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWTIME})
	if strings.Contains(got, "timens=true") {
		t.Skip("this kernel does not enter a time namespace at exec")
	}
	if want := "UNKNOWN pidns=true timens=false self=true"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A script counts its start before it tells its pid: who is known may be killed.
const oneService = `
[[service]]
name = "web"
command = ["sh", "-c", "echo >>DIR/starts; echo $$$$ >DIR/web; exec sleep 300"]
`

func TestAppThatQuitsLeavesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, oneService)
	a := u.start()
	a.shows("web running")
	a.shows("ready")
	_ = a.button.Close()
	a.shows("stopping")
	a.shows("web stopped")
	if code := a.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	u.allGone()
}

// The turn is one that run continues, by a keeper of its own: it is the supervisor's whole tree that must go.
func TestAppThatIsKilledLeavesNothingButItsOpenTurn(t *testing.T) {
	t.Parallel()
	u := newUser(t, oneService+`
[agent.worker]
command = ["sh", "-c", "echo >>DIR/runs; echo $$ >DIR/agent; test -e DIR/go || exec sleep 300"]
[auto_continue]
backoff = "1ms"
`)
	keeper := u.supervised("turn", "run", "--session", "job", "--prompt", "long job", "--agent", "worker")
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	u.signal(syscall.SIGKILL, keeper.Process.Pid, u.pid("agent"))
	_ = keeper.Wait()
	a := u.start()
	web := u.pid("web")
	u.until("the turn is continued", func() bool { return u.lines("runs") == 2 })
	for _, pid := range u.alive() {
		if pid != a.cmd.Process.Pid && pid != a.supervisor && holds(pid, inode(a.supervisor, 0)) {
			t.Errorf("process %d has inherited the app's pipe", pid)
		}
	}
	if stdin, _ := os.Readlink("/proc/" + strconv.Itoa(web) + "/fd/0"); !strings.Contains(stdin, "/supervisor/run/") {
		t.Errorf("the stdin of the service is %s, and not its witness", stdin)
	}
	u.signal(syscall.SIGKILL, a.cmd.Process.Pid)
	_ = a.ends()
	u.until("the service is gone", func() bool { return syscall.Kill(web, 0) != nil })
	// The turn has 20 s to finish. This is what cuts it short; the first is one sign more of the app's end, and kills nothing.
	for range 2 {
		u.signal(syscall.SIGTERM, a.supervisor)
		time.Sleep(150 * time.Millisecond) // within 100 ms it would be one signal
	}
	u.allGone()
	if list, err := u.supervised("turn", "list").CombinedOutput(); err != nil || !strings.HasPrefix(string(list), "job\t") {
		t.Fatalf("the turn is not open any more: %v\n%s", err, list)
	}

	if err := os.WriteFile(u.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a = u.start()
	u.until("the turn is continued to its end", func() bool {
		list, err := u.supervised("turn", "list").CombinedOutput()
		return err == nil && len(list) == 0
	})
	if n := u.lines("runs"); n != 3 {
		t.Errorf("the agent ran %d times", n)
	}
	_ = a.button.Close()
	a.ends()
	u.allGone()
}

// inode names what a descriptor of a process is, as /proc writes it.
func inode(pid, fd int) string {
	name, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd))
	return name
}

func holds(pid int, name string) bool {
	for fd := range 64 {
		if name != "" && inode(pid, fd) == name {
			return true
		}
	}
	return false
}

func TestAppThatHangsChangesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, oneService+"stop_timeout = \"20s\"\n[restart]\nstorm_starts = 1000\n")
	a := u.start()
	a.shows("ready")
	u.signal(syscall.SIGSTOP, a.cmd.Process.Pid)
	before := u.pid("web")
	u.signal(syscall.SIGKILL, before)
	u.until("the service is started again", func() bool { return u.lines("starts") == 2 && u.pid("web") != before })
	u.signal(syscall.SIGCONT, a.cmd.Process.Pid)
	a.shows("web running")
	_ = a.button.Close()
	if code := a.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	u.allGone()
}

func TestSupervisorThatIsKilledLeavesItsServicesToTheNextStart(t *testing.T) {
	t.Parallel()
	u := newUser(t, oneService)
	a := u.start()
	a.shows("ready")
	before := u.pid("web")
	u.signal(syscall.SIGKILL, a.supervisor)
	if code := a.ends(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for range 2 { // also where there is nothing to tell of the service but that it is there
		a = u.start()
		a.shows("ready")
		if u.pid("web") != before || u.lines("starts") != 1 {
			t.Error("the service was started again")
		}
		u.signal(syscall.SIGKILL, a.supervisor)
		a.ends()
	}
	a = u.start()
	a.shows("ready")
	_ = a.button.Close()
	a.ends()
	u.allGone()
}

// A laptop's sleep, as far as a test can have one: everything stands still for longer than every limit. The sleep here is
// the test's subject.
func TestTreeThatStoodStillHasNotCrashed(t *testing.T) {
	t.Parallel()
	const still = 3 * time.Second
	u := newUser(t, `
[[service]]
name = "web"
command = ["sh", "-c", "echo >>DIR/starts; echo $$$$ >DIR/web; while :; do touch DIR/beat; echo >>DIR/beats; sleep 0.1; done"]
health = { heartbeat = "DIR/beat", max_age = "1s", interval = "500ms", timeout = "500ms", failures = 1 }

[[service]]
name = "slow"
command = ["sh", "-c", "echo >>DIR/starts; echo $$$$ >DIR/slow; until test -e DIR/go; do sleep 0.1; done; touch DIR/ready; exec sleep 300"]
ready = { file = "DIR/ready", deadline = "2s" }
`)
	a := u.start()
	a.shows("web running")
	pids := []int{a.supervisor, u.pid("web"), u.pid("slow")}
	u.signal(syscall.SIGSTOP, pids...)
	time.Sleep(still)
	beats := u.lines("beats")
	u.signal(syscall.SIGCONT, pids...)
	if err := os.WriteFile(u.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.shows("slow running")
	a.shows("ready")
	u.until("the next checks have been made", func() bool { return u.lines("beats") > beats+15 })
	if n := u.lines("starts"); n != 2 {
		t.Errorf("2 services were started %d times", n)
	}
	_ = a.button.Close()
	a.ends()
	u.allGone()
}

// What stands still with its supervisor in the middle of a stop has its whole grace afterwards.
func TestStopThatStoodStillIsNotCutShort(t *testing.T) {
	t.Parallel()
	u := newUser(t, `
[[service]]
name = "web"
command = ["sh", "-c", "trap 'touch DIR/asked; until test -e DIR/save; do sleep 0.05; done; sleep 0.5; touch DIR/saved; exit 0' TERM; echo $$$$ >DIR/web; while :; do sleep 0.05; done"]
stop_timeout = "2s"
`)
	a := u.start()
	web := u.pid("web")
	a.shows("ready")
	_ = a.button.Close()
	u.until("the service is asked to stop", func() bool { return u.exists("asked") })
	u.signal(syscall.SIGSTOP, a.supervisor, web)
	time.Sleep(3 * time.Second) // the sleep of the machine
	u.signal(syscall.SIGCONT, a.supervisor, web)
	if err := os.WriteFile(u.file("save"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := a.ends(); code != 0 || !u.exists("saved") {
		t.Errorf("exit code %d, the service has ended in its own way: %v", code, u.exists("saved"))
	}
	u.allGone()
}

func TestTurnThatStoodStillHasNotStalled(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	keeper := u.supervised("turn", "run", "--session", "job", "--prompt", "long job", "--stall", "2s", "--", "sh", "-c",
		"echo >>"+u.file("runs")+"; echo $$ >"+u.file("agent")+"; until test -e "+u.file("go")+"; do sleep 0.05; done; sleep 1; echo done")
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	agent := u.pid("agent")
	u.signal(syscall.SIGSTOP, keeper.Process.Pid, agent)
	time.Sleep(3 * time.Second) // the sleep of the machine
	if err := os.WriteFile(u.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.signal(syscall.SIGCONT, keeper.Process.Pid, agent)
	if err := keeper.Wait(); err != nil || u.lines("runs") != 1 {
		t.Errorf("%v after %d runs of the agent", err, u.lines("runs"))
	}
}

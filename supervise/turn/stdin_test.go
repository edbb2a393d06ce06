//go:build linux

package turn

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-supervisor/policy"
)

// What an agent does with its stdin, which is its witness, and what its descendants do: with the keeper dead, the
// session is taken as long as any of them lives, and then the turn is continued once.

func init() {
	// The main goroutine runs on the leader thread only as long as it never left it.
	if len(os.Args) > 1 && os.Args[1] == "leaderless" {
		runtime.LockOSThread()
	}
	parts["leaderless"] = playLeaderless
}

// playLeaderless is an agent whose leader thread has ended while others work on. The raw exit ends the calling thread
// alone.
func playLeaderless(args []string) int {
	go func() {
		untilZombie(os.Getpid())
		playAgent(args[1:]) // the first says "agent", as for any other
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	return 0
}

func untilZombie(pid int) {
	for procState(pid) != 'Z' {
		runtime.Gosched()
	}
}

func TestWhateverAgentsDoWithTheirStdin(t *testing.T) {
	t.Parallel()
	const agent = `"$0" "$@"` // the agent's command line
	for name, c := range map[string]struct {
		script string // of a shell that becomes the agent; "": the agent itself
		steps  []string
		tool   string // of a shell that becomes a descendant of the agent and is there until ./go is
	}{
		"kept":                                    {},
		"read to its end":                         {steps: []string{"read"}},
		"closed":                                  {script: `exec ` + agent + ` <&-`},
		"replaced by the null device":             {steps: []string{"closestdin"}},
		"replaced by a pipe":                      {script: `mkfifo ./pipe 2>/dev/null; exec ` + agent + ` 0<>./pipe`},
		"replaced by a file":                      {script: `exec ` + agent + ` <"$0"`},
		"moved to another number":                 {script: `exec env -u HERMES_SUPERVISOR_INSTANCE ` + agent + ` 5<&0 </dev/null`},
		"its lock is taken anew":                  {script: `exec 5<"/proc/self/fd/0"; flock -n 5; exec ` + agent},
		"kept by a tool":                          {tool: `exec setsid "$0" "$@" <&3`},
		"kept by a tool without its environment":  {tool: `exec env -i setsid "$0" "$@" <&3`},
		"moved by a tool without its environment": {tool: `exec env -i setsid "$0" "$@" 7<&3 </dev/null`},
		"closed by a tool":                        {tool: `exec setsid "$0" "$@" 3<&- </dev/null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			steps := append(slices.Clone(c.steps), "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3")
			call := h.run("prompt", steps...)
			command := call.Request.Agent.Command
			if c.tool != "" {
				// The tool is started by a shell, which then becomes the agent.
				tool := shellWords(h.program("touch", "./tool", "await", "./go"))
				c.script = fmt.Sprintf(`if test ! -e %q; then exec 3<&0; /bin/sh -c '%s' %s & exec 3<&-; until test -e %q; do sleep 0.01; done; fi; exec %s`,
					h.file("tool"), c.tool, tool, h.file("tool"), agent)
			}
			if c.script != "" {
				call.Request.Agent.Command = append([]string{"/bin/sh", "-c", c.script}, command...)
			}
			k := h.start(call)
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			h.wantLook(here, alive, alive, alive, alive)
			k.kill()
			if v := h.view(); v.Keeper.Verdict != dead || v.Owner.Verdict != alive {
				t.Errorf("keeper %v: %s; owner %v: %s", v.Keeper.Verdict, v.Keeper.Why, v.Owner.Verdict, v.Owner.Why)
			}
			h.refused(here, call, policy.ReasonOwnerAlive)
			h.killPID(h.started(1))
			if c.tool != "" {
				h.refused(here, call, policy.ReasonOwnerAlive)
				h.touch("go")
			}
			h.until("the owner is dead", func() bool { return h.view().Owner.Verdict == dead })
			if o := h.start(call).want(Concluded, policy.ReasonHandledError, 3); o.Attempts != 1 {
				t.Errorf("attempts %d", o.Attempts)
			}
			h.ran(2)
			h.noMarker()
		})
	}
}

// shellWords quotes a command line for a shell.
func shellWords(argv []string) string {
	return "'" + strings.Join(argv, "' '") + "'" // no test's folder has a quote in it
}

func TestZombieLeaderWithLivingThreadsIsAlive(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"keeper killed": true, "keeper alive": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "closestdin", "once", "./first", "touch", "./here", "await", "./go", "exit", "5", "else", "exit", "3")
			argv := c.Request.Agent.Command
			c.Request.Agent.Command = append([]string{argv[0], "leaderless"}, argv[1:]...)
			k := h.start(c)
			agent := h.started(1)
			t.Cleanup(func() {
				if !gone(agent) {
					_ = syscall.Kill(agent, syscall.SIGKILL)
				}
			})
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			if procState(agent) != 'Z' || h.mustTurn().Owner.PID != agent {
				t.Fatalf("the leader is in state %c", procState(agent))
			}
			h.wantLook(here, alive, alive, alive, alive)
			if !killed {
				h.touch("go")
				k.want(Concluded, policy.ReasonHandledError, 5)
				h.ran(1)
				return
			}
			k.kill()
			h.wantLook(here, dead, dead, alive, alive)
			h.refused(here, c, policy.ReasonOwnerAlive)
			h.killPID(agent)
			h.wantLook(here, dead, dead, dead, dead)
			h.start(c).want(Concluded, policy.ReasonHandledError, 3)
			h.ran(2)
		})
	}
}

func TestThreadInPlaceOfAProcessIsDead(t *testing.T) {
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
	h := newHome(t)
	m := h.interrupted("prompt")
	id := m.Owner
	id.PID, id.Start = tid, startOf(t, tid)
	m.Owner, m.Keeper = id, id
	h.put(m, testKey)
	if err := syscall.Kill(tid, 0); err != nil {
		t.Fatalf("kill(tid, 0): %v; the test is about a number that seems to live", err)
	}
	h.wantLook(here, dead, dead, dead, dead)
	h.start(h.run("", "exit", "3")).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(1)
}

// startOf is the start tick in the stat line of a process or thread whose name has no parenthesis.
func startOf(t *testing.T, tid int) int64 {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		t.Fatal(err)
	}
	start, err := strconv.ParseInt(fieldsAfterName(line)[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

//go:build linux

package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// mountVar is what a part of the test binary does to /proc, in a mount namespace of its own, before it plays:
// "hide", or the file that takes the place of /proc/stat. The test's processes cannot do that before they begin, since
// the race detector reads /proc then.
const mountVar = "TURN_TEST_MOUNT"

func init() {
	parts["look"] = playLook
	parts["interrupt"] = playInterrupt
	if len(os.Args) < 2 || os.Args[1] != "keeper" && os.Args[1] != "look" {
		return
	}
	var err error
	switch mount := os.Getenv(mountVar); mount {
	case "":
	case "hide":
		err = unix.Mount("none", "/proc", "tmpfs", 0, "")
	default:
		err = unix.Mount(mount, "/proc/stat", "", unix.MS_BIND, "")
	}
	_ = os.Unsetenv(mountVar)
	must(0, err)
}

// looked is one open turn as another process sees it.
type looked struct {
	KeeperPID, OwnerPID string // by pid alone
	Keeper, Owner       string
	KeeperWhy, OwnerWhy string
	Stat                string // what this process reads as /proc/stat
}

func playLook(args []string) int {
	at := fsstate.Home{Path: args[0], Root: args[0]}
	room := &Room{Store: must(fsstate.Open(at, fsstate.Options{})), Key: testKey}
	views, bad := room.List()
	if len(views) != 1 || len(bad) > 0 {
		must(0, fmt.Errorf("listed %d turns, %v", len(views), bad))
	}
	v := views[0]
	stat, _ := os.ReadFile("/proc/stat")
	must(0, json.NewEncoder(os.Stdout).Encode(looked{
		KeeperPID: ident.Check(v.Turn.Keeper).String(), OwnerPID: ident.Check(v.Turn.Owner).String(),
		Keeper: v.Keeper.Verdict.String(), Owner: v.Owner.Verdict.String(),
		KeeperWhy: v.Keeper.Why, OwnerWhy: v.Owner.Why, Stat: string(stat),
	}))
	return 0
}

func playInterrupt(args []string) int {
	at := fsstate.Home{Path: args[0], Root: args[0]}
	room := &Room{Store: must(fsstate.Open(at, fsstate.Options{})), Key: testKey}
	must(room.Interrupt(context.Background(), theSession, time.Second))
	return 0
}

// world is where a process of a test runs.
type world struct {
	unshare []string // flags of unshare(1); nil: here
	mount   string   // see mountVar
}

var (
	here       = world{}
	anotherPID = world{unshare: []string{"--pid", "--fork", "--mount-proc", "--kill-child"}}
	// Time since boot and the start ticks of processes are 1,000 s more there.
	anotherTime = world{unshare: []string{"--time", "--boottime", "1000", "--fork", "--kill-child"}}
	noProc      = world{unshare: []string{"--mount"}, mount: "hide"}
)

// command is a part of the test binary in a world; it skips the test where that cannot be made.
func (w world) command(t *testing.T, part string, args ...string) *exec.Cmd {
	t.Helper()
	argv := append([]string{testBinary(t), part}, args...)
	if w.unshare != nil {
		enter := append([]string{"unshare"}, w.unshare...)
		if os.Geteuid() != 0 {
			enter = append(enter, "--user", "--map-root-user")
		}
		if said, err := exec.Command(enter[0], append(enter[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", strings.Join(enter, " "), err, said)
		}
		argv = append(enter, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if w.mount != "" {
		cmd.Env = append(os.Environ(), mountVar+"="+w.mount)
	}
	return cmd
}

// look is what a process in a world says of the only turn.
func (h *home) look(w world) looked {
	h.Helper()
	cmd := w.command(h.T, "look", h.room.Store.Home().Path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		h.Fatal(err)
	}
	var l looked
	if err := json.Unmarshal(out, &l); err != nil {
		h.Fatal(err)
	}
	return l
}

func (h *home) wantLook(w world, keeperPID, keeper, ownerPID, owner ident.Verdict) {
	h.Helper()
	l := h.look(w)
	if l.KeeperPID != keeperPID.String() || l.Keeper != keeper.String() || l.OwnerPID != ownerPID.String() || l.Owner != owner.String() {
		h.Errorf("keeper %s by pid, %s (%s); owner %s by pid, %s (%s); want %v, %v; %v, %v",
			l.KeeperPID, l.Keeper, l.KeeperWhy, l.OwnerPID, l.Owner, l.OwnerWhy, keeperPID, keeper, ownerPID, owner)
	}
}

// refused runs a second keeper in a world.
func (h *home) refused(w world, c call, reason policy.Reason) {
	h.Helper()
	before := h.state()
	h.startCmd(w.command(h.T, "keeper"), c).want(Refused, reason, 0)
	h.unchanged(before)
}

// keepers are the living keepers of this home, by the numbers that they have here.
func (h *home) keepers() []int {
	h.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		h.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		argv, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(argv), "\x00keeper\x00") || strings.Count(string(argv), "\x00") != 2 {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if err != nil || !strings.Contains(string(env), h.dir+"/") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && !gone(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

const (
	alive   = ident.Alive
	dead    = ident.Dead
	unknown = ident.Unknown
)

// between starts a turn in one world and judges it from another: what a pid says there, the witness settles.
func between(t *testing.T, in, from world, byPID [2]ident.Verdict) {
	t.Helper()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "await", "./go", "kill", "9", "else", "exit", "3")
	part := "keeper"
	if slices.Contains(in.unshare, "--pid") {
		part = "init" // with the first process of a pid namespace all others of it die
	}
	h.startCmd(in.command(t, part), c)
	h.started(1)
	h.launched()
	keeper, agent := h.keepers(), h.agents()
	if len(keeper) != 1 || len(agent) != 1 {
		t.Fatalf("keepers %v, agents %v", keeper, agent)
	}
	h.wantLook(from, byPID[0], alive, byPID[0], alive)
	h.refused(from, c, policy.ReasonKeeperAlive)
	h.killPID(keeper[0])
	h.wantLook(from, byPID[1], dead, byPID[0], alive)
	h.refused(from, c, policy.ReasonOwnerAlive)
	h.killPID(agent[0])
	h.wantLook(from, byPID[1], dead, byPID[1], dead)
	if o := h.startCmd(from.command(t, "keeper"), c).want(Concluded, policy.ReasonHandledError, 3); o.Attempts != 1 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.ran(2)
	h.noMarker()
}

func TestAnotherPIDNamespaceIsSettledByTheWitness(t *testing.T) {
	t.Parallel()
	t.Run("seen from outside", func(t *testing.T) {
		t.Parallel()
		between(t, anotherPID, here, [2]ident.Verdict{unknown, unknown})
	})
	t.Run("seen from inside", func(t *testing.T) {
		t.Parallel()
		between(t, here, anotherPID, [2]ident.Verdict{unknown, unknown})
	})
}

func TestAnotherTimeNamespaceShiftsNoVerdict(t *testing.T) {
	t.Parallel()
	t.Run("seen from outside", func(t *testing.T) {
		t.Parallel()
		between(t, anotherTime, here, [2]ident.Verdict{unknown, dead})
	})
	t.Run("seen from inside", func(t *testing.T) {
		t.Parallel()
		between(t, here, anotherTime, [2]ident.Verdict{unknown, dead})
	})
}

func TestAgentWithoutStdinInAnotherTimeNamespaceIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "closestdin", "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3")
	k := h.start(c)
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	k.kill()
	h.wantLook(here, dead, dead, alive, alive)
	h.wantLook(anotherTime, dead, dead, unknown, alive) // the pid proves nothing there, and its output is still held
	h.refused(anotherTime, c, policy.ReasonOwnerAlive)
	h.killPID(h.started(1))
	h.startCmd(anotherTime.command(t, "keeper"), c).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(2)
}

func TestAnotherBootIDUnderALiveTurnIsSettledByTheWitness(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3")
	k := h.start(c)
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	m := h.mustTurn()
	m.Owner.BootID, m.Keeper.BootID = "another boot", "another boot"
	h.put(m, testKey)
	h.wantLook(here, unknown, alive, unknown, alive)
	h.refused(here, c, policy.ReasonKeeperAlive)
	k.kill()
	h.wantLook(here, unknown, dead, unknown, alive)
	h.refused(here, c, policy.ReasonOwnerAlive)
	h.killPID(h.started(1))
	h.wantLook(here, unknown, dead, unknown, dead)
	witness := h.room.Store.Path(fsstate.Run, m.Owner.Instance+".in")
	if err := os.Rename(witness, witness+".away"); err != nil {
		t.Fatal(err)
	}
	h.wantLook(here, unknown, dead, unknown, unknown)
	h.refused(here, c, policy.ReasonOwnerUnknown)
	if err := os.Rename(witness+".away", witness); err != nil {
		t.Fatal(err)
	}
	h.start(c).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(2)
}

func TestInterruptInAnotherTimeNamespaceStopsWhoHadStartedAndNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	gated := h.run("prompt")
	gated.Gate = h.file("gate")
	k := h.start(gated)
	h.until("the keeper waits", func() bool { return h.exists("gate.ready") })
	if said, err := anotherTime.command(t, "interrupt", h.room.Store.Home().Path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	h.touch("gate")
	k.want(Interrupted, policy.ReasonStopRequested, 130)
	h.start(h.run("prompt")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestProcThatCannotBeReadProvesNoDeath(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3")
	k := h.start(c)
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	cannotRun := func() {
		t.Helper()
		before := h.state()
		r := h.startCmd(noProc.command(t, "keeper"), c).wait()
		if r.Err == "" || strings.Contains(r.Err, "\n") || !strings.Contains(r.Err, "/proc") {
			t.Errorf("a keeper without /proc: %+v", r)
		}
		h.unchanged(before)
	}
	h.wantLook(noProc, unknown, alive, unknown, alive)
	cannotRun()
	k.kill()
	h.wantLook(noProc, unknown, dead, unknown, alive)
	h.killPID(h.started(1))
	h.wantLook(noProc, unknown, dead, unknown, unknown) // nothing could be searched for its tag
	cannotRun()
	h.start(c).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(2)
}

func (h *home) signalPID(pid int, s syscall.Signal) {
	h.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		h.Fatalf("signal %v to %d: %v", s, pid, err)
	}
}

//go:build linux

package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	"hermes-supervisor/supervise/process"
)

func TestPromptReachesTheAgentWhole(t *testing.T) {
	t.Parallel()
	const prompt = "line\n\"quoted\" $(no shell) {{session}} {{attempt}} ünïcode ]\ttab "
	for name, tail := range map[string][]string{
		"by stdin": {"read"},
		"by argv":  {"say", "{{prompt}}"},
		"by file":  {"say", "@{{prompt_file}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run(prompt, tail...)
			h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
			if got := append(h.texts("prompt"), h.texts("said")...); len(got) != 1 || got[0] != prompt {
				t.Errorf("the agent got %q", got)
			}
			left, err := h.room.Store.List(fsstate.Run)
			if err != nil || len(left) > 0 {
				t.Errorf("left in run/: %v, %v", left, err)
			}
		})
	}
}

func TestAgentIsToldWhereItIs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt")
	c.Request.Agent.Env = map[string]string{"OF_THE_PRESET": "1", AttemptVar: "not this"}
	c.Request.Agent.Unset = []string{"GORACE"}
	c.Request.Agent.Command = []string{"/bin/sh", "-c", fmt.Sprintf("env >%q; pwd >%q", h.file("env"), h.file("pwd"))}
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	env := "\n" + h.read("env")
	for _, want := range []string{
		homeVar + "=" + h.room.Store.Home().Path, SessionVar + "=" + theSession, AttemptVar + "=0", "OF_THE_PRESET=1", ident.InstanceVar + "=",
	} {
		if !strings.Contains(env, "\n"+want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if strings.Contains(env, "\nGORACE=") {
		t.Error("what the preset scrubs is still there")
	}
	if got := strings.TrimSpace(h.read("pwd")); got != h.dir {
		t.Errorf("started in %s", got)
	}
}

func TestMarkerThatIsGoneOrBrokenIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"broken":  func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			k := h.start(h.run("prompt", "await", "./go"))
			h.started(1)
			h.launched()
			want := *h.mustTurn()
			if err := damage(h.markerPath()); err != nil {
				t.Fatal(err)
			}
			h.until("the marker is back", func() bool {
				m, err := h.room.files().Get(theSession)
				return err == nil && m.Owner == want.Owner && m.Prompt == want.Prompt && m.Verified
			})
			h.start(h.run("another")).want(Refused, policy.ReasonKeeperAlive, 0)
			h.touch("go")
			k.want(Concluded, policy.ReasonSucceeded, 0)
			h.noMarker()
			h.ran(1)
		})
	}
}

func TestKeeperWhoseTurnWasTakenEndsItsAgentAndWritesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "touch", "./here", "await", "never"))
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	m := h.mustTurn()
	m.Keeper, m.Owner = h.dead(), h.dead() // as a keeper of another machine's would, that took the session by force
	h.put(m, testKey)
	marker, err := os.ReadFile(h.markerPath())
	if err != nil {
		t.Fatal(err)
	}
	k.want(Refused, policy.ReasonTaken, 0)
	if !gone(h.started(1)) {
		t.Error("its agent works on")
	}
	if now, err := os.ReadFile(h.markerPath()); err != nil || string(now) != string(marker) {
		t.Errorf("the marker now reads %s, %v", now, err)
	}
}

func TestAgentsWritesToItsMarkerAreNotBelieved(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "read", "once", "./first", "await", "./go", "kill", "9"))
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	h.launched()
	m := h.mustTurn()
	m.Prompt, m.Attempts, m.Verified = "do evil", -5, false
	h.put(m, testKey)
	h.touch("go")
	if o := k.want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.wantContinuation(h.texts("prompt")[1], "prompt")
}

func TestStopRequestExpires(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	started := Now()
	if err := h.room.leaveStopMark(theSession, nil); err != nil {
		t.Fatal(err)
	}
	if asked, err := h.room.stopAsked(theSession, "any prompt", started); !asked || err != nil {
		t.Errorf("asked %v, %v", asked, err)
	}
	if asked, err := h.room.stopAsked(theSession, "any prompt", Now()); asked || err != nil {
		t.Errorf("a keeper that starts later: asked %v, %v", asked, err)
	}
	old := Now()
	old.Uptime -= 2 * stopLife
	raw, _ := json.Marshal(stopMark{Session: theSession, Moment: old})
	data, _ := fsstate.Document{"version": json.RawMessage("1"), "stop": raw}.Encode()
	for _, content := range [][]byte{data, []byte("{")} {
		if err := h.room.Store.Write(fsstate.Requests, stopFile(theSession, ""), content); err != nil {
			t.Fatal(err)
		}
		started.Uptime = 0
		if asked, err := h.room.stopAsked(theSession, "any prompt", started); asked || err != nil {
			t.Errorf("%s: asked %v, %v", content, asked, err)
		}
		if _, err := os.Stat(h.room.Store.Path(fsstate.Requests, stopFile(theSession, ""))); err == nil {
			t.Error("a request that means nothing is kept")
		}
	}
}

func TestResumableAreTheDeadAndTheGivenUp(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for session, reason := range map[string]policy.Reason{
		"stale": policy.ReasonStale, "exhausted": policy.ReasonAttemptsExhausted, "cleared": policy.ReasonCleared, "replaced": policy.ReasonOtherPrompt,
	} {
		h.interrupted(session, func(m *fsstate.Turn) { m.Session = session })
		m, err := h.room.files().Get(session)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.room.archive(m, reason); err != nil {
			t.Fatal(err)
		}
	}
	h.interrupted("dead", func(m *fsstate.Turn) { m.Session = "dead" })
	self, err := ident.Self("")
	if err != nil {
		t.Fatal(err)
	}
	h.interrupted("alive", func(m *fsstate.Turn) { m.Session, m.Owner = "alive", self })
	sessions, bad := h.room.Resumable()
	if len(bad) > 0 || len(sessions) != 3 {
		t.Fatalf("resumable %v, %v", sessions, bad)
	}
	for _, s := range sessions {
		if s != "stale" && s != "exhausted" && s != "dead" {
			t.Errorf("%s is resumable", s)
		}
	}
}

// A run that is refused, or lets a profile go, closes what a sweep beside it works on.
func TestSweepOfAHomeThatWasLetGoTellsNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var said strings.Builder
	h.room.Log = slog.New(slog.NewTextHandler(&said, nil))
	if err := h.room.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if removed := h.room.Sweep(t.Context(), time.Now()); removed != 0 || said.Len() > 0 {
		t.Errorf("%d removed, %s", removed, said.String())
	}
}

func TestSweepSparesWhatIsNamedHeldOrYoung(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	open, ended := h.interrupted("prompt"), ident.NewInstance()
	h.interrupted("ended", func(m *fsstate.Turn) { m.Session, m.Owner.Instance = "ended", ended })
	m, err := h.room.files().Get("ended")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.room.archive(m, policy.ReasonStale); err != nil {
		t.Fatal(err)
	}
	keep := []string{open.Owner.Instance, open.Keeper.Instance, ended}
	for _, instance := range keep {
		h.freeWitness(instance)
	}
	held := ident.NewInstance()
	w, err := h.room.Store.NewWitness(held, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	nobody := ident.NewInstance()
	h.freeWitness(nobody)
	h.room.Sweep(t.Context(), time.Now())
	if _, err := os.Stat(h.room.Store.Path(fsstate.Run, nobody+".in")); err != nil {
		t.Error("a young file was swept: its marker may be about to be written")
	}
	h.room.Sweep(t.Context(), time.Now().Add(2*time.Hour))
	if _, err := os.Stat(h.room.Store.Path(fsstate.Run, nobody+".in")); err == nil {
		t.Error("nobody needs it, and it is still there")
	}
	for _, instance := range append(keep, held) {
		if _, err := os.Stat(h.room.Store.Path(fsstate.Run, instance+".in")); err != nil {
			t.Errorf("swept: %v", err)
		}
	}
	h.room.Sweep(t.Context(), time.Now().Add(8*24*time.Hour))
	if len(h.ended()) > 0 {
		t.Error("ended/ is kept longer than its time")
	}
	h.mustTurn()
}

// TestSweepSparesALockThatCannotBeLookedAt: what nobody can tell of may be held by an agent whose marker is lost.
func TestSweepSparesALockThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	if os.Getuid() <= 0 {
		t.Skip("root, and Windows, may read any file")
	}
	h := newHome(t)
	held := ident.NewInstance()
	w, err := h.room.Store.NewWitness(held, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	path := h.room.Store.Path(fsstate.Run, held+".in")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	h.room.Sweep(t.Context(), time.Now().Add(2*time.Hour))
	if _, err := os.Stat(path); err != nil {
		t.Errorf("swept: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKeeperWaitsForTheAgentOfADeadKeeper(t *testing.T) {
	t.Parallel()
	if !kernelTellsExits(t) {
		t.Skip("this kernel does not tell a stranger how a process ended (Linux 6.15 does)")
	}
	for name, c := range map[string]struct {
		steps  []string
		reason policy.Reason
		code   int
		runs   int
	}{
		"and sees it succeed": {[]string{"print", "done"}, policy.ReasonSucceeded, 0, 1},
		"and sees it fail":    {[]string{"exit", "3"}, policy.ReasonHandledError, 3, 1},
		"and sees it die":     {[]string{"kill", "9"}, policy.ReasonSucceeded, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			first := h.run("prompt", append([]string{"once", "./first", "await", "./go"}, c.steps...)...)
			h.startAs("init", first) // the kernel tells a stranger how a process ended once it has been reaped
			h.started(1)
			h.launched()
			h.killPID(h.mustTurn().Keeper.PID)
			first.Request.Wait = patience
			waiting := h.start(first)
			h.until("it has a handle of the agent", func() bool {
				return strings.Contains(waiting.said(), "waiting for the agent") && watches(waiting.cmd.Process.Pid, h.started(1))
			})
			h.touch("go")
			waiting.want(Concluded, c.reason, c.code)
			h.ran(c.runs)
			h.noMarker()
		})
	}
}

// watches tells whether one process has a pidfd of another.
func watches(watcher, pid int) bool { return fdSays(watcher, fmt.Sprintf("\nPid:\t%d\n", pid)) }

// fdSays tells whether the kernel says something of one of a process's descriptors.
func fdSays(pid int, text string) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(file string) bool {
		info, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(info), text)
	})
}

func kernelTellsExits(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, told := process.ExitStatus(fd)
	return told
}

// The turn goes, and a call that has waited for it would begin the same prompt anew.
func TestInterruptEndsATurnForACallThatWaitsForItToo(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(h *home, k *keeper){
		"by a command, its keeper dead": func(h *home, k *keeper) {
			k.kill()
			if in, err := h.room.Interrupt(h.Context(), theSession, patience); err != nil || !in.Ended {
				h.Fatalf("%+v, %v", in, err)
			}
		},
		"by a command": func(h *home, _ *keeper) {
			if in, err := h.room.Interrupt(h.Context(), theSession, patience); err != nil || !in.Ended {
				h.Fatalf("%+v, %v", in, err)
			}
		},
		"by Ctrl-C": func(_ *home, k *keeper) { k.signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "read", "once", "./first", "await", "./go")
			k := h.start(c)
			h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
			h.launched()
			c.Request.Wait = patience
			other := h.run("another prompt", "read")
			other.Request.Wait = patience
			same, another := h.start(c), h.start(other)
			for _, waiting := range []*keeper{same, another} {
				h.until("it waits", func() bool { return fdSays(waiting.cmd.Process.Pid, "inotify wd:") })
			}
			interrupt(h, k)
			same.want(Interrupted, policy.ReasonStopRequested, 130)
			another.want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(2)
			h.start(h.run("prompt", "read")).want(Concluded, policy.ReasonSucceeded, 0) // given after that
			h.ran(3)
		})
	}
}

// TestAnInterruptThatTookLongToEndATurnStillEndsItForACallThatWaited has the turn go after the order has expired.
func TestAnInterruptThatTookLongToEndATurnStillEndsItForACallThatWaited(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ago := func(d time.Duration) Moment {
		m := Now()
		m.Uptime, m.Wall = m.Uptime-d, m.Wall.Add(-d)
		return m
	}
	turn := &fsstate.Turn{Session: theSession, Prompt: "prompt", Phase: fsstate.PhaseStopping, StartedAt: time.Now()}
	mark := stopMark{Session: theSession, Prompt: fsstate.PromptSum("prompt"), Moment: ago(20 * stopLife)}
	if err := errors.Join(h.room.files().Put(turn), h.room.writeStopMark(mark), h.room.remove(turn, "interrupted", policy.ReasonInterrupted)); err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct {
		prompt string
		given  time.Duration
		want   bool
	}{{"prompt", 21 * stopLife, true}, {"prompt", 19 * stopLife, false}, {"another", 21 * stopLife, false}} {
		if asked, err := h.room.stopAsked(theSession, call.prompt, ago(call.given)); asked != call.want || err != nil {
			t.Errorf("%q, given %s ago: %v, %v", call.prompt, call.given, asked, err)
		}
	}
}

func TestWaitRunsOutOrGetsItsTurn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "await", "./go"))
	h.started(1)
	h.launched()
	before := h.state()
	c := h.run("another", "read")
	c.Request.Wait = 300 * time.Millisecond
	if o := h.start(c).outcome(); o.State != WaitRanOut {
		t.Errorf("outcome %+v", o)
	}
	h.unchanged(before)
	c.Request.Wait = patience
	waiting, another := h.start(c), h.start(c)
	h.touch("go")
	k.want(Concluded, policy.ReasonSucceeded, 0)
	waiting.want(Concluded, policy.ReasonSucceeded, 0)
	another.want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(3)
}

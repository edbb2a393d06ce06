//go:build linux

package turn

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

var bootTime = regexp.MustCompile(`(?m)^btime \d+$`)

// shifted is a world in which the system booted some seconds later: what a stepped clock does to /proc/stat, and with
// it to every start time that is counted from there.
func (h *home) shifted(seconds int64) (w world, boot string) {
	h.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		h.Fatal(err)
	}
	booted, err := strconv.ParseInt(strings.TrimPrefix(bootTime.FindString(string(stat)), "btime "), 10, 64)
	if err != nil {
		h.Fatal(err)
	}
	boot = "btime " + strconv.FormatInt(booted+seconds, 10)
	file := h.file("stat" + strconv.FormatInt(seconds, 10))
	if err := os.WriteFile(file, bootTime.ReplaceAll(stat, []byte(boot)), 0o600); err != nil {
		h.Fatal(err)
	}
	return world{unshare: []string{"--mount"}, mount: file}, boot
}

func TestBootTimeShiftedUnderALiveTurn(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int64{1, -1, 3600} {
		t.Run(strconv.FormatInt(seconds, 10)+" s", func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "closestdin", "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3")
			k := h.start(c)
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			w, boot := h.shifted(seconds)
			if l := h.look(w); bootTime.FindString(l.Stat) != boot {
				t.Fatalf("it was not shifted: %s", bootTime.FindString(l.Stat))
			}
			h.wantLook(w, alive, alive, alive, alive)
			h.refused(w, c, policy.ReasonKeeperAlive)
			k.kill()
			h.wantLook(w, dead, dead, alive, alive)
			h.refused(w, c, policy.ReasonOwnerAlive)
			h.killPID(h.started(1))
			h.startCmd(w.command(t, "keeper"), c).want(Concluded, policy.ReasonHandledError, 3)
			h.ran(2)
		})
	}
}

func TestBootTimeShiftedUnderALiveWriterOfHermes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.hermesMarker("prompt", os.Getpid(), psutilCreateTime(t, os.Getpid()), 0)
	for _, seconds := range []int64{0, 1, -1} {
		w, _ := h.shifted(seconds)
		if l := h.look(w); l.Owner == dead.String() {
			t.Errorf("%d s: a live writer is dead: %s", seconds, l.OwnerWhy)
		}
		h.refusedHermes(w)
	}
}

// refusedHermes checks that the turn of a Hermes that may live is left alone.
func (h *home) refusedHermes(w world) {
	h.Helper()
	before := h.state()
	o := h.startCmd(w.command(h.T, "keeper"), h.run("", "read")).outcome()
	if o.State != Refused || o.Reason != policy.ReasonOwnerAlive && o.Reason != policy.ReasonOwnerUnknown {
		h.Errorf("outcome %+v", o)
	}
	h.unchanged(before)
	h.ran(0)
}

// stepped sets when a turn began and when it was last seen, against the clock as it is now.
func (h *home) stepped(started, seen time.Duration) {
	h.Helper()
	m := h.mustTurn()
	m.StartedAt = time.Now().UTC().Add(started)
	m.LaunchedAt = m.StartedAt
	h.put(m, testKey)
	h.age(-seen)
}

// told is what the caller of a keeper is told.
type told struct {
	state  State
	reason policy.Reason
	code   int
}

var failedWith3 = told{Concluded, policy.ReasonHandledError, 3}

const hour = time.Hour

func TestClockSteppedUnderALiveTurn(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"back": 100 * hour, "forth": -100 * hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "once", "./first", "touch", "./here", "await", "./go", "kill", "9", "else", "exit", "3")
			k := h.start(c)
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			h.stepped(step, step)
			h.wantLook(here, alive, alive, alive, alive)
			h.refused(here, c, policy.ReasonKeeperAlive)
			h.refused(here, h.run("another prompt"), policy.ReasonKeeperAlive)
			h.touch("go") // it saw the death itself: that is the proof of life, whatever the clock says
			k.want(Concluded, policy.ReasonHandledError, 3)
			h.ran(2)
			h.noMarker()
		})
	}
}

func TestClockSteppedOverADeadTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		started, seen time.Duration
		want          told
	}{
		"both in the future":                    {hour, hour, told{Refused, policy.ReasonFromTheFuture, 0}},
		"begun in the past, seen in the future": {-hour, hour, told{Refused, policy.ReasonFromTheFuture, 0}},
		// The clock was ahead at the start and set right under the living keeper.
		"begun in the future, seen just now": {hour, -time.Second, failedWith3},
		// The clock was behind at the start, as without a battery.
		"begun in 1970, seen just now": {-50 * 365 * 24 * hour, -time.Second, failedWith3},
		// A step forth is a long absence: too old, and the person's own prompt starts anew. Once it has ended, nothing of
		// it is kept in ended/ to be brought back.
		"both long ago": {-hour, -hour, failedWith3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.interrupted("prompt")
			h.stepped(c.started, c.seen)
			again := h.run("prompt", "read", "exit", "3")
			before := h.state()
			h.start(again).want(c.want.state, c.want.reason, c.want.code)
			if c.want.state == Refused { // until the clock has caught up
				h.unchanged(before)
				h.age(time.Second)
				h.start(again).want(Concluded, policy.ReasonHandledError, 3)
			}
			h.noMarker()
			h.ran(1)
			if left := h.ended(); len(left) > 0 {
				t.Errorf("%d records in ended/", len(left))
			}
		})
	}
}

func TestAnotherPromptBesideATurnFromTheFutureKeepsBoth(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt")
	h.stepped(hour, hour)
	h.start(h.run("another prompt", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantEnded("prompt", policy.ReasonOtherPrompt)
	h.ran(1)
}

// stepMark moves the stop mark of theSession.
func (h *home) stepMark(wall, uptime time.Duration) {
	h.Helper()
	path := h.room.Store.Path(fsstate.Requests, stopFile(theSession, ""))
	data, err := os.ReadFile(path)
	if err != nil {
		h.Fatal(err)
	}
	doc, err := fsstate.DecodeDocument(data, stopVersion)
	var mark stopMark
	if err == nil {
		err = json.Unmarshal(doc["stop"], &mark)
	}
	if err != nil {
		h.Fatal(err)
	}
	mark.Wall, mark.Uptime = mark.Wall.Add(wall), mark.Uptime+uptime
	if doc["stop"], err = json.Marshal(mark); err == nil {
		if data, err = doc.Encode(); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
	}
	if err != nil {
		h.Fatal(err)
	}
}

func TestInterruptIsOrderedByTheTimeSinceBoot(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"the clock as it is": 0, "stepped back": -hour, "stepped forth": hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			gated := h.run("prompt")
			gated.Gate = h.file("gate")
			k := h.start(gated)
			h.until("the keeper waits", func() bool { return h.exists("gate.ready") })
			if _, err := h.room.Interrupt(t.Context(), theSession, time.Second); err != nil {
				t.Fatal(err)
			}
			h.stepMark(step, 0)
			h.touch("gate")
			k.want(Interrupted, policy.ReasonStopRequested, 130)
			h.start(h.run("prompt")).want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(1)
		})
	}
}

func TestInterruptFromTheFutureStopsNobody(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if _, err := h.room.Interrupt(t.Context(), theSession, time.Second); err != nil {
		t.Fatal(err)
	}
	h.stepMark(0, hour)
	h.start(h.run("prompt")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestStoppedAgentIsAlive(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "closestdin", "once", "./first", "touch", "./here", "await", "./go", "exit", "5", "else", "exit", "3")
	k := h.start(c)
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	agent := h.started(1)
	h.signalPID(agent, syscall.SIGSTOP)
	h.until("it is stopped", func() bool { return ident.Stopped(h.mustTurn().Owner) })
	h.wantLook(here, alive, alive, alive, alive)
	h.refused(here, c, policy.ReasonKeeperAlive)
	k.kill()
	h.wantLook(here, dead, dead, alive, alive)
	h.refused(here, c, policy.ReasonOwnerAlive)
	h.touch("go")
	h.signalPID(agent, syscall.SIGCONT)
	h.awaitGone(agent)
	h.start(c).want(Concluded, policy.ReasonHandledError, 3)
	h.ran(2)
}

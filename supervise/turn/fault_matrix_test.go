//go:build linux && faultpoints

package turn

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// A keeper is killed, or stopped and woken, at every point of every durable step; while it is stopped, the agent and the
// launcher that stands before it are killed, or stopped and woken, too. What is left is judged by the agents' own log, the
// process table and the files.

// The kernel gives a signal that a process sends to itself to the leader thread, and lets another thread that has sent
// it go on for a while, past the point: a keeper that is to stop passes its points on the leader thread.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "keeper" && os.Getenv(fault.Var) != "" {
		runtime.LockOSThread()
	}
}

// story is a way of a turn. Each passes its points in an order that is always the same, so that the n-th passage of a
// point is one moment in it. An agent's first run waits for the file go1, every later one for go2.
type story struct {
	before  func(h *home)
	change  func(h *home, c *call)
	steps   []string                 // of the agent
	order   func(h *home, k *keeper) // what makes the keeper go on to the point
	end     told                     // of a keeper that nobody kills
	again   told                     // of the same command after a kill
	runs    int                      // starts of the agent, when nobody kills anything
	receipt bool
}

const limit = 2 // attempts, by default

var stories = map[string]story{
	// Two runs, a receipt, a recorded outcome.
	// Writes: intended, running, intended, running, concluded, receipt, outcome. Witnesses: keeper, run, run, receipt.
	"crash": {
		steps: []string{"once", "./first", "await", "./go1", "kill", "9", "else", "await", "./go2", "exit", "3"},
		change: func(h *home, c *call) {
			c.Request.Receipt = fmt.Sprintf("echo once >>%q", h.file("receipts"))
		},
		end: failedWith3, again: failedWith3, runs: 2, receipt: true,
	},
	"found dead": {
		before: func(h *home) { h.interrupted("prompt") },
		steps:  []string{"await", "./go1", "exit", "3"},
		end:    failedWith3, again: failedWith3, runs: 1,
	},
	"interrupted": {
		steps: []string{"touch", "./here", "await", "never"},
		order: func(h *home, k *keeper) {
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			k.signal(syscall.SIGINT)
		},
		end:   told{Interrupted, policy.ReasonStopRequested, 130},
		again: told{Interrupted, policy.ReasonInterrupted, 130},
		runs:  1,
	},
	"drained": {
		change: func(_ *home, c *call) { c.Request.Drain = 0 },
		steps:  []string{"polite", "0", "once", "./first", "touch", "./here", "await", "never", "else", "exit", "3"},
		order: func(h *home, k *keeper) {
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			k.signal(syscall.SIGTERM)
		},
		end: told{LeftOpen, policy.ReasonDrained, 143}, again: failedWith3, runs: 1,
	},
	"back-off": {
		steps: []string{"once", "./first", "kill", "9", "else", "once", "./second", "kill", "9", "else", "exit", "3"},
		end:   failedWith3, again: failedWith3, runs: 3,
	},
	"exhausted": {
		steps: []string{"kill", "9"},
		end:   told{GaveUp, policy.ReasonAttemptsExhausted, 0},
		again: told{GaveUp, policy.ReasonAttemptsExhausted, 0}, runs: 3,
	},
	"replaced": {
		before: func(h *home) { h.interrupted("the old prompt") },
		steps:  []string{"exit", "3"},
		end:    failedWith3, again: failedWith3, runs: 1,
	},
}

// moment is one passage of one point.
type moment struct {
	point string
	n     int
	name  string // of the story
	gates int    // how many of go1, go2 stand open from the start
	works bool   // an agent lives at this moment
}

func moments() []moment {
	at := func(point string, n int, story string, gates int) moment {
		return moment{point, n, story, gates, false}
	}
	working := func(point string, n int, story string, gates int) moment { return moment{point, n, story, gates, true} }
	var all []moment
	for _, point := range []string{"write.temp", "write.rename", "write.sync-folder", "write.durable"} {
		all = append(all,
			at(point, 1, "crash", 0), working(point, 2, "crash", 0),
			at(point, 3, "crash", 1), working(point, 4, "crash", 1),
			at(point, 5, "crash", 2), at(point, 6, "crash", 2), at(point, 7, "crash", 2))
	}
	for _, point := range []string{"witness.rename", "witness.durable"} {
		all = append(all, at(point, 1, "crash", 2), at(point, 2, "crash", 0), at(point, 3, "crash", 1), at(point, 4, "crash", 2))
	}
	return append(all,
		at("admit.decide", 1, "crash", 0), at("admit.decide", 1, "found dead", 0),
		at("launch.fork", 1, "crash", 0), at("launch.fork", 2, "crash", 1), at("launch.fork", 1, "found dead", 0),
		working("launch.record", 1, "crash", 0), working("launch.record", 2, "crash", 1), working("launch.record", 1, "found dead", 0),
		working("launch.durable", 1, "crash", 0), working("launch.durable", 2, "crash", 1),
		working("stop.durable", 1, "interrupted", 0),
		at("conclude.record", 1, "crash", 2), at("conclude.durable", 1, "crash", 2),
		at("receipt.start", 1, "crash", 2), at("receipt.ended", 1, "crash", 2),
		at("finish.outcome", 1, "crash", 2), at("finish.remove", 1, "crash", 2), at("finish.durable", 1, "crash", 2),
		at("crash.end-tree", 1, "crash", 2), at("crash.decide", 1, "crash", 2),
		at("wait.durable", 1, "back-off", 0), at("drain.durable", 1, "drained", 0),
		at("archive.remove", 1, "exhausted", 0), at("archive.durable", 1, "exhausted", 0),
		at("archive.remove", 1, "replaced", 0), at("archive.durable", 1, "replaced", 0))
}

// scenario is one moment, tried in a home of its own.
type scenario struct {
	*home
	moment
	story
	call call

	behind bool // a launcher stands before the agent
}

func TestFaultAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range fault.Points {
		if !slices.ContainsFunc(moments(), func(m moment) bool { return m.point == point }) {
			t.Errorf("no scenario passes %s", point)
		}
	}
	for _, m := range moments() {
		name := fmt.Sprintf("%s %d %s", m.point, m.n, m.name)
		t.Run(name+" kill", func(t *testing.T) {
			t.Parallel()
			newScenario(t, m).killed()
		})
		t.Run(name+" stop", func(t *testing.T) {
			t.Parallel()
			newScenario(t, m).stopped("", 0)
		})
		for _, whom := range []string{"agent", "launcher"} {
			for what, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
				if m.works {
					t.Run(name+" stop, "+whom+" "+what, func(t *testing.T) {
						t.Parallel()
						newScenario(t, m).stopped(whom, sig)
					})
				}
			}
		}
	}
}

func newScenario(t *testing.T, m moment) *scenario {
	t.Helper()
	s := &scenario{home: newHome(t), moment: m, story: stories[m.name]}
	if s.before != nil {
		s.before(s.home)
	}
	s.call = s.run("prompt", append([]string{"say", "@" + s.markerPath()}, s.steps...)...)
	s.call.Request.ID = "job"
	s.call.Request.Agent.Unset = []string{fault.Var, fault.LogVar} // it is the same binary
	if s.change != nil {
		s.change(s.home, &s.call)
	}
	s.open(m.gates)
	return s
}

func (s *scenario) open(gates int) {
	for _, file := range []string{"go1", "go2"}[:gates] {
		s.touch(file)
	}
}

// provoke starts a keeper that does something to itself at the moment, and brings it there.
func (s *scenario) provoke(action string) *keeper {
	s.Helper()
	cmd := program()
	cmd.Args = []string{cmd.Path, "keeper"}
	cmd.Stderr = nil
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%s:%d", fault.Var, s.point, action, s.n), fault.LogVar+"="+s.file("reached"))
	k := s.startCmd(cmd, s.call)
	if s.order != nil {
		s.order(s.home, k)
	}
	s.until("the keeper is at "+s.point, func() bool {
		return s.exists("reached") && (k.hasEnded() || procState(k.cmd.Process.Pid) == 'T')
	})
	if got := s.read("reached"); got != s.point+"\n" {
		s.Fatalf("reached %q", got)
	}
	return k
}

func (s *scenario) killed() {
	s.Helper()
	k := s.provoke("kill")
	k.awaitEnd()
	if _, err := os.Stat(k.report); err == nil {
		s.Fatal("the keeper was not killed: it has told its caller something")
	}
	over, starts := s.over(), len(s.logged("start"))
	agents := s.agents()
	s.judge(agents, ident.Dead)
	if len(agents) > 0 {
		before := s.state()
		s.start(s.call).want(Refused, policy.ReasonOwnerAlive, 0)
		s.unchanged(before)
		s.endAgents(agents)
		s.judge(nil, ident.Dead)
	}
	s.open(2)
	again, want := s.call, s.again
	if s.point == "archive.durable" && s.end.state == GaveUp {
		again.Request.HasPrompt, again.Request.Prompt = false, "" // the turn is over for whoever goes on with it
		if r := s.start(again).wait(); !r.Usage || !strings.Contains(r.Err, "nothing to continue") {
			s.Errorf("the turn is in ended/, and again: %+v", r)
		}
	} else {
		s.start(again).want(want.state, want.reason, want.code)
	}
	if over && len(s.logged("start")) > starts {
		s.Errorf("its end was durable, and it started again: %v", s.log())
	}
	s.finished()
}

// endAgents lets agents end, or ends them where they would not.
func (s *scenario) endAgents(agents []int) {
	s.Helper()
	for _, pid := range agents {
		if s.name == "interrupted" {
			s.killPID(pid)
			continue
		}
		s.open(2)
		s.awaitGone(pid)
	}
}

// launch puts a launcher between the keeper and the agent, which is the owner then.
func (s *scenario) launch() {
	s.behind = true
	s.call.Request.Agent.Command = append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, s.call.Request.Agent.Command...)
}

// stopped stops the keeper at the moment and wakes it again, and in between kills or stops (and wakes) the agent, or the
// launcher that stands between the two.
func (s *scenario) stopped(whom string, sig syscall.Signal) {
	s.Helper()
	if whom == "launcher" {
		s.launch()
	}
	k := s.provoke("stop")
	if s.behind {
		s.until("the launcher has started the agent", func() bool { return len(s.agents()) == 2 })
	}
	agents := s.agents()
	s.judge(agents, ident.Alive)
	if own := s.n == 1 && strings.HasPrefix(s.point, "witness."); own {
		// It has not looked at the session yet: another one has all of it, and what it finds later is the recorded end.
		s.start(s.call).want(s.end.state, s.end.reason, s.end.code)
	} else {
		s.refusedBeside(k)
	}
	runs := s.runs
	var victims []int
	switch whom {
	case "agent":
		victims = agents
	case "launcher":
		for _, pid := range agents {
			if parent := parentOf(s.T, pid); slices.Contains(agents, parent) {
				victims = []int{parent}
			}
		}
		if len(victims) == 0 {
			s.Fatalf("no launcher among %v", agents)
		}
	}
	for _, pid := range victims {
		if err := syscall.Kill(pid, sig); err != nil {
			s.Fatal(err)
		}
		s.until("the signal has come", func() bool { return gone(pid) || sig == syscall.SIGSTOP && procState(pid) == 'T' })
	}
	if whom != "" {
		s.refusedBeside(k)
	}
	if sig == syscall.SIGKILL {
		if s.gates == 1 { // its second run is the one that would have concluded
			runs++
		}
		if s.name == "found dead" {
			runs++
		}
	}
	k.signal(syscall.SIGCONT)
	if sig == syscall.SIGSTOP {
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGCONT) // an interrupt has woken and ended it by now
		}
	}
	s.open(2)
	k.want(s.end.state, s.end.reason, s.end.code)
	s.ran(runs)
	if s.end.state == LeftOpen {
		s.start(s.call).want(s.again.state, s.again.reason, s.again.code)
	}
	s.finished()
}

// refusedBeside starts a second keeper beside a stopped one.
func (s *scenario) refusedBeside(k *keeper) {
	s.Helper()
	before := s.state()
	second := s.call
	second.Within = 200 * time.Millisecond
	r := s.start(second).wait()
	locked := strings.Contains(r.Err, fmt.Sprintf("held by pid %d (", k.cmd.Process.Pid))
	refused := r.Err == "" && r.Outcome.State == Refused && r.Outcome.Reason == policy.ReasonKeeperAlive
	if locked == refused {
		s.Fatalf("beside a keeper stopped at %s: %+v", s.point, r)
	}
	s.unchanged(before)
	if procState(k.cmd.Process.Pid) != 'T' {
		s.Fatal("the first one was woken")
	}
}

// judge holds the marker against what really lives.
func (s *scenario) judge(agents []int, keeper ident.Verdict) {
	s.Helper()
	one := 1
	if s.behind {
		one = 2
	}
	if s.works != (len(agents) == one) && keeper == ident.Alive || len(agents) > one {
		s.Fatalf("at %s these agents live: %v", s.point, agents)
	}
	m := s.turn()
	if m == nil {
		if len(agents) > 0 {
			s.Fatalf("agents %v run without a marker", agents)
		}
		return
	}
	v := s.view()
	if m.Owner.Instance != "" && len(agents) > 0 {
		if tag := instanceOf(s.T, agents[0]); tag != m.Owner.Instance {
			s.Errorf("agent %d is instance %s, the marker names %s", agents[0], tag, m.Owner.Instance)
		}
	}
	want := ident.Dead
	if len(agents) > 0 || keeper == ident.Alive && m.Phase == fsstate.PhaseIntended { // by then its keeper holds its witness
		want = ident.Alive
	}
	if v.Owner.Verdict != want {
		s.Errorf("agents %v, and the owner is %v: %s", agents, v.Owner.Verdict, v.Owner.Why)
	}
	if w := s.room.look().witness(m.Owner.Instance); want == ident.Alive && w != ident.WitnessHeld {
		s.Errorf("agents %v, and the witness is %v", agents, w)
	}
	if taken := m.Prompt == "prompt" && (s.before == nil || m.Attempts > 0); taken && v.Keeper.Verdict != keeper {
		s.Errorf("the keeper is %v: %s; want %v", v.Keeper.Verdict, v.Keeper.Why, keeper)
	}
}

// over tells whether an end of the turn is on disk.
func (s *scenario) over() bool {
	s.Helper()
	if m := s.turn(); m != nil && m.Phase == fsstate.PhaseConcluded {
		return true
	}
	o, err := s.room.files().Outcome(theSession, "job")
	if err != nil {
		s.Fatal(err)
	}
	return o != nil || slices.ContainsFunc(s.ended(), func(t *fsstate.Turn) bool { return t.Prompt == "prompt" })
}

// finished judges the whole story by what the agents themselves have written.
func (s *scenario) finished() {
	s.Helper()
	s.noMarker()
	if left := s.agents(); len(left) > 0 {
		s.Errorf("agents %v are left", left)
	}
	starts := s.logged("start")
	s.ran(len(starts)) // and none beside another
	if len(starts) > 1+limit {
		s.Errorf("%d starts", len(starts))
	}
	seen := s.texts("said")
	if len(seen) != len(starts) {
		s.Fatalf("%d starts, %d markers seen by them", len(starts), len(seen))
	}
	last := -1
	for i, start := range starts {
		attempt, err := strconv.Atoi(start.Attempt)
		if err != nil || attempt <= last {
			s.Errorf("attempt %q after %d", start.Attempt, last)
		}
		last = attempt
		if want := fmt.Sprintf("\n  \"attempts\": %d,\n", attempt); !strings.Contains(seen[i], want) {
			s.Errorf("start %d of attempt %d found the marker %s", i, attempt, seen[i])
		}
	}
	if s.receipt && !s.exists("receipts") {
		s.Error("no receipt")
	}
	switch ended := s.ended(); s.name {
	case "exhausted":
		s.wantEnded("prompt", policy.ReasonAttemptsExhausted)
	case "replaced":
		s.wantEnded("the old prompt", policy.ReasonOtherPrompt)
	default:
		if len(ended) > 0 {
			s.Errorf("ended/ has %d turns", len(ended))
		}
	}
}

func TestKeeperKilledWhileItTakesBackAFailedLaunch(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} { // the launch, and its taking back
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, moment{point: "write.temp", n: n, name: "found dead"})
			s.call.Request.Agent.Resume = []string{s.file("no such program")}
			s.provoke("kill").awaitEnd()
			s.judge(nil, ident.Dead)
			s.call.Request.Agent.Resume = nil
			s.open(1)
			s.start(s.call).want(Concluded, policy.ReasonHandledError, 3)
			s.finished()
		})
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return ppid
}

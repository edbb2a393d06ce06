//go:build faultpoints

package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// A keeper, or a process that changes a handoff, is killed, or stopped and woken, at every point of every durable step.
// What is left is judged by the handlers' own log, the process table and the files.

// The kernel gives a signal that a process sends to itself to the leader thread, and lets another thread that has sent
// it go on for a while, past the point: a process that is to stop passes its points on the leader thread.
func init() {
	if len(os.Args) > 1 && (os.Args[1] == "keeper" || os.Args[1] == "op") && os.Getenv(fault.Var) != "" {
		runtime.LockOSThread()
	}
}

// moment is one passage of one point by a keeper.
type moment struct {
	point  string
	n      int
	leaves queue.State // that a kill there leaves; "": its end
	works  bool        // the handler lives
}

// moments are those of a keeper in their order: it writes the claim, the handler's pid, the end.
func moments() []moment {
	var all []moment
	writes := func(n int, before, after queue.State, works bool) {
		all = append(all,
			moment{"write.temp", n, before, works}, moment{"write.rename", n, before, works},
			moment{"write.sync-folder", n, after, works}, moment{"write.durable", n, after, works})
	}
	add := func(point string, state queue.State, works bool) { all = append(all, moment{point, 1, state, works}) }
	add("witness.rename", queue.Pending, false)
	add("witness.durable", queue.Pending, false)
	add("handoff.claim", queue.Pending, false)
	writes(1, queue.Pending, queue.Running, false)
	add("handoff.claimed", queue.Running, false)
	add("handoff.fork", queue.Running, false)
	add("handoff.record", queue.Running, true)
	writes(2, queue.Running, queue.Running, true)
	add("handoff.recorded", queue.Running, true)
	add("handoff.conclude", queue.Running, false)
	writes(3, queue.Running, "", false)
	add("handoff.ended", "", false)
	return all
}

func TestFaultAtEveryPointIsTried(t *testing.T) {
	t.Parallel()
	passed := map[string]bool{"handoff.reopen": true} // see TestFaultOfAChangeAtEveryPoint
	for _, m := range moments() {
		passed[m.point] = true
	}
	for _, point := range slices.Concat(fault.Points[:6], fault.HandoffPoints) {
		if !passed[point] {
			t.Errorf("nothing passes %s", point)
		}
	}
}

// scenario is one moment, tried in a home of its own.
type scenario struct {
	*home
	moment

	id  string
	end queue.State
}

func newScenario(t *testing.T, m moment, code string) *scenario {
	t.Helper()
	s := &scenario{home: newHome(t), moment: m, end: queue.Completed}
	if code != "0" {
		s.end = queue.Failed
	}
	if s.leaves == "" {
		s.leaves = s.end
	}
	s.platform("chat", "await", "./go", "exit", code)
	s.id = s.request("chat")
	return s
}

func TestFaultOfAKeeperAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, m := range moments() {
		for _, code := range []string{"0", "3"} {
			name := fmt.Sprintf("%s %d exit %s", m.point, m.n, code)
			t.Run(name+" kill", func(t *testing.T) {
				t.Parallel()
				newScenario(t, m, code).killed()
			})
			t.Run(name+" stop", func(t *testing.T) {
				t.Parallel()
				newScenario(t, m, code).stopped(false)
			})
		}
		if m.works {
			t.Run(fmt.Sprintf("%s %d stop, handler killed", m.point, m.n), func(t *testing.T) {
				t.Parallel()
				newScenario(t, m, "0").stopped(true)
			})
		}
	}
}

// provoked waits until a process has done to itself what its environment says.
func (h *home) provoked(k *keeper, point string) {
	h.Helper()
	h.until("the process is at "+point, func() bool {
		return h.exists("reached") && (k.hasEnded() || procState(k.pid()) == 'T')
	})
	if got, err := os.ReadFile(h.file("reached")); err != nil || string(got) != point+"\n" {
		h.Fatalf("reached %q, %v", got, err)
	}
	if _, err := os.Stat(k.report); err == nil {
		h.Fatal("it has told its caller something")
	}
}

func (h *home) faultEnv(point, action string, n int) []string {
	return []string{fmt.Sprintf("%s=%s:%s:%d", fault.Var, point, action, n), fault.LogVar + "=" + h.file("reached")}
}

// provoke starts a keeper that does something to itself at the moment, and brings it there.
func (s *scenario) provoke(action string) *keeper {
	s.Helper()
	if !s.works && (s.point == "handoff.conclude" || s.n == 3 || s.point == "handoff.ended") {
		s.touch("go")
	}
	k := s.start(s.call(s.id), s.faultEnv(s.point, action, s.n)...)
	s.provoked(k, s.point)
	if s.works {
		s.started(1)
	}
	return k
}

func (s *scenario) killed() {
	s.Helper()
	s.provoke("kill").awaitEnd()
	starts := len(s.logged("start"))
	s.wantState(s.id, s.leaves)
	if s.works {
		s.kept(s.id, queue.ReasonRunning)
		handler := s.started(1)
		s.touch("go")
		s.awaitGone(handler)
	}
	s.touch("go")
	switch s.leaves {
	case queue.Pending: // it never ran
		s.ran(0)
		s.keep(s.id).want(s.end)
		s.ran(1)
	case queue.Running:
		s.takenBack(s.id)
		s.ran(starts)
		s.again(starts)
	case queue.Completed, queue.Failed:
		s.over(starts)
		if s.leaves == queue.Failed {
			s.again(starts)
		}
	}
}

// over checks that a handoff whose end is on disk is not delivered any more, and leaves no open record.
func (s *scenario) over(starts int) {
	s.Helper()
	if r := s.keep(s.id).wait(); r.Refused != queue.ReasonFinished {
		s.Errorf("keeper: %+v", r)
	}
	d := &Desk{Queue: s.queue}
	defer d.Close()
	if p := d.Look(s.Context(), time.Now(), 3); len(p.Start) > 0 || p.Busy {
		s.Errorf("a dispatcher plans %+v", p)
	}
	if ids, err := s.queue.Files.Open(); err != nil || len(ids) > 0 {
		s.Errorf("open records %v, %v", ids, err)
	}
	s.wantState(s.id, s.leaves)
	s.ran(starts)
}

// again delivers what a person has retried: once more, and no more.
func (s *scenario) again(starts int) {
	s.Helper()
	if _, err := s.queue.Retry(s.Context(), s.id); err != nil {
		s.Fatal(err)
	}
	s.keep(s.id).want(s.end)
	s.ran(starts + 1)
}

// stopped stops the keeper at the moment and wakes it again, and in between ends the handler, if one lives.
func (s *scenario) stopped(kill bool) {
	s.Helper()
	k := s.provoke("stop")
	s.beside(k)
	if kill {
		s.killPID(s.started(1))
		s.beside(k)
		s.end = queue.Failed
	}
	s.touch("go")
	k.signal(syscall.SIGCONT)
	k.want(s.end)
	s.wantState(s.id, s.end)
	s.ran(1)
}

// beside checks that nobody else claims or takes back anything beside a stopped keeper.
func (s *scenario) beside(k *keeper) {
	s.Helper()
	before := s.records()
	starts := len(s.logged("start"))
	ended := s.leaves == s.end
	c := s.call(s.id)
	c.Within = brief
	r := s.start(c).wait()
	locked := strings.Contains(r.Err, fmt.Sprintf("held by pid %d (", k.pid()))
	if !locked && r.Refused != queue.ReasonRunning && (!ended || r.Refused != queue.ReasonFinished) {
		s.Errorf("a second keeper beside one stopped at %s: %+v", s.point, r)
	}
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	_, err := s.queue.Reclaim(ctx, s.id)
	refused, is := errors.AsType[*RefusedError](err)
	_, locked = errors.AsType[*fsstate.LockedError](err)
	if !locked && (!is || refused.Reason != queue.ReasonRunning && !ended) {
		s.Errorf("reclaim beside a keeper stopped at %s: %v", s.point, err)
	}
	if after := s.records(); fmt.Sprint(before) != fmt.Sprint(after) {
		s.Errorf("records %v, then %v", before, after)
	}
	s.ran(starts)
	if procState(k.pid()) != 'T' {
		s.Error("the first one was woken")
	}
}

// change is a transition that no handler has a part in.
type change struct {
	what     string
	before   []string // transitions that bring it there
	dead     bool     // its claimer is
	old, new queue.State
	refused  queue.Reason // what the same says once it is done; "": it is done again, or said to be done
}

func TestFaultOfAChangeAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, c := range []change{
		{"request", nil, false, "", queue.Pending, queue.ReasonOpen},
		{"claim", []string{"request"}, false, queue.Pending, queue.Running, queue.ReasonRunning},
		{"complete", []string{"request", "claim"}, false, queue.Running, queue.Completed, ""},
		{"fail", []string{"request", "claim"}, false, queue.Running, queue.Failed, ""},
		{"cancel", []string{"request"}, false, queue.Pending, queue.Failed, queue.ReasonFinished},
		{"reclaim", []string{"request", "claim"}, true, queue.Running, queue.Failed, queue.ReasonNotClaimed},
		{"retry", []string{"request", "claim", "fail"}, false, queue.Failed, queue.Pending, queue.ReasonOpen},
	} {
		points := []string{"write.temp", "write.rename", "write.sync-folder", "write.durable"}
		switch {
		case c.what == "retry":
			points = append(points, "handoff.reopen")
		case c.new == queue.Completed || c.new == queue.Failed:
			points = append(points, "handoff.ended")
		}
		for _, point := range points {
			for _, action := range []string{"kill", "stop"} {
				t.Run(c.what+" "+point+" "+action, func(t *testing.T) {
					t.Parallel()
					c.at(newHome(t), point, action)
				})
			}
		}
	}
}

func (c change) at(h *home, point, action string) {
	h.Helper()
	h.platform("chat", "exit", "0")
	o := op{Claim: h.dead()}
	if !c.dead {
		o.Claim = h.alive()
	}
	do := func(what string) error {
		o.What = what
		hd, err := o.do(h.Context(), h.queue)
		if err == nil {
			o.ID = hd.ID
		}
		return err
	}
	for _, step := range c.before {
		if err := do(step); err != nil {
			h.Fatal(step, err)
		}
	}
	o.What = c.what
	k := h.begin(o, h.faultEnv(point, action, 1)...)
	h.provoked(k, point)
	done := point == "write.sync-folder" || point == "write.durable" || point == "handoff.ended"
	if c.what == "retry" { // until its old end is gone, nothing has changed
		done = false
	}
	if c.what == "request" && done {
		ids, err := h.queue.Files.Open()
		if err != nil || len(ids) != 1 {
			h.Fatal(ids, err)
		}
		o.ID = ids[0]
	}
	state := c.old
	if done {
		state = c.new
	}
	look := func() {
		d := &Desk{Queue: h.queue}
		defer d.Close()
		d.Look(h.Context(), time.Now(), 0)
	}
	if o.ID != "" {
		h.wantState(o.ID, state)
		if !c.dead { // else the dispatcher does the same as the one at the point
			look()
			h.wantState(o.ID, state)
		}
	}
	if action == "stop" {
		ctx, cancel := context.WithTimeout(h.Context(), brief)
		defer cancel()
		if _, err := o.do(ctx, h.queue); !isLocked(err) {
			h.Errorf("beside one that is stopped: %v", err)
		}
		k.signal(syscall.SIGCONT)
		if r := k.wait(); r.Err != "" || r.State != c.new {
			h.Fatalf("%s: %+v", c.what, r)
		}
		done = true
	}
	err := do(c.what)
	switch {
	case done && c.refused != "":
		h.refused(err, c.refused)
	case err != nil:
		h.Fatal(err)
	}
	if o.ID == "" {
		ids, err := h.queue.Files.Open()
		if err != nil || len(ids) != 1 {
			h.Fatal(ids, err)
		}
		o.ID = ids[0]
	}
	look()
	h.wantState(o.ID, c.new)
	names, err := filepath.Glob(h.queue.Files.Store.Path(fsstate.Handoffs, "*.json"))
	more, merr := filepath.Glob(h.queue.Files.Store.Path(fsstate.Handed, "*.json"))
	if err != nil || merr != nil || len(names)+len(more) != 1 {
		h.Errorf("records %v and %v", names, more)
	}
}

func isLocked(err error) bool {
	_, is := errors.AsType[*fsstate.LockedError](err)
	return is
}

// alive is our own identity under a new name.
func (h *home) alive() ident.Ident {
	h.Helper()
	id, err := ident.Self(ident.NewInstance())
	if err != nil {
		h.Fatal(err)
	}
	return id
}

// begin starts a process that does one op.
func (h *home) begin(o op, env ...string) *keeper {
	h.Helper()
	o.place, o.Report = h.place, filepath.Join(h.TempDir(), "report")
	data, err := json.Marshal(o)
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(testBinary(h.T), "op")
	cmd.Env = append(append(cmd.Environ(), callVar+"="+string(data), "GORACE=atexit_sleep_ms=0"), env...)
	return h.run(cmd, o.Report)
}

// brief bounds a call that somebody who is stopped in the lock would hold up.
const brief = 200 * time.Millisecond

func (h *home) exists(name string) bool {
	_, err := os.Stat(h.file(name))
	return err == nil
}

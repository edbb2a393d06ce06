package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// instance is another one in every scene: an orphan is looked for in the whole system, where others play beside us.
var instance = ident.NewInstance()

// leader is the identity of a child as a record would hold it, also of one that is gone by now.
func leader(c *Child) ident.Ident {
	return ident.Launched(c.PID(), ident.Ident{Instance: instance})
}

func lives(pid int) bool {
	p, err := readProc(pid)
	return err == nil && p.living
}

func pids(ids []ident.Ident) []int {
	var all []int
	for _, id := range ids {
		all = append(all, id.PID)
	}
	slices.Sort(all)
	return all
}

// ends is the scene that most tests here are: a launch, a stop, and nobody left, with the leader's exit.
func ends(l Ladder, want Exit, words []string, part ...string) func(*scene) error {
	return func(s *scene) error {
		c, err := s.start(instance, part...)
		if err != nil {
			return err
		}
		var known []int
		for _, word := range words {
			pid, err := s.hear(word)
			if err != nil {
				return err
			}
			known = append(known, pid)
		}
		tree := Tree{Instance: instance, Leader: leader(c), Sole: true}
		switch part[0] {
		case "leave":
			if _, err := s.exitOfChild(c); err != nil {
				return err
			}
		case "cont":
			if err := s.until("it is stopped", func() bool { return ident.Stopped(tree.Leader) }); err != nil {
				return err
			}
		}
		if err := tree.End(s.ctx, l); err != nil {
			return err
		}
		for _, pid := range known {
			if lives(pid) {
				return fmt.Errorf("pid %d lives", pid)
			}
		}
		if ids, err := tree.Members(); err != nil || len(ids) > 0 {
			return fmt.Errorf("members after the end: %v, %w", pids(ids), err)
		}
		got, err := s.exitOfChild(c)
		if err == nil && got != want {
			err = fmt.Errorf("leader: %+v, want %+v", got, want)
		}
		return err
	}
}

var killed = Exit{Code: 137, Signal: 9, Signaled: true}

func short(l Ladder) Ladder {
	l = slices.Clone(l)
	for i := range l {
		l[i].Wait = min(l[i].Wait, 150*time.Millisecond)
	}
	return l
}

func init() {
	scenes["polite"] = ends(StopLadder(patience), Exit{Code: 3}, []string{"ready"}, "polite", "3")
	scenes["interrupt"] = ends(InterruptLadder(), Exit{Code: 3}, []string{"ready"}, "polite", "3")
	scenes["deaf"] = ends(short(InterruptLadder()), killed, []string{"ready"}, "deaf")
	scenes["stopped"] = ends(StopLadder(patience), Exit{Code: 7}, []string{"ready"}, "cont")
	scenes["own session"] = ends(StopLadder(patience), Exit{Code: 143, Signal: 15, Signaled: true},
		[]string{"ready", "launcher"}, "launch", "session", "wait")
	scenes["deaf child in the group"] = ends(short(StopLadder(patience)), Exit{Code: 143, Signal: 15, Signaled: true},
		[]string{"ready", "launcher"}, "launch", "group", "deaf")
	scenes["double fork"] = ends(short(KillLadder()), Exit{Code: 0}, []string{"ready"}, "leave", "session", "leave", "session", "deaf")
	scenes["bare orphan"] = ends(short(KillLadder()), Exit{Code: 0}, []string{"ready"}, "leave", "session", "bare", "session", "deaf")
	scenes["storm"] = ends(short(KillLadder()), killed, []string{"ready"}, "storm", "150")
	scenes["closed"] = ends(KillLadder(), killed, []string{"ready"}, "closed")
}

func TestEndStopsPolitely(t *testing.T) { play(t, "polite") }

func TestInterruptReachesTheAgentOnce(t *testing.T) { play(t, "interrupt") }

func TestAgentThatIgnoresSignalsIsKilled(t *testing.T) { play(t, "deaf") }

func TestStoppedAgentGetsItsSignal(t *testing.T) { play(t, "stopped") }

func TestDescendantInItsOwnSessionIsEnded(t *testing.T) { play(t, "own session") }

func TestChildThatOutlivesItsLeaderInTheGroupIsKilled(t *testing.T) {
	play(t, "deaf child in the group")
}

func TestOrphanOfADoubleForkIsEnded(t *testing.T) { play(t, "double fork") }

func TestOrphanWithoutTagAndSessionIsEndedByASoleKeeper(t *testing.T) { play(t, "bare orphan") }

func TestForkStormIsEnded(t *testing.T) { play(t, "storm") }

func TestAgentWithoutStdinIsEnded(t *testing.T) { play(t, "closed") }

func init() {
	scenes["empty"] = func(s *scene) error {
		c, err := s.start(instance, "exit", "0")
		if err != nil {
			return err
		}
		tree := Tree{Instance: instance, Leader: leader(c), Sole: true}
		if _, err := s.exitOfChild(c); err != nil {
			return err
		}
		var took []time.Duration
		for range 21 {
			began := time.Now()
			if err := tree.End(s.ctx, KillLadder()); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		fmt.Fprintln(os.Stdout, "median", took[10])
		if took[10] > 2*time.Millisecond {
			return fmt.Errorf("an empty tree took %v", took[10])
		}
		return nil
	}
	scenes["two launches"] = twoLaunches
	scenes["unstopped"] = func(s *scene) error {
		c, err := s.start(instance, "deaf")
		if err != nil {
			return err
		}
		if _, err := s.hear("ready"); err != nil {
			return err
		}
		tree := Tree{Instance: instance, Leader: leader(c), Sole: true}
		err = tree.End(s.ctx, Ladder{{syscall.SIGTERM, ScopeGroup, time.Millisecond}})
		var left *UnstoppedError
		if !errors.As(err, &left) || !slices.Equal(left.PIDs, []int{c.PID()}) {
			return fmt.Errorf("a ladder without SIGKILL: %w", err)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		err = tree.End(ctx, StopLadder(patience))
		if !errors.As(err, &left) || !errors.Is(err, context.Canceled) || !slices.Equal(left.PIDs, []int{c.PID()}) {
			return fmt.Errorf("an ended context: %w", err)
		}
		return nil
	}
	scenes["recycled leader"] = func(s *scene) error {
		c, err := s.start("other", "wait")
		if err != nil {
			return err
		}
		if _, err := s.hear("ready"); err != nil {
			return err
		}
		old := leader(c)
		old.Start--
		for _, tree := range []Tree{{Instance: instance, Leader: old}, {Instance: instance, Leader: old, Orphan: true}} {
			if err := tree.End(s.ctx, KillLadder()); err != nil {
				return err
			}
			if !lives(c.PID()) {
				return fmt.Errorf("%+v: another process under the leader's number was ended", tree)
			}
		}
		return nil
	}
	scenes["orphan"] = func(s *scene) error {
		// A keeper of its own starts the agent and dies: the person who asks is not the parent of what is left. The
		// scene is the subreaper, as some process always is, and takes no advantage of it.
		c, err := s.start("", "leave", "session", "launch", "session", "wait")
		if err != nil {
			return err
		}
		inner, err := s.hear("ready")
		if err != nil {
			return err
		}
		outer, err := s.hear("launcher")
		if err != nil {
			return err
		}
		if _, err := s.exitOfChild(c); err != nil {
			return err
		}
		bystander, err := s.start("", "wait")
		if err != nil {
			return err
		}
		if _, err := s.hear("ready"); err != nil {
			return err
		}
		id, err := ident.Of(outer, instance)
		if err != nil {
			return err
		}
		tree := Tree{Leader: id, Orphan: true}
		ids, err := tree.Members()
		want := []int{inner, outer}
		slices.Sort(want)
		if err != nil || !slices.Equal(pids(ids), want) {
			return fmt.Errorf("members %v, %w; want %v", pids(ids), err, want)
		}
		if err := tree.End(s.ctx, StopLadder(patience)); err != nil {
			return err
		}
		if lives(inner) || lives(outer) || !lives(bystander.PID()) {
			return fmt.Errorf("alive: inner %t, outer %t, bystander %t", lives(inner), lives(outer), lives(bystander.PID()))
		}
		return nil
	}
	scenes["orphan without a leader"] = func(s *scene) error {
		if _, err := s.start(instance, "leave", "session", "wait"); err != nil {
			return err
		}
		pid, err := s.hear("ready")
		if err != nil {
			return err
		}
		tree := Tree{Instance: instance, Orphan: true}
		if err := tree.End(s.ctx, InterruptLadder()); err != nil {
			return err
		}
		if lives(pid) {
			return fmt.Errorf("tagged pid %d lives", pid)
		}
		return nil
	}
}

func TestEmptyTreeEndsAtOnce(t *testing.T) { t.Log(play(t, "empty")) }

func TestEndOfOneLaunchLeavesTheOtherAlone(t *testing.T) { t.Log(play(t, "two launches")) }

func TestEndNamesWhatItCouldNotStop(t *testing.T) { play(t, "unstopped") }

func TestRecycledLeaderIsNotSignalled(t *testing.T) { play(t, "recycled leader") }

func TestOrphanedTreeIsEndedByItsLeader(t *testing.T) { play(t, "orphan") }

func TestOrphanedTreeIsEndedByItsTag(t *testing.T) { play(t, "orphan without a leader") }

// twoLaunches runs two services in one process. The first has a grandchild in a session of its own whose parent is
// gone (found by the tag) and one in its own session without the tag.
func twoLaunches(s *scene) error {
	first, err := s.start(instance, "leave", "session", "deaf")
	if err != nil {
		return err
	}
	tagged, err := s.hear("ready")
	if err != nil {
		return err
	}
	if _, err := s.exitOfChild(first); err != nil {
		return err
	}
	third, err := s.start(instance, "bare", "group", "deaf")
	if err != nil {
		return err
	}
	id := leader(third)
	inSession, err := s.hear("ready")
	if err != nil {
		return err
	}
	if _, err := s.exitOfChild(third); err != nil {
		return err
	}
	second, err := s.start("ffffffffffffffffffffffffffffffff", "launch", "group", "deaf")
	if err != nil {
		return err
	}
	other, err := s.hear("ready")
	if err != nil {
		return err
	}
	tree := Tree{Instance: instance, Leader: id}
	ids, err := tree.Members()
	want := []int{tagged, inSession}
	slices.Sort(want)
	if err != nil || !slices.Equal(pids(ids), want) {
		return fmt.Errorf("members %v, %w; want %v (self %d)", pids(ids), err, want, os.Getpid())
	}
	table, _, err := scanTable([]int{os.Getpid()}) // where the kernel lists no children
	if err != nil {
		return err
	}
	var found []int
	for _, p := range choose(tree, os.Getpid(), table, nil, newTags("")) {
		found = append(found, p.pid)
	}
	if slices.Sort(found); !slices.Equal(found, want) {
		return fmt.Errorf("by the process table %v, want %v", found, want)
	}
	if err := tree.End(s.ctx, short(KillLadder())); err != nil {
		return err
	}
	began := time.Now()
	if err := tree.End(s.ctx, KillLadder()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "empty beside another launch:", time.Since(began))
	if lives(tagged) || lives(inSession) || !lives(other) || !lives(second.PID()) {
		return fmt.Errorf("alive: tagged %t, in session %t; the other launch %t, %t",
			lives(tagged), lives(inSession), lives(other), lives(second.PID()))
	}
	return nil
}

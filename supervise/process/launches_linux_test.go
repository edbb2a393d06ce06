package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes-supervisor/fsstate/ident"
)

func TestOneOfManyLaunchesIsEndedAlone(t *testing.T) { play(t, "many launches") }

func init() { scenes["many launches"] = manyLaunches }

// launched is the identity of a child as its launch is recorded: at once, whether it lives or not.
func launched(c *Child, instance string) (ident.Ident, error) {
	self, err := ident.Self("")
	return ident.Launched(c.PID(), ident.Unlaunched(self, instance)), err
}

// manyLaunches lets four services of one Host leave something behind, and ends them one by one.
func manyLaunches(s *scene) error {
	type service struct {
		tree    Tree
		members []int
	}
	var services []service
	for _, words := range [][]string{
		{"leave", "session", "leave", "session", "deaf"}, // an orphan by its tag alone
		{"leave", "session", "leave", "session", "deaf"},
		{"bare", "group", "deaf"},                         // an orphan by its session alone
		{"launch", "session", "leave", "session", "deaf"}, // one whose leader lives
		{"launch", "group", "launch", "session", "deaf"},  // children that are nobody's orphans
		{"leave", "group", "leave", "group", "exit", "0"}, // nothing is left
		{"leave", "session", "leave", "session", "polite", "0"},
	} {
		instance := ident.NewInstance()
		c, err := s.start(instance, words...)
		if err != nil {
			return err
		}
		id, err := launched(c, instance)
		if err != nil {
			return err
		}
		one := service{tree: Tree{Instance: instance, Leader: id, Host: s.host}}
		for range strings.Count(strings.Join(words, " "), "launch") {
			pid, err := s.hear("launcher")
			if err != nil {
				return err
			}
			one.members = append(one.members, pid)
		}
		if words[0] != "launch" {
			if _, err := s.exitOfChild(c); err != nil {
				return err
			}
		}
		if !slices.Contains(words, "exit") {
			pid, err := s.hear("ready")
			if err != nil {
				return err
			}
			one.members = append(one.members, pid)
		}
		slices.Sort(one.members)
		services = append(services, one)
	}
	for i, one := range services {
		// Whoever left on the way is gone by now, or soon.
		if err := s.until(fmt.Sprintf("service %d is %v", i, one.members), func() bool {
			ids, err := one.tree.Members()
			return err == nil && slices.Equal(pids(ids), one.members)
		}); err != nil {
			return err
		}
	}
	for i, one := range services {
		if len(one.members) > 0 && one.tree.Empty() {
			return fmt.Errorf("service %d is empty, and %v live", i, one.members)
		}
		if err := one.tree.End(s.ctx, short(KillLadder())); err != nil {
			return err
		}
		for _, pid := range one.members {
			if lives(pid) {
				return fmt.Errorf("service %d has ended, and pid %d lives", i, pid)
			}
		}
		for _, other := range services[i+1:] {
			for _, pid := range other.members {
				if !lives(pid) {
					return fmt.Errorf("the end of service %d was that of pid %d of another", i, pid)
				}
			}
		}
	}
	return s.until("each is empty", func() bool {
		return !slices.ContainsFunc(services, func(one service) bool { return !one.tree.Empty() })
	})
}

// A process that cannot be told from another has not ended: whoever waits for it would end what else lives of it.
func TestWhatCannotBeToldHasNotEnded(t *testing.T) {
	t.Parallel()
	id, err := ident.Self("")
	if err != nil {
		t.Fatal(err)
	}
	id.BootID = "0d1f3ad5-0000-4000-8000-000000000000"
	if v := ident.Check(id); v != ident.Unknown {
		t.Fatal(v)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready := false
	_, _, err = AwaitEnd(ctx, id, func() { ready = true; cancel() })
	if !errors.Is(err, context.Canceled) || !ready {
		t.Errorf("said to have ended: %v, ready %t", err, ready)
	}
}

func TestMissingWorkingDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		dir, says string
		is        error
	}{
		{dir + "/none", "working directory " + dir + "/none: no such file or directory", fs.ErrNotExist},
		{dir + "/file", "working directory " + dir + "/file: not a directory", nil},
		{dir + "/file/below", "working directory " + dir + "/file/below: not a directory", syscall.ENOTDIR},
	} {
		_, err := launch(Spec{Argv: []string{"/bin/true"}, Dir: tc.dir})
		if err == nil || !strings.Contains(err.Error(), tc.says) || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%v, want one that says %q", err, tc.says)
		}
	}
}

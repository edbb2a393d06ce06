package process

import (
	"errors"
	"fmt"
	"os"

	"hermes-supervisor/fsstate/ident"
)

// looker looks at one tree again and again.
type looker struct {
	tree  Tree
	known map[key]bool // members so far: they stay members when their parent, and so their descent, is gone
	dead  map[key]bool // zombies seen so far
}

// newLooker settles once what does not change between looks: a leader that is not verified is not looked for.
func newLooker(t Tree) *looker {
	if t.Orphan && t.Leader.PID != 0 && ident.Check(t.Leader) != ident.Alive {
		t.Leader = ident.Ident{}
	}
	return &looker{tree: t, known: map[key]bool{}, dead: map[key]bool{}}
}

// glance is what one look saw. An empty one can be relied on when it is settled (nothing died or moved while it was
// being put together, so that nothing went from below a process not yet read to one that had been read) and at once
// when it is final (the kernel says that we have no child at all).
type glance struct {
	members        []proc
	settled, final bool
}

func (l *looker) look() (glance, error) {
	if !l.tree.Orphan && (childless() || l.leftNothing()) {
		return glance{settled: true, final: true}, nil
	}
	self := os.Getpid()
	procs, settled, err := l.candidates(self)
	if err != nil {
		return glance{}, fmt.Errorf("list the processes of instance %s: %w", l.tree.Instance, err)
	}
	for _, p := range procs {
		if !p.living && !l.dead[p.key()] {
			l.dead[p.key()] = true
			settled = false
		}
	}
	members := choose(l.tree, self, procs, l.known, newTags(l.tree.Instance))
	for _, p := range members {
		l.known[p.key()] = true
	}
	return glance{members: members, settled: settled}, nil
}

// candidates are the processes that may be members. Of many launches of one Host it is what is below the leader, and
// then, in this order, what is nobody's child: whoever leaves the leader on the way goes there.
func (l *looker) candidates(self int) (procs []proc, settled bool, err error) {
	switch {
	case l.tree.Orphan:
		roots, err := l.orphanRoots()
		if err != nil {
			return nil, false, err
		}
		return scan(roots)
	case l.tree.Host == nil || l.tree.Leader.PID == 0:
		return scan([]int{self})
	}
	roots := []int{l.tree.Leader.PID}
	for k := range l.known {
		if k.pid != l.tree.Leader.PID {
			roots = append(roots, k.pid)
		}
	}
	below, settled, err := scan(roots)
	if err != nil {
		return nil, false, err
	}
	strangers, known := l.tree.Host.strangers()
	if !known {
		return scan([]int{self})
	}
	rest, still, err := scan(strangers)
	seen := map[key]bool{}
	for _, p := range below {
		seen[p.key()] = true
	}
	for _, p := range rest {
		if !seen[p.key()] {
			below = append(below, p)
		}
	}
	return below, settled && still, err
}

// leftNothing tells that the leader is gone and the Host has no child that it did not start: whatever the leader left
// behind would be one, since a subreaper inherits the orphans below it. Members that have been seen are looked for
// themselves.
func (l *looker) leftNothing() bool {
	h := l.tree.Host
	return h != nil && len(l.known) == 0 && l.tree.Leader.PID != 0 && !h.owns(l.tree.Leader.PID) && h.strangerless()
}

// orphanRoots are the pids to begin at when the caller is not the parent: once the leader is gone, nothing but having
// seen them below it tells what else was its own.
func (l *looker) orphanRoots() ([]int, error) {
	var roots []int
	for k := range l.known {
		roots = append(roots, k.pid)
	}
	if l.tree.Leader.PID != 0 {
		roots = append(roots, l.tree.Leader.PID)
	}
	if l.tree.Instance == "" {
		return roots, nil
	}
	tagged, err := ident.ScanTagged()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("look for processes tagged with instance %s: %w", l.tree.Instance, err)
	}
	return append(roots, tagged[l.tree.Instance]...), nil
}

// choose picks the living members out of procs. It is pure but for tag, which tells the instance that a process's
// environment names ("" for none), and is asked only where the answer matters.
func choose(t Tree, self int, procs []proc, known map[key]bool, tag func(pid int) string) []proc {
	below := map[int][]proc{}
	recycled := false // the leader's number belongs to somebody else by now, and so may the session of that number
	for _, p := range procs {
		below[p.ppid] = append(below[p.ppid], p)
		recycled = recycled || p.pid == t.Leader.PID && p.start != t.Leader.Start
	}
	belongs := func(p proc) bool {
		if known[p.key()] || t.Leader.PID != 0 && p.key() == (key{t.Leader.PID, t.Leader.Start}) {
			return true
		}
		if t.Sole && p.ppid == self {
			return true
		}
		if t.Instance != "" && tag(p.pid) == t.Instance {
			return true
		}
		// A process in the leader's session or group that names another instance is another launch's.
		near := t.Leader.PID != 0 && (p.sid == t.Leader.PID || p.pgid == t.Leader.PID)
		return !t.Orphan && near && !recycled && tag(p.pid) == ""
	}
	var members []proc
	seen := map[int]bool{self: true} // never the caller, and nothing by way of it
	var take func(p proc)
	take = func(p proc) {
		if seen[p.pid] {
			return
		}
		seen[p.pid] = true
		if p.living && (!t.Orphan || p.mine) {
			members = append(members, p)
		}
		for _, c := range below[p.pid] {
			take(c)
		}
	}
	for _, p := range procs {
		if !seen[p.pid] && belongs(p) {
			take(p)
		}
	}
	return members
}

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"hermes-supervisor/fsstate/ident"
)

// Tree is everything that one launch became.
//
// A member is a living process (a zombie is not) below the caller that is the leader, in the leader's session or group,
// tagged with the instance in its environment, or below one of those. A leader at our terminal (Spec.Terminal) has no
// session of its own, and its group stands for it. What left that and wiped its environment before its parent died is
// found only where Sole is true. The caller itself is never a member.
type Tree struct {
	// Instance is the value of HERMES_SUPERVISOR_INSTANCE that marks the members. Empty: no tag is looked for.
	Instance string
	// Leader is the process that was started. PID 0: not known.
	Leader ident.Ident
	// Sole says that every descendant of the calling process belongs to the tree. The caller starts nothing else while
	// it uses the tree, and on Linux is a subreaper (NewHost).
	Sole bool
	// Host is the parent of many launches at once. With it, that a launch whose leader has ended left nothing behind is
	// told by what it did not leave to the Host, without a look at every other launch. nil: the tree is always looked at.
	Host *Host
	// Orphan says that the caller is not the parent: members are the Leader, if it lives and is verified, and tagged
	// processes of our own user, with what is below them. Anyone can write such a tag into a process of his, so this
	// is only for a caller that vouches for the record (its HMAC) and acts on a person's order.
	Orphan bool
}

// proc is what one look at a process tells.
type proc struct {
	pid, ppid, pgid, sid int
	start                int64 // in the units of ident.Ident
	living               bool  // zombies are not, unless threads of theirs live on
	mine                 bool  // of our own user
}

// key names a process for as long as the system runs.
type key struct {
	pid   int
	start int64
}

func (p proc) key() key { return key{p.pid, p.start} }

// unsettledLooks bounds how often Members looks again at a tree that does not come to rest.
const unsettledLooks = 20

// Members are the living processes of the tree, the leader included, in no particular order. One that ends while it
// is being looked at may be missing; one that begins meanwhile as well.
func (t Tree) Members() ([]ident.Ident, error) {
	looker := newLooker(t)
	union := map[key]proc{}
	for looks, sure := 0, 0; sure < sureLooks && looks < unsettledLooks; looks++ {
		seen, err := looker.look()
		if err != nil {
			return nil, err
		}
		// The kernel's list of children may leave one out while another ends: whoever was seen once is asked for below.
		for _, p := range seen.members {
			union[p.key()] = p
		}
		if sure++; !seen.settled { // something died or moved meanwhile
			sure = 0
		}
	}
	members := make([]ident.Ident, 0, len(union))
	for _, p := range union {
		id, err := ident.Of(p.pid, t.Instance)
		switch {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			return nil, fmt.Errorf("identify pid %d of instance %s: %w", p.pid, t.Instance, err)
		case id.Start == p.start:
			members = append(members, id)
		}
	}
	return members, nil
}

// Empty tells at once, and without a doubt, that nothing of the tree lives; false is no answer.
func (t Tree) Empty() bool {
	return !t.Orphan && (childless() || newLooker(t).leftNothing())
}

// Signal sends sig to the leader, and to nobody that got its number later. The error is os.ErrProcessDone when it has
// ended.
func (t Tree) Signal(sig syscall.Signal) error {
	return signalOne(proc{pid: t.Leader.PID, start: t.Leader.Start}, sig, true)
}

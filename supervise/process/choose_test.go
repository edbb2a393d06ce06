package process

import (
	"slices"
	"testing"

	"hermes-supervisor/fsstate/ident"
)

func TestChooseMembers(t *testing.T) {
	t.Parallel()
	const self, inst = 10, "aa"
	p := func(pid, ppid, sid int) proc {
		return proc{pid: pid, ppid: ppid, pgid: sid, sid: sid, start: int64(pid) * 100, living: true, mine: true}
	}
	dead := func(q proc) proc { q.living = false; return q }
	foreign := func(q proc) proc { q.mine = false; return q }
	grouped := func(q proc, pgid int) proc { q.pgid = pgid; return q }
	lead := ident.Ident{PID: 20, Start: 2000}
	tests := []struct {
		name  string
		tree  Tree
		procs []proc
		known []proc
		tags  map[int]string
		want  []int
	}{
		{
			name: "the leader and what is below it", tree: Tree{Leader: lead},
			procs: []proc{p(20, self, 20), p(21, 20, 21), p(22, 21, 22), p(30, self, 30), p(31, 30, 30)}, want: []int{20, 21, 22},
		},
		{
			name: "a sole keeper's descendants are all members", tree: Tree{Sole: true, Leader: lead},
			procs: []proc{p(20, self, 20), p(30, self, 30), p(31, 30, 30)}, want: []int{20, 30, 31},
		},
		{
			name: "an orphan in the leader's session", tree: Tree{Instance: inst, Leader: lead},
			procs: []proc{p(30, self, 20), p(31, 30, 31)}, want: []int{30, 31},
		},
		{
			name: "an orphan in the group of a leader in our session", tree: Tree{Instance: inst, Leader: lead},
			procs: []proc{grouped(p(20, self, self), 20), grouped(p(30, self, self), 20), grouped(p(31, self, self), 31)}, want: []int{20, 30},
		},
		{
			name: "our own session's other processes", tree: Tree{Instance: inst, Leader: lead},
			procs: []proc{grouped(p(20, self, self), 20), p(30, self, self), grouped(p(31, self, self), 20)}, tags: map[int]string{31: "bb"}, want: []int{20},
		},
		{
			name: "in a session of the leader's number, but of another launch", tree: Tree{Instance: inst, Leader: lead},
			procs: []proc{p(30, self, 20)}, tags: map[int]string{30: "bb"},
		},
		{
			name: "in a session of the leader's number, which is recycled", tree: Tree{Instance: inst, Leader: ident.Ident{PID: 20, Start: 1}},
			procs: []proc{p(20, self, 20), p(30, self, 20)},
		},
		{
			name: "an orphan with the tag and what is below it", tree: Tree{Instance: inst, Leader: lead},
			procs: []proc{p(30, self, 30), p(31, 30, 31), p(32, self, 32)}, tags: map[int]string{30: inst, 32: "bb"}, want: []int{30, 31},
		},
		{name: "no instance matches no missing tag", tree: Tree{}, procs: []proc{p(30, self, 30)}},
		{
			name: "an orphan known from before", tree: Tree{Leader: lead},
			procs: []proc{p(30, self, 30), p(31, self, 31)}, known: []proc{p(30, 20, 30)}, want: []int{30},
		},
		{
			name: "known, but recycled", tree: Tree{Leader: lead},
			procs: []proc{p(30, self, 30)}, known: []proc{{pid: 30, start: 1}},
		},
		{
			name: "zombies are no members, what is below them is", tree: Tree{Leader: lead},
			procs: []proc{dead(p(20, self, 20)), p(21, 20, 20)}, want: []int{21},
		},
		{
			name: "an unknown leader matches nothing", tree: Tree{Instance: inst},
			procs: []proc{p(30, self, 0)},
		},
		{
			name: "the caller inside of an orphaned tree is not a member", tree: Tree{Orphan: true, Leader: lead},
			procs: []proc{p(20, 1, 20), p(self, 20, 20), p(21, 20, 20), p(40, self, 20)}, want: []int{20, 21},
		},
		{
			name: "an orphaned tree has nothing of other users", tree: Tree{Orphan: true, Instance: inst, Leader: lead},
			procs: []proc{p(20, 1, 20), foreign(p(21, 20, 20)), foreign(p(30, 1, 30))}, tags: map[int]string{30: inst}, want: []int{20},
		},
		{
			name: "an orphaned tree is not found by session alone", tree: Tree{Orphan: true, Leader: lead},
			procs: []proc{p(30, 1, 20)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			known := map[key]bool{}
			for _, k := range tt.known {
				known[k.key()] = true
			}
			var got []int
			for _, m := range choose(tt.tree, self, tt.procs, known, func(pid int) string { return tt.tags[pid] }) {
				got = append(got, m.pid)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

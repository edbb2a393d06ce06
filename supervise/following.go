package supervise

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/follow"
	"hermes-supervisor/supervise/turn"
)

// follow begins to follow the journals for metrics and notices, where the configuration asks for that: where it does not,
// there is no follower, and nothing of it costs anything. Whoever only hands over leaves it to the run beside it.
func (l *loop) follow(ctx context.Context, root *fsstate.Store) {
	if l.HandoffsOnly || l.follower.Load() != nil || !l.config.Follow.Wanted() {
		return
	}
	f := &follow.Follower{Host: l.Host, Self: l.self, Store: root, Key: l.Key, Log: l.Log, Version: l.Version}
	f.Start(ctx, l.config.Follow)
	l.follower.Store(f)
}

// refollow follows as a configuration says that was read again. A follower stays, with nothing to do where there is nothing
// to follow for any more.
func (l *loop) refollow(ctx context.Context) {
	root := l.homes[l.Root.Path]
	if f := l.follower.Load(); f != nil || root == nil {
		f.Configure(l.config.Follow)
		return
	}
	l.follow(ctx, root.store)
	f := l.follower.Load()
	if f == nil {
		return
	}
	for _, h := range l.homes {
		f.Serve(h.store, slices.Collect(maps.Keys(h.runners)))
		for name, r := range h.runners {
			f.Service(h.Home, name, phase.Phase(r.phase.Load()).String())
		}
	}
	l.wakeUp()
	nudge(l.deliveries.wake)
}

// followService says how a service stands before its runner has anything to tell.
func (l *loop) followService(h *home, r *running) {
	if l.follower.Load() == nil {
		return
	}
	var s phase.State
	rec, err := fsstate.ServiceFiles{Store: h.store, Key: l.Key}.Get(r.spec.Name)
	if err != nil || json.Unmarshal(rec.State, &s) != nil {
		s = phase.State{}
	}
	l.follower.Load().Service(h.Home, r.spec.Name, s.Phase.String())
}

// followTurns says which turns of a home are open.
func (l *loop) followTurns(h *home, views []turn.View) {
	if l.follower.Load() == nil {
		return
	}
	open := map[string]int{}
	for _, v := range views {
		open[v.Turn.Phase]++
	}
	l.follower.Load().Turns(h.Home, open)
}

// followHandoffs says which handoffs of a home are open.
func (l *loop) followHandoffs(h *home) {
	if l.follower.Load() == nil {
		return
	}
	pending, running := h.desk.Open()
	l.follower.Load().Handoffs(h.Home, map[string]int{string(queue.Pending): pending, string(queue.Running): running})
}

package supervise

import (
	"context"
	"sync/atomic"
	"time"

	"hermes-supervisor/supervise/turn"
)

// orphan is an agent that has lost its keeper, as this loop looks on.
type orphan struct {
	turn.Orphan

	ending atomic.Bool // it has stalled, and is being ended
}

// watchSilence ends the agent of a turn whose keeper is dead when it stalls, where hermes.toml names it: otherwise it would
// hold its session for ever.
func (l *loop) watchSilence(ctx context.Context, h *home, v turn.View) {
	key := h.key(v.Turn.Session)
	if _, known := l.config.Agents(v.Turn.Agent); !known {
		return
	}
	o := l.turns.orphans[key]
	if o == nil {
		o = &orphan{}
		l.turns.orphans[key] = o
	}
	if o.ending.Load() {
		return
	}
	now := time.Now()
	stalled, again := h.room.Silent(&o.Orphan, v, now)
	if again > 0 {
		l.lookAt(now.Add(again))
	}
	if !stalled {
		return
	}
	l.Say("turn %.40q: its agent has lost its keeper, and shows no sign of life for %s: ending it", v.Turn.Session, v.Turn.StallLimit())
	o.ending.Store(true)
	room := &turn.Room{Store: h.store, Key: l.Key, Settings: l.config.Turns, Agents: l.config.Agents, Log: l.Log} // that of the home is the loop's
	go func() {
		if err := room.EndStalled(ctx, v); err != nil && ctx.Err() == nil {
			l.Log.Warn("agent that stalled not ended", "session", v.Turn.Session, "error", err.Error())
		}
		o.Orphan = turn.Orphan{} // one that lives on has its limit once more
		o.ending.Store(false)
	}()
}

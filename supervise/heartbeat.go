package supervise

import (
	"time"

	"hermes-supervisor/fsstate"
)

// MaxBeatAge is how old the heartbeat of a `run` may be whose loop turns: one is due at each rescan, and the loop may be
// held up between two of them by a machine that is short of everything.
const MaxBeatAge = 90 * time.Second

// nameOurselves leaves word in the home that this process is its `run`. Whoever only hands over is none.
func (l *loop) nameOurselves() {
	h := l.homes[l.Root.Path]
	if h == nil || l.HandoffsOnly {
		return
	}
	if err := h.store.PutSupervisor(fsstate.Supervisor{Supervisor: l.self, StartedAt: time.Now().UTC()}); err != nil {
		l.Log.Warn("`status --health` will not find this run", "error", err.Error())
	}
	l.beat()
}

// beat says that the loop turns. One that fails is missed by whoever looks.
func (l *loop) beat() {
	if h := l.homes[l.Root.Path]; h != nil && !l.HandoffsOnly {
		_ = h.store.Beat(l.self.Instance, time.Now())
	}
}

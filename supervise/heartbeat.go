package supervise

import (
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"
)

// MaxBeatAge is how old the heartbeat of a `run` may be whose loop turns: one is due at each rescan, and the loop may be
// held up between two of them by a machine that is short of everything.
const MaxBeatAge = 90 * time.Second

// beat says that the loop turns, and that this process is the `run` of the root home: what somebody has removed, broken or
// put in its place is written again, since a probe that does not find us may end us. A beat that fails is missed by whoever
// looks. Whoever only hands over is no `run`.
func (l *loop) beat() {
	h := l.homes[l.Root.Path]
	if h == nil || l.HandoffsOnly {
		return
	}
	if info, err := h.store.Stat("", fsstate.SupervisorFile); err != nil || info != l.named {
		l.named, err = nameRun(h.store, l.self)
		if err != nil {
			l.Log.Warn("`status --health` does not find this run", "error", err.Error())
		}
	}
	_ = h.store.Beat(l.self.Instance, time.Now())
}

// nameRun names a process as the `run` of a home, and returns the file as it is then; zero where another one that lives
// is named there. That one came first: who comes second may be refused, and would leave the name of a dead one behind.
func nameRun(store *fsstate.Store, self ident.Ident) (fsstate.Info, error) {
	r, err := store.Supervisor()
	switch {
	case err != nil:
	case r.Supervisor == self:
		return store.Stat("", fsstate.SupervisorFile)
	case r.Supervisor.Instance != self.Instance && service.JudgeSupervisor(store, r.Supervisor).Verdict == ident.Alive:
		return fsstate.Info{}, nil
	}
	if err := store.PutSupervisor(fsstate.Supervisor{Supervisor: self, StartedAt: time.Now().UTC()}); err != nil {
		return fsstate.Info{}, err
	}
	return store.Stat("", fsstate.SupervisorFile)
}

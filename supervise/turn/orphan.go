package turn

import (
	"context"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Orphan is an agent whose keeper is dead, as somebody looks on who can end it when it stalls: nobody else does. What it
// printed before the first look is not known, so it has its whole limit from then on.
type Orphan struct {
	instance string
	printed  int64 // bytes
	heard    time.Time
	quiet    silence
}

// Silent tells whether the agent of a turn has printed nothing for the turn's --stall, and after what time to look again; 0
// where it is none to be ended so: it has a keeper, no limit, or a record that anyone may have written.
func (r *Room) Silent(o *Orphan, v View, now time.Time) (stalled bool, again time.Duration) {
	if !stallable(v.Turn, v.Keeper, v.Owner) {
		*o = Orphan{}
		return false, 0
	}
	printed := r.printed(v.Turn.Owner.Instance)
	if o.instance != v.Turn.Owner.Instance {
		*o = Orphan{instance: v.Turn.Owner.Instance, printed: printed, heard: now, quiet: silence{limit: v.Turn.StallLimit(), woke: now}}
	}
	if printed != o.printed {
		o.printed, o.heard = printed, now
	}
	again = o.quiet.wait(o.heard, now)
	return again == 0, again
}

func stallable(t *fsstate.Turn, keeper, owner ident.Finding) bool {
	return t.StallLimit() > 0 && t.Verified && !t.Reported() && t.Phase == fsstate.PhaseRunning && keeper.Verdict == ident.Dead && owner.Verdict == ident.Alive
}

// printed is the size of what an instance has printed.
func (r *Room) printed(instance string) (n int64) {
	for _, suffix := range []string{".out", ".err"} {
		if info, err := r.Store.Stat(fsstate.Run, instance+suffix); err == nil {
			n += info.Size
		}
	}
	return n
}

// EndStalled ends the agent of a turn that Silent has found to have stalled, as its keeper would have. The turn then stands
// as one whose end nobody saw, since the agent may have concluded it all the same.
func (r *Room) EndStalled(ctx context.Context, v View) error {
	t, err := r.recordStalled(ctx, v.Turn)
	if err != nil || t == nil {
		return err
	}
	agent, _ := r.agent(t.Agent)
	return process.Tree{Instance: t.Owner.Instance, Leader: t.Owner, Orphan: true}.End(ctx, agent.stop())
}

// recordStalled makes the order durable, under the session's lock; nil where the turn is another one by now.
func (r *Room) recordStalled(ctx context.Context, seen *fsstate.Turn) (*fsstate.Turn, error) {
	unlock, err := r.lock(ctx, seen.Session, "stall")
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, err := r.stand(seen.Session)
	if err != nil || st.turn == nil || st.turn.Owner.Instance != seen.Owner.Instance || !stallable(st.turn, st.keeper, st.owner) {
		return nil, err
	}
	t := st.turn
	t.StalledAt = time.Now().UTC()
	if err := r.files().Put(t); err != nil {
		return nil, err
	}
	r.note(t, "stalled", t.Phase, string(policy.ReasonStalled), nil)
	return t, nil
}

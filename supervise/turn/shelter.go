package turn

import (
	"context"
	"errors"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// Shelter takes what Hermes's own file says of the open turns of a process that we are about to stop into records of ours. A
// stop is no interrupt, but a backend that is asked to end may retire the entries of turns that it cuts
// (NousResearch/hermes-agent#81319). One that it finishes on the way out is continued as well, told that it may be complete.
func (r *Room) Shelter(ctx context.Context, backend ident.Ident) error {
	backend.Instance = "" // its files in run/ are its service's
	markers, err := hermes.ReadMarkers(r.Store.Home().Path)
	for _, m := range markers {
		if m.HasWriter && m.WriterPID == backend.PID {
			err = errors.Join(err, r.shelter(ctx, m, backend))
		}
	}
	return err
}

func (r *Room) shelter(ctx context.Context, m hermes.Marker, backend ident.Ident) error {
	unlock, err := r.lock(ctx, m.Session, "shelter")
	if err != nil {
		return err
	}
	defer unlock()
	if ended, err := r.files().Outcome(m.Session, fsstate.HermesID(m.StartedAt)); ended != nil || err != nil {
		return err
	}
	if open, err := r.open(m.Session); open != nil || err != nil { // a keeper has it, whose agent is in that backend
		return err
	}
	t := adopted(m)
	t.Owner, t.Drained, t.Unobserved, t.Verified = backend, true, true, true
	if err := r.files().Put(t); err != nil {
		return err
	}
	r.note(t, "sheltered", fsstate.PhaseRunning, string(policy.ReasonDrained), nil)
	return nil
}

// sheltered tells a record of Shelter's from what is only in Hermes's file.
func sheltered(t *fsstate.Turn) bool { return t.Owner.Start != 0 }

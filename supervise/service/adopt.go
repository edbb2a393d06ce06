package service

import (
	"context"
	"slices"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

// adopt makes a living process that an earlier supervisor started the current launch. It must be the one that the
// verified record names by pid and start; where only the instance was recorded before that supervisor died, the one that
// it named beside the witness and that carries the instance in its environment. What else carries that is there to be
// ended. Otherwise the service lives, and nobody can tell who it is: false.
func (j *job) adopt(ctx context.Context) bool {
	id := j.rec.Process
	if verdict := ident.Check(id); verdict != ident.Alive {
		tagged, err := j.Tagged() // a held witness needed no scan
		if err != nil {
			return false
		}
		left := tagged[id.Instance]
		if id.PID == 0 { // the supervisor died between fork and record
			if _, pid, start := named(j.Files.Store, id.Instance); pid != 0 && slices.Contains(left, pid) {
				id.PID, id.Start = pid, start
				verdict = ident.Check(id)
			} else {
				verdict = ident.Dead // or nobody can tell which one it is: then it has to start anew
			}
		}
		if verdict != ident.Alive { // something that it started lives: whom to end must be known
			return verdict == ident.Dead && len(left) > 0 && j.adoptRest(ctx, id)
		}
		j.rec.Process = id
	}
	l := j.watch(ctx, id, process.Tree{Instance: id.Instance, Leader: id, Orphan: true})
	l.began = j.state.StartedAt
	gone, ready := make(chan struct{}), make(chan struct{})
	name := j.spec.Name
	exit := phase.Exit{Code: -1}
	l.gone, l.status = gone, func() phase.Exit { return exit }
	go func() {
		signalled := false
		e, known, err := process.AwaitEnd(ctx, id, func() { signalled = true; close(ready) })
		if !signalled {
			close(ready)
		}
		if err != nil { // nobody has seen an end
			if ctx.Err() == nil {
				j.Log.Warn("service cannot be watched", "service", name, "error", err.Error())
			}
			return
		}
		if known {
			exit = phase.Exit{Code: e.Code, Signal: e.Signal, Observed: true}
		}
		close(gone)
	}()
	<-ready
	return true
}

// adoptRest takes over what a leader left behind that ended while nobody watched: it is there to be ended.
func (j *job) adoptRest(ctx context.Context, id ident.Ident) bool {
	l := j.watch(ctx, id, process.Tree{Instance: id.Instance, Leader: id, Orphan: true})
	gone := make(chan struct{})
	close(gone)
	l.gone, l.status = gone, func() phase.Exit { return phase.Exit{Code: -1} }
	return true
}

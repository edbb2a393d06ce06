package turn

import (
	"slices"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// findEnd looks for an end that no keeper saw: keeper and agent are gone, and the agent's own word in its output, or its
// exit where we happened to watch it, says how the turn ended. Found, it is on disk before anything follows from it.
func (j *job) findEnd(st *standing) error {
	t := st.turn
	if t == nil || t.Crash != nil || t.Drained || t.Owner.Instance == "" || st.keeper.Verdict != ident.Dead || st.owner.Verdict != ident.Dead ||
		t.Phase != fsstate.PhaseRunning && t.Phase != fsstate.PhaseIntended {
		return nil
	}
	found, err := j.Room.search(t.Owner.Instance, j.Request.Agent)
	if err != nil {
		return err
	}
	found.end = found.end || t.AgentEnded
	e, seen := j.seenEnd(t)
	if !found.end && !found.failed && !seen {
		return nil
	}
	if found.into(&e); !seen && !e.EndEvent {
		e.Code = 1
	}
	_, resumed := j.Request.Agent.argv(t)
	e.UnknownSession = resumed && (found.unknown || seen && slices.Contains(j.Request.Agent.Own.UnknownExit, e.Code))
	e.CrashCodes, e.ConcludedCodes = j.Request.Agent.CrashExit, j.Request.Agent.ConcludedExit
	end := ending{ExitFacts: e}
	class, reason := policy.ClassifyExit(e)
	from := t.Phase
	switch class {
	case policy.ExitConcluded, policy.ExitInterrupted:
		end.settle(class)
		t.Phase = fsstate.PhaseConcluded
		t.End = &fsstate.End{Code: end.Code, Signal: end.Signal, Reason: string(reason), At: time.Now().UTC()}
		t.Receipt = j.receipt()
	case policy.ExitCrashed, policy.ExitBusy, policy.ExitDrained, policy.ExitRateLimited, policy.ExitUnknownSession:
		t.Crash, t.Unobserved = crashOf(end, reason), false
		st.facts.EndUnobserved = false
	}
	if err := j.Room.files().Put(t); err != nil {
		return err
	}
	st.facts.Phase = t.Phase
	j.Room.note(t, "found", from, string(reason), &end.Code)
	return nil
}

// sighting is the end of another keeper's agent that this one has seen.
type sighting struct {
	instance string
	exit     process.Exit
}

// seenEnd is what this keeper saw of the end of a turn's last run; false where it saw nothing.
func (j *job) seenEnd(t *fsstate.Turn) (policy.ExitFacts, bool) {
	if j.seen == nil || j.seen.instance != t.Owner.Instance {
		return policy.ExitFacts{}, false
	}
	x := j.seen.exit
	return policy.ExitFacts{Code: x.Code, Signal: x.Signal, Signaled: x.Signaled}, true
}

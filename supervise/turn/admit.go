package turn

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// standing is the turn that an admission finds, judged.
type standing struct {
	turn          *fsstate.Turn // nil: none
	keeper, owner ident.Finding
	facts         policy.Facts
	ended         string // the file in ended/ that it was taken from, for a resume; "" = it is open
}

// unopened tells whether the turn has no record of ours in turns/ yet: it comes from ended/ or from Hermes's own file.
func (st standing) unopened() bool {
	return st.ended != "" || st.turn.Origin != nil && st.turn.Reported() && !sheltered(st.turn)
}

// admit settles what this call does about the turn that it finds: start, continue, replace, finish, or nothing. When
// it returns neither an outcome nor an error, the turn is this keeper's and either runs or waits out a back-off.
func (j *job) admit(ctx context.Context) (*Outcome, error) {
	until := time.Now().Add(j.Request.Wait)
	for {
		out, err := j.admitLocked(ctx)
		if mayWait(out) && j.Request.Wait > 0 {
			if out = j.waitFor(ctx, until); out == nil {
				continue
			}
		}
		if err != nil || out != nil || j.turn.Phase != fsstate.PhaseConcluded {
			return out, err
		}
		// A concluded turn of another prompt stood in the way: its receipt and removal come first, then ours.
		if out, err := j.finish(ctx); err != nil || out.State != Concluded && out.State != Interrupted {
			return out, err
		}
		j.turn = nil
	}
}

func (j *job) admitLocked(ctx context.Context) (*Outcome, error) {
	unlock, err := j.Room.lock(ctx, j.Request.Session, "turn run")
	if err != nil {
		return nil, err
	}
	admitted := &admitting{job: j, unlock: unlock}
	defer admitted.release()

	fault.At("admit.decide")
	if out, err := j.recorded(); out != nil || err != nil {
		return out, err
	}
	if _, err := exec.LookPath(j.Request.Agent.Command[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, &UsageError{fmt.Sprintf("run %s: no such program", j.Request.Agent.Command[0])}
	}
	st, err := j.Room.stand(j.Request.Session)
	if err != nil {
		return nil, err
	}
	if st.turn == nil && j.Request.Fresh {
		if st, err = j.Room.restore(j.Request.Session); err != nil {
			return nil, err
		}
	}
	if err := j.findEnd(&st); err != nil {
		return nil, err
	}
	prompt := j.Request.Prompt
	if st.turn != nil && !j.Request.HasPrompt {
		prompt = st.turn.Prompt
	}
	stopped, err := j.Room.stopAsked(j.Request.Session, prompt, j.Started)
	if err != nil {
		return nil, err
	}
	admission, reason := policy.Admit(j.admitFacts(st, stopped))
	return admitted.carryOut(ctx, admission, reason, st)
}

// recorded answers a request whose id has ended before: its outcome, and nothing runs.
func (j *job) recorded() (*Outcome, error) {
	if j.Request.ID == "" {
		return nil, nil
	}
	o, err := j.Room.files().Outcome(j.Request.Session, j.Request.ID)
	if o == nil || err != nil {
		return nil, err
	}
	if !o.Verified && j.Room.signs() {
		return nil, &PermissionError{fmt.Sprintf("answer for --id %q: its recorded end does not verify, so anyone may have written it; use a new id, or remove %s", j.Request.ID, j.Room.files().OutcomePath(o.Session, o.ID))}
	}
	if j.Request.HasPrompt && fsstate.PromptSum(j.Request.Prompt) != o.PromptSHA256 {
		return nil, &UsageError{fmt.Sprintf("--id %q has ended with another prompt: use a new id for a new request", j.Request.ID)}
	}
	if err := j.removeRecorded(o); err != nil {
		return nil, err
	}
	j.replay(o.Instance)
	return &Outcome{
		State: stateOf(o.End), Reason: policy.Reason(o.End.Reason), Detail: "the request had ended before: nothing was run",
		Session: o.Session, Code: o.End.Code, Signal: o.End.Signal, Attempts: o.Attempts, Instance: o.Instance,
		StartedAt: o.StartedAt, EndedAt: o.End.At, Replayed: true,
	}, nil
}

// removeRecorded completes the removal of a marker whose keeper died after it had recorded the outcome: the receipt was
// acknowledged by then, and is not due again.
func (j *job) removeRecorded(o *fsstate.Outcome) error {
	t, err := j.Room.open(j.Request.Session)
	if err != nil || t == nil || t.Phase != fsstate.PhaseConcluded || t.RequestID != o.ID || t.Owner.Instance != o.Instance {
		return err
	}
	return j.Room.remove(t, "removed", policy.Reason(t.End.Reason))
}

// stand reads and judges the turn of a session, under its lock: ours, or else the one that Hermes's own file names.
func (r *Room) stand(session string) (standing, error) {
	t, err := r.open(session)
	if err != nil {
		return standing{}, err
	}
	s := r.look()
	if t == nil {
		if t = s.hermesTurn(session); t == nil {
			var st standing
			if found, lives := s.stray(session); lives {
				st.owner = found
			}
			return st, nil
		}
	}
	return s.judge(t, policy.Person), nil
}

func (s *scene) judge(t *fsstate.Turn, by policy.By) standing {
	s.settle(t)
	st := standing{turn: t, keeper: s.keeper(t), owner: s.owner(t)}
	if !t.Verified && st.owner.Verdict != ident.Alive { // what it says of its owner may be anyone's word
		if found, lives := s.stray(t.Session); lives {
			st.owner = found
		}
	}
	hermes := t.Origin != nil && t.Reported() // Hermes removes the entry of a turn that ended: one that stands was cut
	if !hermes && t.Phase != fsstate.PhaseConcluded && t.Crash == nil && !t.Drained && st.keeper.Verdict == ident.Dead && st.owner.Verdict == ident.Dead {
		t.Unobserved = true
	}
	st.facts = s.facts(t, by, st.keeper, st.owner)
	return st
}

// settle makes a turn whose request has a recorded end a concluded one: a copy of its record that came back, or that
// its keeper had no time to remove, must not start it again.
func (s *scene) settle(t *fsstate.Turn) {
	if t.RequestID == "" || t.Phase == fsstate.PhaseConcluded {
		return
	}
	o, err := s.room.files().Outcome(t.Session, t.RequestID)
	if err != nil || o == nil || !o.Verified && s.room.signs() {
		return
	}
	t.Phase, t.End, t.Receipt = fsstate.PhaseConcluded, &o.End, nil
}

func (j *job) admitFacts(st standing, stopped bool) policy.AdmitFacts {
	a := policy.AdmitFacts{
		Now: time.Now(), Settings: j.Room.Settings,
		HasPrompt: j.Request.HasPrompt, HasID: j.Request.ID != "", StopRequested: stopped,
	}
	t := st.turn
	if t == nil {
		a.Owner = life(st.owner.Verdict)
		return a
	}
	a.Exists, a.Phase, a.Verified = true, t.Phase, t.Verified || !j.Room.signs()
	a.Keeper, a.Owner = st.facts.Keeper, st.facts.Owner
	a.SamePrompt = j.Request.HasPrompt && t.Prompt == j.Request.Prompt
	a.SameID = j.Request.ID != "" && t.RequestID == j.Request.ID
	if j.Request.ID != "" && t.RequestID == "" {
		a.HasID = false // an id given to a turn that had none: the prompt decides, and the turn takes the id
	}
	if t.Receipt != nil {
		a.ReceiptPending = t.Receipt.Pending
		a.ReceiptRunning = t.Receipt.Pending && j.Room.look().receipt(t).Verdict != ident.Dead
	}
	a.Turn = st.facts
	if a.SamePrompt {
		a.Turn.Verified = true // the prompt is the person's own, whoever wrote the record
	}
	return a
}

func (j *job) receipt() *fsstate.Receipt {
	if j.Request.Receipt == "" {
		return nil
	}
	return &fsstate.Receipt{Pending: true}
}

// refusal says who holds the session.
func refusal(st standing) string {
	switch {
	case st.turn == nil:
		return "agent: " + st.owner.Why
	case st.keeper.Verdict != ident.Dead:
		return fmt.Sprintf("keeper pid %d: %s", st.turn.Keeper.PID, st.keeper.Why)
	case st.owner.Verdict != ident.Dead:
		return "agent: " + st.owner.Why
	}
	return ""
}

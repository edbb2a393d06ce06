package turn

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// standing is the turn that an admission finds, judged.
type standing struct {
	turn          *fsstate.Turn // nil: none
	keeper, owner ident.Finding
	facts         policy.Facts
}

// admit settles what this call does about the turn that it finds: start, continue, replace, finish, or nothing. When
// it returns neither an outcome nor an error, the turn is this keeper's and either runs or waits out a back-off.
func (j *job) admit(ctx context.Context) (*Outcome, error) {
	if _, err := exec.LookPath(j.Request.Agent.Command[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, &UsageError{fmt.Sprintf("run %s: no such program", j.Request.Agent.Command[0])}
	}
	for {
		out, err := j.admitLocked(ctx)
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

	if out, err := j.recorded(); out != nil || err != nil {
		return out, err
	}
	st, err := j.Room.stand(j.Request.Session)
	if err != nil {
		return nil, err
	}
	if err := j.findEnd(&st); err != nil {
		return nil, err
	}
	stopped, err := j.Room.stopAsked(j.Request.Session, j.Started)
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
	if j.Request.HasPrompt && fsstate.PromptSum(j.Request.Prompt) != o.PromptSHA256 {
		return nil, &UsageError{fmt.Sprintf("--id %q has ended with another prompt: use a new id for a new request", j.Request.ID)}
	}
	j.replay(o.Instance)
	return &Outcome{
		State: stateOf(o.End), Reason: policy.Reason(o.End.Reason), Detail: "the request had ended before: nothing was run",
		Session: o.Session, Code: o.End.Code, Signal: o.End.Signal, Attempts: o.Attempts, Instance: o.Instance,
		StartedAt: o.StartedAt, EndedAt: o.End.At, Replayed: true,
	}, nil
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
			return standing{}, nil
		}
	}
	return s.judge(t, policy.Person), nil
}

func (s *scene) judge(t *fsstate.Turn, by policy.By) standing {
	st := standing{turn: t, keeper: s.keeper(t), owner: s.owner(t)}
	if t.Phase != fsstate.PhaseConcluded && t.Crash == nil && !t.Drained && st.keeper.Verdict == ident.Dead && st.owner.Verdict == ident.Dead {
		t.Unobserved = true
	}
	st.facts = s.facts(t, by, st.keeper, st.owner)
	return st
}

func (j *job) admitFacts(st standing, stopped bool) policy.AdmitFacts {
	a := policy.AdmitFacts{
		Now: time.Now(), Settings: j.Room.Settings,
		HasPrompt: j.Request.HasPrompt, HasID: j.Request.ID != "", StopRequested: stopped,
	}
	t := st.turn
	if t == nil {
		return a
	}
	a.Exists, a.Phase = true, t.Phase
	a.Keeper, a.Owner = st.facts.Keeper, st.facts.Owner
	a.SamePrompt = j.Request.HasPrompt && t.Prompt == j.Request.Prompt
	a.SameID = j.Request.ID != "" && t.RequestID == j.Request.ID
	if j.Request.ID != "" && t.RequestID == "" {
		a.HasID = false // an id given to a turn that had none: the prompt decides, and the turn takes the id
	}
	if t.Receipt != nil {
		a.ReceiptPending = t.Receipt.Pending
		a.ReceiptRunning = t.Receipt.Pending && j.Room.look().witness(t.Receipt.Instance) == ident.WitnessHeld
	}
	a.Turn = st.facts
	if a.SamePrompt {
		a.Turn.Verified = true // the prompt is the person's own, whoever wrote the record
	}
	return a
}

// findEnd looks for an end that nobody saw: keeper and agent are gone, and the agent's own word in its output says
// that the turn was over. Found, it is on disk before anything else follows from it.
func (j *job) findEnd(st *standing) error {
	t := st.turn
	if t == nil || t.Phase != fsstate.PhaseRunning || t.Crash != nil || st.keeper.Verdict != ident.Dead || st.owner.Verdict != ident.Dead {
		return nil
	}
	found, err := j.Room.search(t.Owner.Instance, j.Request.Agent.Events)
	if err != nil || !found.end && !found.failed {
		return err
	}
	e := policy.ExitFacts{EndEvent: found.end, ErrorEvent: found.failed}
	if !found.end {
		e.Code = 1
	}
	_, reason := policy.ClassifyExit(e)
	t.Phase = fsstate.PhaseConcluded
	t.End = &fsstate.End{Code: e.Code, Reason: string(reason), At: time.Now().UTC()}
	t.Receipt = j.receipt()
	if err := j.Room.files().Put(t); err != nil {
		return err
	}
	st.facts.Phase = t.Phase
	j.Room.note(t, "concluded", fsstate.PhaseRunning, string(reason), &e.Code)
	return nil
}

func (j *job) receipt() *fsstate.Receipt {
	if j.Request.Receipt == "" {
		return nil
	}
	return &fsstate.Receipt{Pending: true}
}

// admitting is an admission under the lock, which launch keeps and everything slow gives back first.
type admitting struct {
	*job

	unlock func()
}

func (a *admitting) release() {
	if a.unlock != nil {
		a.unlock()
		a.unlock = nil
	}
}

// carryOut does what policy said.
func (a *admitting) carryOut(ctx context.Context, admission policy.Admission, reason policy.Reason, st standing) (*Outcome, error) {
	switch admission {
	case policy.Refuse:
		return &Outcome{State: Refused, Reason: reason, Detail: refusal(st), Session: a.Request.Session}, nil
	case policy.Nothing:
		return nil, &UsageError{fmt.Sprintf("nothing to continue for session %q, and no prompt was given", a.Request.Session)}
	case policy.Stopped:
		a.Say("a stop request came first: nothing was started")
		return &Outcome{State: Interrupted, Reason: reason, Session: a.Request.Session, Code: 130, Signal: 2, EndedAt: time.Now().UTC()}, nil
	case policy.Start:
		return a.begin(ctx)
	case policy.Replace, policy.GiveUpThenStart:
		if err := a.giveUp(st.turn, reason); err != nil {
			return nil, err
		}
		return a.begin(ctx)
	case policy.GiveUp:
		if a.Request.Fresh {
			st.turn.Attempts = 0
			return a.continueTurn(ctx, st.turn)
		}
		if err := a.giveUp(st.turn, reason); err != nil {
			return nil, err
		}
		a.turn = st.turn
		return a.outcome(GaveUp, reason, "the turn is in ended/"), nil
	case policy.ContinueTurn:
		return a.continueTurn(ctx, st.turn)
	case policy.Finish:
		if err := a.takeOver(st.turn); err != nil {
			return nil, err
		}
		a.release()
		out, err := a.finish(ctx)
		if out != nil {
			a.replay(st.turn.Owner.Instance)
			out.Replayed = true
		}
		return out, err
	case policy.FinishThenStart:
		return nil, a.takeOver(st.turn)
	case policy.Retire, policy.RetireThenStart:
		if err := a.Room.remove(st.turn, "interrupted", reason); err != nil {
			return nil, err
		}
		if admission == policy.RetireThenStart {
			return a.begin(ctx)
		}
		return &Outcome{State: Interrupted, Reason: reason, Session: a.Request.Session, Code: 130, Signal: 2, EndedAt: time.Now().UTC()}, nil
	}
	return nil, fmt.Errorf("admit session %q: no way to carry out %v", a.Request.Session, admission)
}

// begin starts a person's own prompt.
func (a *admitting) begin(ctx context.Context) (*Outcome, error) {
	t := &fsstate.Turn{
		Session: a.Request.Session, Prompt: a.Request.Prompt, Source: a.Request.Source, Agent: a.Request.Agent.Name,
		RequestID: a.Request.ID, Cwd: a.Request.Cwd, AutoContinue: a.Request.AutoContinue,
		StartedAt: time.Now().UTC(), Keeper: a.self, Verified: true,
	}
	r, err := a.launch(t)
	if err != nil {
		return nil, errors.Join(err, a.Room.files().Delete(t.Session)) // it never began, and the caller is told
	}
	a.follow(ctx, t, r)
	return nil, nil
}

// continueTurn continues the dead turn: at once, or after the back-off that is in force.
func (a *admitting) continueTurn(ctx context.Context, old *fsstate.Turn) (*Outcome, error) {
	if time.Now().Before(old.RetryAt) {
		return nil, a.takeOver(old)
	}
	a.Say("continuing the turn of %s: attempt %d of %d", old.StartedAt.Local().Format(time.DateTime), old.Attempts+1, a.Room.Settings.MaxAttempts)
	t := *old
	return nil, a.relaunch(ctx, &t)
}

// takeOver makes this keeper the turn's, durably.
func (a *admitting) takeOver(old *fsstate.Turn) error {
	t := *old
	t.Keeper, t.Verified = a.self, true
	if t.RequestID == "" {
		t.RequestID = a.Request.ID
	}
	if err := a.Room.files().Put(&t); err != nil {
		return err
	}
	a.turn = &t
	return nil
}

// giveUp moves a turn to ended/; Hermes's own entry is remembered as ended too, lest it come back.
func (a *admitting) giveUp(t *fsstate.Turn, reason policy.Reason) error {
	file, err := a.Room.giveUp(t, reason)
	if err != nil {
		return err
	}
	a.Say("the turn of %s went to ended/%s: %s", t.StartedAt.Local().Format(time.DateTime), file, reason.Text())
	a.dropRunFiles(t.Owner.Instance)
	return nil
}

func (j *job) follow(ctx context.Context, t *fsstate.Turn, r *run) {
	j.turn, j.run, j.by = t, r, policy.Auto
	punch := j.Request.ID == "" && !j.Request.HoldOutput
	r.out.follow(ctx, j.Stdout, j.Request.HoldOutput, punch)
	r.err.follow(ctx, j.Stderr, j.Request.HoldOutput, punch)
}

// relaunch charges an attempt and starts the continuation, under the lock. A launch that provably never happened is
// refunded, and the marker stays for the next try.
func (j *job) relaunch(ctx context.Context, t *fsstate.Turn) error {
	old := *t
	t.Attempts++
	t.Keeper, t.Verified = j.self, true
	t.AutoContinue = t.AutoContinue && j.Request.AutoContinue
	t.Drained, t.Crash = false, nil
	if t.RequestID == "" {
		t.RequestID = j.Request.ID
	}
	r, err := j.launch(t)
	if err != nil {
		*t = old
		t.Keeper, t.Verified = j.self, true
		return errors.Join(err, j.Room.files().Put(t))
	}
	j.follow(ctx, t, r)
	j.spent = append(j.spent, old.Owner.Instance)
	return nil
}

// refusal says who holds the session.
func refusal(st standing) string {
	switch {
	case st.turn == nil:
		return ""
	case st.keeper.Verdict != ident.Dead:
		return fmt.Sprintf("keeper pid %d: %s", st.turn.Keeper.PID, st.keeper.Why)
	case st.owner.Verdict != ident.Dead:
		return "agent: " + st.owner.Why
	}
	return ""
}

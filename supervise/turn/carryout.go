package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

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
		detail := refusal(st)
		if pause := a.Room.Paused(); reason == policy.ReasonPaused && pause.Err != nil { // nobody gave that order
			detail = pause.Err.Error()
		}
		return &Outcome{State: Refused, Reason: reason, Detail: detail, Session: a.Request.Session}, nil
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
			st.turn.Attempts, st.turn.Deferrals = 0, 0
			return a.continueTurn(ctx, st)
		}
		if err := a.giveUp(st.turn, reason); err != nil {
			return nil, err
		}
		a.turn = st.turn
		return a.outcome(GaveUp, reason, "the turn is in ended/"), nil
	case policy.ContinueTurn:
		return a.continueTurn(ctx, st)
	case policy.Finish:
		if err := a.takeOver(st.turn); err != nil {
			return nil, err
		}
		a.release()
		a.replay(st.turn.Owner.Instance) // before finish, which removes it
		out, err := a.finish(ctx)
		if out != nil {
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
		Session: a.Request.Session, Prompt: a.Request.Prompt, Source: a.Request.Source, Agent: a.Request.Agent.Name, Kind: a.Request.Agent.Kind,
		RequestID: a.Request.ID, Cwd: a.Request.Cwd, Call: a.Request.Call, AutoContinue: a.Request.AutoContinue,
		StartedAt: time.Now().UTC(), Keeper: a.self, Verified: true,
	}
	if err := a.Room.files().Fits(t); err != nil {
		return nil, err
	}
	r, err := a.launch(t)
	if err != nil {
		if removing := a.Room.files().Delete(t.Session); removing != nil {
			return nil, errors.Join(err, removing)
		}
		a.dropRunFiles(t.Owner.Instance)
		return nil, err // it never began, and the caller is told
	}
	a.follow(ctx, t, r)
	return nil, nil
}

// continueTurn continues the dead turn: at once, or after the back-off that is in force.
func (a *admitting) continueTurn(ctx context.Context, st standing) (*Outcome, error) {
	t := *st.turn
	if !t.Verified {
		// The person vouches for the prompt, not for where it is carried out, nor for when.
		t.Cwd, t.RetryAt, t.Deferrals = a.Request.Cwd, time.Time{}, 0
	}
	if info, err := os.Stat(t.Cwd); t.Cwd != "" && (err != nil || !info.IsDir()) {
		a.Say("the turn's working folder %s is gone: continuing in this one", t.Cwd)
		t.Cwd = a.Request.Cwd
	}
	if time.Now().Before(t.RetryAt) {
		return nil, a.takeOver(&t)
	}
	a.Say("continuing the turn of %s: attempt %d of %d", t.StartedAt.Local().Format(time.DateTime), charged(&t)+1, a.Room.Settings.MaxAttempts)
	if err := a.relaunch(ctx, &t, st.unopened()); err != nil || st.ended == "" {
		return nil, err
	}
	return nil, a.Room.files().DropEnded(st.ended)
}

// takeOver makes this keeper the turn's, durably. Only the person's own prompt makes a record verified that was not,
// and only the same request gives its id to a turn that had none.
func (a *admitting) takeOver(old *fsstate.Turn) error {
	t := *old
	samePrompt := a.Request.HasPrompt && a.Request.Prompt == t.Prompt
	t.Keeper, t.Verified = a.self, t.Verified || samePrompt
	if t.RequestID == "" && (samePrompt || !a.Request.HasPrompt) {
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
	a.dropRunFiles(t.Owner.Instance, ".in")
	return nil
}

package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// conclude puts the end of the turn on disk first. From then on the turn never runs again, whatever happens to the
// tree, the receipt or this keeper.
func (j *job) conclude(ctx context.Context, e ending, reason policy.Reason) (*Outcome, error) {
	fault.At("conclude.record")
	err := j.insist(ctx, "record the end of the turn", func() error {
		return j.update(ctx, "conclude", func(t *fsstate.Turn) error {
			if t.Phase == fsstate.PhaseStopping && !e.StopRequested && !e.EndEvent {
				// The stop was recorded by someone else in the moment in which the agent ended by itself.
				reason, e.Code, e.Signal = policy.ReasonInterrupted, 130, 2
			}
			t.Phase = fsstate.PhaseConcluded
			t.End = &fsstate.End{Code: e.Code, Signal: e.Signal, Reason: string(reason), At: time.Now().UTC()}
			t.Receipt = j.receipt()
			return j.put(t, "concluded", reason)
		})
	})
	if errors.Is(err, errTaken) {
		return j.abandon(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record the end of the turn (exit code %d): %w", e.Code, err), j.closeRun(ctx))
	}
	fault.At("conclude.durable")
	if err := j.closeRun(ctx); err != nil {
		return j.outcome(LeftOpen, policy.ReasonOwnerAlive, err.Error()), nil
	}
	return j.finish(ctx)
}

// closeRun ends what the agent left behind and lets the output run dry. It returns an error when something would not
// go: then the session stays occupied.
func (j *job) closeRun(ctx context.Context) error {
	r := j.run
	if r == nil {
		return nil
	}
	err := j.endTree(ctx, r)
	if j.turn.Phase == fsstate.PhaseConcluded {
		r.out.release()
		r.err.release()
	}
	if err := j.drainOutput(r); err != nil {
		j.Say("output: %v", err)
	}
	j.run = nil
	return err
}

// unkillable is how long what SIGKILL does not end (a process that has become another user's, one that hangs in the
// kernel) is waited for.
const unkillable = 10 * time.Second

// endTree ends what is left of a run. An order ends the wait, not the attempt.
func (j *job) endTree(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, unkillable)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.tree.End(ctx, process.KillLadder()) }()
	select {
	case err := <-ended:
		return err
	case <-j.Orders: // at once, then
		j.asked = true
		cancel()
		<-ended //nolint:errcheck // ended by our cancel; what counts is the second try
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return r.tree.End(ctx, killNow)
	}
}

// drainOutput waits until our reader has taken all output. A reader that takes nothing more must not hold the turn for
// ever: once a stop was ordered it is waited for only while it reads, and an order drops the rest.
func (j *job) drainOutput(r *run) error {
	if j.asked {
		r.out.hurry()
		r.err.hurry()
	}
	drained := make(chan error, 1)
	go func() { drained <- errors.Join(r.out.finish(), r.err.finish()) }()
	select {
	case err := <-drained:
		return err
	case <-j.Orders:
		r.out.dropRest()
		r.err.dropRest()
		return <-drained
	}
}

// finish carries a concluded turn to its removal: receipt, recorded outcome, marker. Each step may be repeated after a
// crash of the keeper; none of them runs the agent.
func (j *job) finish(ctx context.Context) (*Outcome, error) {
	t := j.turn
	out := j.outcome(stateOf(*t.End), policy.Reason(t.End.Reason), "")
	if t.Receipt != nil && t.Receipt.Pending {
		if detail, err := j.runReceipt(ctx); err != nil {
			return nil, err
		} else if detail != "" {
			return j.outcome(ReceiptFailed, policy.ReasonReceiptPending, detail), nil
		}
	}
	err := j.insist(ctx, "remove the marker", func() error {
		return j.update(ctx, "finish", func(t *fsstate.Turn) error {
			return j.Room.remove(t, "removed", policy.Reason(t.End.Reason))
		})
	})
	if err != nil && !errors.Is(err, errTaken) {
		return nil, fmt.Errorf("remove the marker of a concluded turn: %w", err)
	}
	if r := j.turn.Receipt; r != nil {
		j.dropRunFiles(r.Instance)
	}
	j.Room.dropGivenUp(t)
	if t.RequestID == "" {
		j.dropRunFiles(t.Owner.Instance)
	} else {
		j.dropRunFiles(t.Owner.Instance, ".out", ".err") // a caller that asks again gets the output again
	}
	return out, nil
}

// dropGivenUp removes what ended/ holds of a prompt that has concluded now: given up earlier and asked for again, it
// must not be brought back a third time. Failing leaves a copy that a person may still see and resume.
func (r *Room) dropGivenUp(t *fsstate.Turn) {
	names, err := r.Store.List(fsstate.Ended)
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, fsstate.Name(t.Session)+"-") {
			continue
		}
		old, err := r.files().Read(fsstate.Ended, name)
		if err != nil || old.Session != t.Session || old.Prompt != t.Prompt {
			continue
		}
		if err := r.files().DropEnded(name); err != nil {
			r.log().Warn("record in ended/ not removed", "file", name, "error", err.Error())
		}
	}
}

// remove retires a concluded or interrupted turn, under its lock: what must outlive the marker is durable before the
// marker goes.
func (r *Room) remove(t *fsstate.Turn, kind string, reason policy.Reason) error {
	end := fsstate.End{Reason: string(reason), At: time.Now().UTC()}
	code := &end.Code
	switch {
	case t.End != nil:
		end = *t.End
	case t.Reported() && t.Phase != fsstate.PhaseStopping && reason != policy.ReasonInterrupted:
		code = nil // an agent that reports its turns tells no exit code
	default:
		end.Code, end.Signal = 130, 2
	}
	if t.RequestID != "" {
		o := outcomeOf(t, t.RequestID, end)
		o.Instance = t.Owner.Instance
		fault.At("finish.outcome")
		if err := r.files().PutOutcome(o); err != nil {
			return err
		}
	}
	if err := r.forgetHermes(t, end); err != nil {
		return err
	}
	if reason == policy.ReasonInterrupted {
		if err := r.renewStopMark(t); err != nil {
			return err
		}
	}
	fault.At("finish.remove")
	if err := r.files().Delete(t.Session); err != nil {
		return err
	}
	fault.At("finish.durable")
	r.note(t, kind, t.Phase, string(reason), code)
	return nil
}

// giveUp moves a turn to ended/, under its lock. A request with an id has not ended by that: asked again, it runs again.
func (r *Room) giveUp(t *fsstate.Turn, reason policy.Reason) (string, error) {
	if t.Origin != nil && t.Reported() { // the prompt is ours before anything lets go of Hermes's entry
		if err := r.files().Put(t); err != nil {
			return "", err
		}
	}
	if err := r.forgetHermes(t, fsstate.End{Code: 76, Reason: string(reason), At: time.Now().UTC()}); err != nil {
		return "", err
	}
	return r.archive(t, reason)
}

func outcomeOf(t *fsstate.Turn, id string, end fsstate.End) *fsstate.Outcome {
	return &fsstate.Outcome{
		Session: t.Session, ID: id, PromptSHA256: fsstate.PromptSum(t.Prompt), End: end, Attempts: t.Attempts, StartedAt: t.StartedAt,
	}
}

// forgetHermes records the end of one of Hermes's own turns, whose entry can come back in a file that takes no lock.
// Hermes's file itself is only tidied while no Hermes lives.
func (r *Room) forgetHermes(t *fsstate.Turn, end fsstate.End) error {
	if t.Origin == nil {
		return nil
	}
	if err := r.files().PutOutcome(outcomeOf(t, fsstate.HermesID(t.Origin.StartedAt), end)); err != nil {
		return err
	}
	markers, _ := hermes.ReadMarkers(r.Store.Home().Path)
	for _, m := range markers { // an entry of our own continuation, in a backend that died too, is this turn
		if m.Session != t.Session || m.StartedAt == t.Origin.StartedAt || !continuationOf(m.Prompt, t) {
			continue
		}
		if err := r.files().PutOutcome(outcomeOf(t, fsstate.HermesID(m.StartedAt), end)); err != nil {
			return err
		}
	}
	r.tidyHermes(t.Session, t.Origin.StartedAt)
	return nil
}

// tidyHermes removes an ended turn's entry from Hermes's own file, if no Hermes process of this home lives. It is a
// courtesy: our record of the end outranks the entry.
func (r *Room) tidyHermes(session string, startedAt float64) {
	home := r.Store.Home().Path
	if _, live, err := hermes.LiveProcess(home); err != nil || live {
		return
	}
	if err := hermes.ClearMarker(home, session, startedAt, time.Now()); err != nil {
		r.log().Warn("entry of Hermes's file not cleared", "session", session, "error", err.Error())
	}
}

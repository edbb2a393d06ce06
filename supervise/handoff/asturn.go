package handoff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/awake"
	"hermes-supervisor/supervise/turn"
)

// turnID names the turn of a handoff for whoever runs it: the handoff's own id, and another one after each retry, since a
// request that has ended is answered with its end.
func turnID(h *fsstate.Handoff) string {
	if h.Retries == 0 {
		return h.ID
	}
	return fmt.Sprintf("%s.%d", h.ID, h.Retries)
}

// waitBeyond is how much longer the turn's keeper would wait for a session than the delivery may take: that its time is
// over, we tell it.
const waitBeyond = time.Minute

// asTurn delivers a handoff as a turn of another session, under the handoff's id: a turn that has ended under this id is
// not run again, and one that its keeper's death has cut goes on. So the handoff survives a crash as its turn does.
func (j *job) asTurn(ctx context.Context) (*fsstate.Handoff, error) {
	agent, err := j.Agent(j.platform.Agent)
	if err != nil {
		return j.failed(ctx, queue.ReasonNotStarted, nil, err.Error())
	}
	request := turn.Request{
		Session: j.platform.session(j.handoff.Session), ID: turnID(j.handoff), Source: "handoff", Agent: agent, Cwd: j.Queue.Files.Store.Home().Path,
		Prompt: queue.Prompt(j.handoff.Session, j.handoff.Note, j.handoff.Data), HasPrompt: true,
		AutoContinue: true, ContinuedBy: j.By, Wait: j.platform.Timeout + waitBeyond, Drain: j.Drain,
	}
	if j.look() == cancelled { // while its keeper was dead: nothing is begun, and what is left of the turn is ended
		if err := j.endOrphan(ctx, request); err != nil {
			return j.handoff, err
		}
		return j.failed(ctx, queue.ReasonDeliveryCancelled, nil, "")
	}
	delivering, cancel := context.WithCancel(ctx)
	defer cancel()
	orders := make(chan turn.Order, 8)
	why := make(chan queue.Reason, 1)
	go j.relay(delivering, orders, why)
	keeper := &turn.Keeper{
		Room: j.Queue.Room, Host: j.Host, Request: request, Stdout: j.Stdout, Stderr: j.Stderr, Orders: orders,
		Started: j.Started, Say: j.Say,
	}
	out, err := keeper.Run(ctx)
	cancel()
	if _, wrong := errors.AsType[*turn.UsageError](err); wrong {
		return j.failed(ctx, queue.ReasonNotStarted, nil, err.Error())
	}
	if err != nil {
		return nil, err // nobody knows how far the turn got: it is taken back, and goes on from its own record
	}
	h, err := j.settle(ctx, request, out, <-why)
	if err == nil && !queue.State(h.State).Open() {
		j.Queue.dropRunFiles(j.self.Instance)
	}
	return h, err
}

// settle records what the turn came to. One that was left open goes on when somebody continues it, and the handoff with
// it: its record stays as it is, for the reclaim.
func (j *job) settle(ctx context.Context, request turn.Request, out turn.Outcome, why queue.Reason) (*fsstate.Handoff, error) {
	detail := out.Reason.Text()
	if out.Detail != "" {
		detail += " (" + out.Detail + ")"
	}
	switch out.State {
	case turn.Concluded:
		if out.Code == 0 {
			return j.completed(ctx, 0)
		}
		return j.failed(ctx, queue.ReasonHandlerFailed, &out.Code, fmt.Sprintf("the agent's turn ended with exit code %d", out.Code))
	case turn.Interrupted:
		if out.Instance == "" { // before this keeper had any part in the turn
			if err := j.endOrphan(ctx, request); err != nil {
				return j.handoff, err
			}
		}
		if why == "" {
			why = queue.ReasonDeliveryCancelled
		}
		return j.failed(ctx, why, nil, detail)
	case turn.GaveUp:
		return j.failed(ctx, queue.ReasonGaveUp, nil, detail)
	case turn.LeftOpen:
		return j.handoff, nil
	case turn.Refused:
		if out.Reason == policy.ReasonTaken {
			return j.handoff, nil
		}
	case turn.WaitRanOut, turn.ReceiptFailed:
	}
	return j.failed(ctx, queue.ReasonNotStarted, nil, detail)
}

// endOrphan ends the turn of this handoff that a dead keeper has left with its agent at work. Until it has ended the
// session cannot be handed over again.
func (j *job) endOrphan(ctx context.Context, request turn.Request) error {
	t, err := fsstate.TurnFiles{Store: j.Queue.Files.Store, Key: j.Queue.Files.Key}.Get(request.Session)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && t.RequestID != request.ID:
		return nil
	case err != nil:
		return err
	}
	in, err := j.Queue.Room.Interrupt(ctx, request.Session, orphanWait)
	if err == nil && in.Found && !in.Ended {
		err = fmt.Errorf("end the turn of handoff %s: %s; the handoff stays %s until it has ended", j.ID, in.Detail, queue.Running)
	}
	return err
}

// orphanWait is longer than an interrupt's ladder.
const orphanWait = 20 * time.Second

// relay passes orders on to the turn's keeper, and the end of the time and a person's cancelling as an interrupt; why
// gets the reason when ctx ends, "" where there was none.
func (j *job) relay(ctx context.Context, orders chan<- turn.Order, why chan<- queue.Reason) {
	wake, stop := j.watch()
	defer stop()
	poll := time.NewTicker(cancelPoll)
	defer poll.Stop()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	limit, forget := awake.WithTimeout(context.WithoutCancel(ctx), j.platform.Timeout)
	defer forget()
	late := limit.Done()
	var reason queue.Reason
	interrupt := func(r queue.Reason) {
		if reason == "" {
			reason = r
			j.Say("%s", r.Text())
			orders <- turn.OrderInterrupt
		}
	}
	for {
		select {
		case <-ctx.Done():
			why <- reason
			return
		case order := <-j.Orders:
			if order == OrderCancel {
				interrupt(queue.ReasonDeliveryCancelled)
				continue
			}
			select {
			case orders <- turn.OrderDrain:
			default:
			}
		case <-late:
			late = nil
			interrupt(queue.ReasonTimedOut)
		case <-beat.C:
			_ = j.Queue.Files.Heartbeat(j.ID, time.Now())
		case <-wake:
		case <-poll.C:
		}
		if j.look() != ours {
			interrupt(queue.ReasonDeliveryCancelled)
		}
	}
}

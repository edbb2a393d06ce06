package fsstate

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// The steps of a handoff as supervise/handoff takes them under its lock: a look, and what follows from it. Whoever tries
// again after a death or an error begins with the same look.

var handoffID = NewHandoffID("s", "p", "k", turnEpoch)

// handoffOf is a handoff at a step of its life, large enough to be torn.
func handoffOf(state string, tries int) *Handoff {
	h := &Handoff{
		ID: handoffID, Session: "s", Platform: "p", Note: strings.Repeat("go on there, ", 80), RequestKey: "k", State: state,
		RequestedAt: turnEpoch, Tries: tries, Verified: true,
	}
	if tries > 0 {
		h.Claim = &Claim{At: turnEpoch}
		h.Claim.Claimer.Instance = instanceOf(tries)
	}
	if state == "completed" || state == "failed" {
		h.End = &HandoffEnd{Reason: state, At: turnEpoch}
	}
	return h
}

func (w *world) handoffs() HandoffFiles { return HandoffFiles{Store: w.store, Key: turnKey} }

// handoffState is what Get tells in a few words, "-" where there is none. What was not written as a whole does not verify.
func handoffState(w *world) (string, error) {
	h, err := w.handoffs().Get(handoffID)
	if errors.Is(err, fs.ErrNotExist) {
		return "-", nil
	}
	if err != nil {
		return "", err
	}
	if !h.Verified {
		return "", errors.New("the handoff does not verify")
	}
	return fmt.Sprintf("%s %d", h.State, h.Tries), nil
}

func handoffSeen(states ...string) func(w *world) (int, error) {
	return func(w *world) (int, error) {
		got, err := handoffState(w)
		return history(got, err, states...)
	}
}

// onceHandoff does something unless the handoff is in the state that it leaves: then that is only confirmed.
func onceHandoff(done string, act func(hf HandoffFiles) error) func(w *world) error {
	return func(w *world) error {
		got, err := handoffState(w)
		switch {
		case err != nil:
			return err
		case got == done:
			return w.handoffs().Confirm()
		}
		return act(w.handoffs())
	}
}

// requested is a request with a key, so that it can be repeated.
var requested = onceHandoff("pending 0", func(hf HandoffFiles) error { return hf.Put(handoffOf("pending", 0)) })

// claimed is the claim with that number. A claim is never repeated: who finds its own again has died, and it is reclaimed.
func claimed(tries int) func(w *world) error {
	return func(w *world) error {
		h, err := w.handoffs().Get(handoffID)
		if err != nil {
			return err
		}
		next := handoffOf("running", tries)
		h.State, h.Tries, h.Claim, h.End = next.State, next.Tries, next.Claim, nil
		return w.handoffs().Put(h)
	}
}

func settledAs(state string, tries int) func(w *world) error {
	return onceHandoff(fmt.Sprintf("%s %d", state, tries), func(hf HandoffFiles) error { return hf.Settle(handoffOf(state, tries)) })
}

// retried makes the failed handoff a pending one. One that is pending is refused, which promises nothing.
func retried(w *world) error {
	h, err := w.handoffs().Get(handoffID)
	if err != nil || h.State != "failed" {
		return err
	}
	h.State = "pending"
	return w.handoffs().Reopen(h)
}

func dropped(w *world) error { return w.handoffs().Drop(handoffID) }

// settledOrTidied is an end whose keeper dies and which only the dispatcher finds: it tidies, and asks for nothing.
func settledOrTidied(w *world) error {
	got, err := handoffState(w)
	if err == nil && got == "completed 1" {
		return w.handoffs().Tidy(handoffID)
	}
	return errors.Join(err, w.handoffs().Settle(handoffOf("completed", 1)))
}

// after is a world in which these steps have been taken.
func after(steps ...func(w *world) error) func(w *world) error {
	return func(w *world) error {
		for _, step := range steps {
			if err := step(w); err != nil {
				return err
			}
		}
		return nil
	}
}

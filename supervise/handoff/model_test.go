package handoff

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"hermes-supervisor/policy/queue"
)

// doing is one operation on the handoffs of a session, as the model takes it.
type doing struct {
	What    string `json:"what"` // an op's, or "die": the process Proc was killed
	Session string `json:"session"`
	Hand    string `json:"hand,omitempty"`  // the handoff, by the part of its id that its key makes
	Claim   string `json:"claim,omitempty"` // of who claims, completes or fails
	Proc    string `json:"proc"`            // the process that does it
}

// Answers of an operation, beside the state of the handoff and a refusal.
const (
	answerCut  = "cut"  // its process was killed meanwhile: it was done, or not
	answerNone = "none" // no such handoff
	answerBusy = "busy" // the lock was not to be had: nothing was done
)

// refusal is the answer of an operation that was refused.
func refusal(r queue.Reason) string { return "refused: " + string(r) }

// modelled is one handoff of the model.
type modelled struct {
	name  string
	state queue.State
	claim string
	proc  string // of the claim
}

// world is the state of one session.
type world struct {
	hands []modelled // in the order of request
	dead  string     // the processes that were killed, each between blanks
}

// model is a session's handoffs as they must be. It is written without the policy's own decisions: what the words of the
// issue say.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			sessions := map[string][]porcupine.Operation{}
			for _, o := range history {
				s := input(o.Input).Session
				sessions[s] = append(sessions[s], o)
			}
			all := make([][]porcupine.Operation, 0, len(sessions))
			for _, ops := range sessions {
				all = append(all, ops)
			}
			return all
		},
		Init: func() []any { return []any{world{}} },
		Step: func(state, in, out any) []any {
			w, _ := state.(world)
			answer, _ := out.(string)
			next, want := w.step(input(in))
			switch answer {
			case answerBusy:
				return []any{w}
			case answerCut:
				return []any{w, next}
			case want:
				return []any{next}
			}
			return nil
		},
		Equal: func(a, b any) bool {
			v, _ := a.(world)
			w, _ := b.(world)
			return v.dead == w.dead && slices.Equal(v.hands, w.hands)
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %v", in, out) },
	}
	return m.ToModel()
}

func input(in any) doing {
	d, _ := in.(doing)
	return d
}

func (w world) step(d doing) (next world, answer string) {
	if d.What == "die" {
		next = w
		next.dead += " " + d.Proc + " "
		return next, ""
	}
	at := slices.IndexFunc(w.hands, func(h modelled) bool { return h.name == d.Hand })
	open := slices.IndexFunc(w.hands, func(h modelled) bool { return h.state.Open() })
	if d.What == "request" {
		if open >= 0 {
			return w, refusal(queue.ReasonOpen)
		}
		next = w
		next.hands = append(slices.Clone(w.hands), modelled{name: d.Hand, state: queue.Pending})
		return next, string(queue.Pending)
	}
	if at < 0 {
		return w, answerNone
	}
	h := w.hands[at]
	claimerDead := strings.Contains(w.dead, " "+h.proc+" ")
	to := func(s queue.State) (world, string) {
		h.state = s
		next := w
		next.hands = slices.Clone(w.hands)
		next.hands[at] = h
		return next, string(s)
	}
	refuse := func(r queue.Reason) (world, string) { return w, refusal(r) }
	switch d.What {
	case "claim":
		switch h.state {
		case queue.Pending:
			h.claim, h.proc = d.Claim, d.Proc
			return to(queue.Running)
		case queue.Running:
			return refuse(queue.ReasonRunning)
		default:
			return refuse(queue.ReasonFinished)
		}
	case "complete", "fail":
		end := queue.Completed
		if d.What == "fail" {
			end = queue.Failed
		}
		switch {
		case h.state == queue.Pending:
			return refuse(queue.ReasonNotClaimed)
		case h.claim != d.Claim:
			return refuse(queue.ReasonOtherClaim)
		case h.state == queue.Running, h.state == end:
			return to(end)
		}
		return refuse(queue.ReasonFinished)
	case "cancel":
		switch {
		case h.state == queue.Pending, h.state == queue.Running && claimerDead:
			return to(queue.Failed)
		case h.state == queue.Running:
			return to(queue.Running)
		}
		return refuse(queue.ReasonFinished)
	case "retry":
		switch {
		case h.state == queue.Completed:
			return refuse(queue.ReasonDelivered)
		case open >= 0:
			return refuse(queue.ReasonOpen)
		}
		return to(queue.Pending)
	case "reclaim":
		switch {
		case h.state != queue.Running:
			return refuse(queue.ReasonNotClaimed)
		case !claimerDead:
			return refuse(queue.ReasonRunning)
		}
		return to(queue.Failed)
	}
	return w, "?"
}

// did is an operation in a history written by hand; its times are beats.
func did(what, claim, proc, answer string, call, ret int64) porcupine.Operation {
	return porcupine.Operation{
		Input:  doing{What: what, Session: "s", Hand: "h", Claim: claim, Proc: proc},
		Output: answer, Call: call, Return: ret,
	}
}

func TestModelRefusesWhatMustNotHappen(t *testing.T) {
	t.Parallel()
	requested := did("request", "", "p", "pending", 1, 2)
	claimed := did("claim", "c", "p", "running", 3, 4)
	for name, tc := range map[string]struct {
		history []porcupine.Operation
		legal   bool
	}{
		"two claims":             {[]porcupine.Operation{requested, claimed, did("claim", "d", "q", "running", 3, 5)}, false},
		"refused as running":     {[]porcupine.Operation{requested, claimed, did("claim", "d", "q", refusal(queue.ReasonRunning), 3, 5)}, true},
		"reclaim of the living":  {[]porcupine.Operation{requested, claimed, did("reclaim", "", "q", "failed", 5, 6), did("die", "", "p", "", 7, 8)}, false},
		"reclaim of the dead":    {[]porcupine.Operation{requested, claimed, did("die", "", "p", "", 5, 8), did("reclaim", "", "q", "failed", 7, 9)}, true},
		"reclaim while it dies":  {[]porcupine.Operation{requested, claimed, did("die", "", "p", "", 5, 8), did("reclaim", "", "q", refusal(queue.ReasonRunning), 7, 9)}, true},
		"reclaim comes too late": {[]porcupine.Operation{requested, claimed, did("die", "", "p", "", 5, 6), did("reclaim", "", "q", refusal(queue.ReasonRunning), 7, 9)}, false},
		"complete after reclaim": {[]porcupine.Operation{
			requested, claimed, did("die", "", "p", "", 5, 6), did("reclaim", "", "q", "failed", 7, 8), did("complete", "c", "p", "completed", 9, 10),
		}, false},
		"a cut claim may have been made": {[]porcupine.Operation{
			requested, did("claim", "c", "p", answerCut, 3, 6), did("die", "", "p", "", 5, 6), did("reclaim", "", "q", "failed", 7, 8),
		}, true},
		"or not": {[]porcupine.Operation{
			requested, did("claim", "c", "p", answerCut, 3, 6), did("die", "", "p", "", 5, 6), did("claim", "d", "q", "running", 7, 8),
		}, true},
		"but not both": {[]porcupine.Operation{
			requested, did("claim", "c", "p", answerCut, 3, 6), did("die", "", "p", "", 5, 6), did("claim", "d", "q", "running", 7, 8),
			did("reclaim", "", "q", "failed", 9, 10),
		}, false},
		"a lost request": {[]porcupine.Operation{requested, did("claim", "c", "p", answerNone, 3, 4)}, false},
		"an old answer": {[]porcupine.Operation{
			requested, claimed, did("complete", "c", "p", "completed", 5, 6), did("claim", "d", "q", refusal(queue.ReasonRunning), 7, math.MaxInt64),
		}, false},
	} {
		if got := porcupine.CheckOperations(model(), tc.history); got != tc.legal {
			t.Errorf("%s: legal %t, want %t", name, got, tc.legal)
		}
	}
}

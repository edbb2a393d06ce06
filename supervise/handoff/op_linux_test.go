package handoff

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// op is one transition of one handoff.
type op struct {
	place

	What   string // request, claim, complete, fail, cancel, retry, reclaim
	ID     string
	Claim  ident.Ident // who claims, completes or fails
	Report string
}

func init() { parts["op"] = func([]string) int { return playOp() } }

// do carries an op out as a program does that uses the queue.
func (o op) do(ctx context.Context, q *Queue) (*fsstate.Handoff, error) {
	switch o.What {
	case "request":
		h, _, err := q.Request(ctx, Request{Session: theSession, Platform: "own"})
		return h, err
	case "claim":
		return q.Claim(ctx, o.ID, fsstate.Claim{Claimer: o.Claim, External: true}, nil)
	case "complete":
		return q.Complete(ctx, o.ID, o.Claim.Instance)
	case "fail":
		return q.Fail(ctx, o.ID, o.Claim.Instance, "why")
	case "cancel":
		return q.Cancel(ctx, o.ID)
	case "retry":
		return q.Retry(ctx, o.ID)
	case "reclaim":
		return q.Reclaim(ctx, o.ID)
	}
	return nil, fmt.Errorf("no such op: %s", o.What)
}

// playOp is one op in a process of its own.
func playOp() int {
	var o op
	if err := json.Unmarshal([]byte(os.Getenv(callVar)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	q, err := o.open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	data, err := json.Marshal(resultOf(o.do(context.Background(), q)))
	if err == nil {
		err = os.WriteFile(o.Report, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return 0
}

package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// Order is what a person or a dispatcher tells a keeper through signals.
type Order int

const (
	// OrderCancel ends the delivery (Ctrl-C).
	OrderCancel Order = iota + 1
	// OrderDrain announces a shutdown (SIGTERM): the delivery may finish for a while, then it is ended. A second one ends
	// it at once.
	OrderDrain
)

// Keeper delivers one handoff: it is the claimer and the parent of the platform's command.
type Keeper struct {
	Queue  *Queue
	Host   *process.Host
	ID     string
	By     string        // "run" for one that a dispatcher started, "" for a person's
	Drain  time.Duration // how long a shutdown waits for the delivery
	Stdout *os.File      // takes what the command prints
	Stderr *os.File      // and what it says
	Orders <-chan Order
	Say    func(format string, args ...any)
	// For a platform that is a session with an agent:
	Agent   func(name string) (turn.Agent, error)
	Started turn.Moment // when this process began: older stop requests are not meant for it
}

// RefusedCode is the exit code of a keeper's process that was refused its handoff.
const RefusedCode = 75

// ByRun is the By of a keeper that a dispatcher started.
const ByRun = "run"

const (
	cancelPoll = time.Second      // a look at the record, beside the watch
	killGrace  = 5 * time.Second  // between SIGTERM and SIGKILL
	insistFor  = 10 * time.Second // on recording an end
)

// heartbeatEvery is between two changes of the record's mtime: the last proof of life that others see. Only a test changes
// it, before the only Run of its process.
var heartbeatEvery = 10 * time.Second

// job is one Run of a keeper.
type job struct {
	*Keeper

	platform Platform
	self     ident.Ident
	handoff  *fsstate.Handoff // as last written by us
	witness  *os.File         // held for as long as this process lives
	asked    bool             // to end, by an order
}

// Run claims the handoff, delivers it and records how that ended; the record is returned as it is then. A *RefusedError
// means that somebody else has it, or that it cannot be delivered now; nothing was started.
func (k *Keeper) Run(ctx context.Context) (*fsstate.Handoff, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &job{Keeper: k}
	if err := j.claim(ctx); err != nil {
		return nil, err
	}
	fault.At("handoff.claimed")
	if j.platform.AsTurn() {
		return j.asTurn(ctx)
	}
	reaping := make(chan struct{})
	go func() { defer close(reaping); _ = k.Host.Run(ctx) }()
	defer func() { cancel(); <-reaping }()
	return j.deliver(ctx)
}

// claim makes the handoff ours. The witness is there before the record that names it, and holds what the command reads
// from its stdin.
func (j *job) claim(ctx context.Context) (err error) {
	if j.self, err = ident.Self(ident.NewInstance()); err != nil {
		return err
	}
	before, err := j.Queue.get(j.ID)
	if err != nil {
		return err
	}
	if j.platform, err = j.Queue.Platform(before.Platform); err != nil {
		return err
	}
	if j.platform.External {
		return &RefusedError{ID: j.ID, Reason: queue.ReasonNotServed, State: queue.State(before.State)}
	}
	c := fsstate.Claim{Claimer: j.self, By: j.By}
	if j.platform.AsTurn() {
		c.Turn = j.platform.session(before.Session)
	}
	j.handoff, err = j.Queue.Claim(ctx, j.ID, c, func(h *fsstate.Handoff) error {
		text, err := Message(h, j.Queue.Files.Store.Home())
		if err != nil {
			return err
		}
		j.witness, err = j.Queue.Files.Store.NewWitness(j.self.Instance, text)
		fault.At("handoff.claim")
		return err
	})
	if err != nil && j.witness != nil {
		_ = j.witness.Close() // its file stays for the sweep: the claim may be visible all the same
	}
	return err
}

// messageSchema is the "schema" of the JSON that a platform's command reads on its stdin.
const messageSchema = 1

// Message is the handoff as a platform's command reads it on its stdin, and as `handoff claim` prints it: one JSON object.
func Message(h *fsstate.Handoff, home fsstate.Home) ([]byte, error) {
	m := map[string]any{
		"schema": messageSchema, "type": "handoff", "id": h.ID, "session": h.Session, "platform": h.Platform, "note": h.Note,
		"data": h.Data, "try": h.Tries, "requested_at": h.RequestedAt, "home": home.Path, "profile": home.Profile,
	}
	if h.Claim != nil {
		m["claim"] = h.Claim.Claimer.Instance
	}
	text, err := json.Marshal(m)
	return append(text, '\n'), err
}

// watch wakes its caller when the record may have changed: a person asks for the end, or took the handoff away.
func (j *job) watch() (wake <-chan struct{}, stop func()) {
	woken := make(chan struct{}, 1)
	folder := filepath.Dir(j.Queue.Files.Store.Path(fsstate.Handoffs, j.ID+".json"))
	j.Host.Watch().Add(folder, j.ID+".json", woken) // where it cannot be watched, the poll alone tells
	return woken, func() { j.Host.Watch().Remove(folder, woken) }
}

// standing is what the record says of our claim.
type standing int

const (
	ours standing = iota
	cancelled
	taken
)

func (j *job) look() standing {
	h, err := j.Queue.Files.Get(j.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (h.Claim == nil || h.Claim.Claimer.Instance != j.self.Instance || h.State == string(queue.Pending)):
		return taken
	case err != nil, h.State != string(queue.Running):
		return ours // what cannot be read says nothing against it; what has ended was ended by the command itself
	case !h.CancelAsked.IsZero():
		return cancelled
	}
	return ours
}

// insist repeats a durable step that fails for want of room or a passing fault: what has been delivered must not stand
// there as if nobody knew.
func (j *job) insist(ctx context.Context, what string, step func() (*fsstate.Handoff, error)) (*fsstate.Handoff, error) {
	deadline := time.Now().Add(insistFor)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		h, err := step()
		_, refused := errors.AsType[*RefusedError](err)
		if err == nil || refused || errors.Is(err, ErrNone) || time.Now().After(deadline) || ctx.Err() != nil {
			return h, err
		}
		j.Say("%s: %v; trying again", what, err)
		if process.Pause(ctx, wait) != nil {
			return h, err
		}
	}
}

// failed records a failure.
func (j *job) failed(ctx context.Context, r queue.Reason, code *int, detail string) (*fsstate.Handoff, error) {
	return j.insist(ctx, "record the failure", func() (*fsstate.Handoff, error) {
		return endedBefore(j.Queue.fail(ctx, j.ID, j.self.Instance, r, code, detail))
	})
}

// endedBefore takes an end of the same claim for ours: the command knows the claim's name, and may have said itself how it
// went.
func endedBefore(h *fsstate.Handoff, err error) (*fsstate.Handoff, error) {
	if refused, is := errors.AsType[*RefusedError](err); is && refused.Reason == queue.ReasonFinished {
		return h, nil
	}
	return h, err
}

// completed records a delivery.
func (j *job) completed(ctx context.Context, code int) (*fsstate.Handoff, error) {
	return j.insist(ctx, "record the delivery", func() (*fsstate.Handoff, error) {
		return endedBefore(j.Queue.complete(ctx, j.ID, j.self.Instance, &code))
	})
}

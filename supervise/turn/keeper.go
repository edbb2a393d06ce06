package turn

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Order is what a person or a service manager tells a keeper through signals.
type Order int

const (
	// OrderInterrupt asks for the end of the turn (Ctrl-C): never continued. A second one kills.
	OrderInterrupt Order = iota + 1
	// OrderDrain announces a shutdown (SIGTERM, SIGHUP): the turn may finish for a while, then the agent is stopped and
	// the marker stays. A second one stops at once.
	OrderDrain
)

// Keeper runs one turn: it is the parent of the agent and records how the turn ended.
type Keeper struct {
	Room    *Room
	Host    *process.Host
	Request Request
	Stdout  *os.File
	Stderr  *os.File
	Orders  <-chan Order
	Started Moment                           // when this process began: older stop requests are not meant for it
	Say     func(format string, args ...any) // one line for people, on the change of a state
}

// job is one Run of a keeper: what only its goroutine touches.
type job struct {
	*Keeper

	self ident.Ident
	turn *fsstate.Turn // as last written by us
	run  *run          // nil while no agent runs
	wake <-chan struct{}
	by   policy.By // Person until the first run of this call, then Auto

	asked bool      // to end, by an order or by the marker
	died  time.Time // the last proof of life of the run that is continued

	seenMarker     fsstate.Info // of the marker as it was last read beside the run
	markerStopping bool         // as it said then
	unseen         string       // why it could not be looked at, as was said last; "" = it could

	seen  *sighting // how an agent ended that had lost its keeper, if we saw it
	spent []string  // instances whose files in run/ nobody needs any more
}

// Run admits the turn, runs the agent, continues it after a crash as policy says, and returns when the turn has ended
// for this caller. An error means that state could not be read or written, or that the request is wrong; everything
// else is an Outcome.
func (k *Keeper) Run(ctx context.Context) (Outcome, error) {
	if err := k.Request.check(); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &job{Keeper: k, by: policy.Person}
	if err := j.becomeInstance(); err != nil {
		return Outcome{}, err
	}
	reaping := make(chan error, 1)
	go func() { reaping <- k.Host.Run(ctx) }()
	defer func() {
		cancel()
		<-reaping //nolint:errcheck // ended by our cancel
	}()
	wake, stopWatching := k.Room.watchTurn(ctx, k.Request.Session, k.Host.Watch())
	defer stopWatching()
	j.wake = wake

	out, err := j.admit(ctx)
	swept := make(chan struct{})
	go func() { // beside the agent, so that it costs the caller no time
		defer close(swept)
		j.Room.Sweep(ctx, time.Now())
	}()
	defer func() { cancel(); <-swept }()
	for err == nil && out == nil {
		out, err = j.step(ctx)
	}
	j.dropWitness(out)
	if err != nil {
		return Outcome{}, err
	}
	return *out, nil
}

// dropWitness removes this keeper's own witness where no record is left that names it. One that stays keeps it: in
// another boot nothing else proves our death.
func (j *job) dropWitness(out *Outcome) {
	if j.turn != nil {
		if out == nil {
			return
		}
		switch out.State {
		case LeftOpen, ReceiptFailed, GaveUp:
			return
		case Concluded, Interrupted, Refused, WaitRanOut:
		}
	}
	j.dropRunFiles(j.self.Instance)
}

// becomeInstance gives the keeper an identity and a witness of its own, which nothing inherits: it is held exactly as
// long as this process lives, stopped or not.
func (j *job) becomeInstance() error {
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		return err
	}
	witness, err := j.Room.Store.NewWitness(self.Instance, nil)
	if err != nil {
		return err
	}
	keepOpen(witness)
	j.self = self
	return nil
}

// held keeps the witnesses of this process from being closed by the garbage collector: they are released by the end of
// the process, and by nothing else, since a later keeper takes a free witness as the proof of our death.
var held []*os.File

func keepOpen(f *os.File) { held = append(held, f) }

// step waits for the end of the run, or of a back-off, and carries out what follows from it. No outcome and no error
// mean that the turn goes on with a new run.
func (j *job) step(ctx context.Context) (*Outcome, error) {
	if j.run == nil {
		return j.backOff(ctx)
	}
	ended := j.await(ctx)
	found, err := j.Room.search(j.run.instance, j.Request.Agent)
	if err != nil {
		j.Say("the output cannot be searched for the agent's end events: %v", err)
	}
	found.into(&ended.ExitFacts)
	ended.UnknownSession = j.run.resumes && (found.unknown || slices.Contains(j.Request.Agent.Own.UnknownExit, ended.Code))
	ended.CrashCodes, ended.ConcludedCodes = j.Request.Agent.CrashExit, j.Request.Agent.ConcludedExit

	class, reason := policy.ClassifyExit(ended.ExitFacts)
	if ended.taken {
		return j.abandon(ctx)
	}
	ended.settle(class)
	switch class {
	case policy.ExitConcluded:
		return j.conclude(ctx, ended, reason)
	case policy.ExitInterrupted:
		return j.conclude(ctx, ended, reason)
	case policy.ExitDrained:
		return j.leaveDrained(ctx, reason)
	case policy.ExitBusy:
		return j.refund(ctx, ended, reason)
	case policy.ExitUnknownSession:
		if !ended.leaving {
			return j.startAfresh(ctx, ended, reason)
		}
	case policy.ExitRateLimited, policy.ExitCrashed:
	}
	if ended.leaving {
		return j.leaveDrained(ctx, reason)
	}
	return j.crashed(ctx, ended, class, reason)
}

// update changes the marker under the session's lock, from what this keeper remembers rather than from what the file
// says, since agents can write there: only what others may add (a stop, an alias, the agent's own id) is taken over.
// It fails with errTaken when the marker names another keeper or went to ended/. One that is simply gone, or that nobody
// can use, is written again: nobody but us retires the turn of a living keeper, and an agent must not run without a
// marker, nor end without a record.
func (j *job) update(ctx context.Context, purpose string, change func(t *fsstate.Turn) error) error {
	unlock, err := j.Room.lock(ctx, j.Request.Session, purpose)
	if err != nil {
		return err
	}
	defer unlock()
	disk, err := j.Room.open(j.Request.Session)
	if unusable(err) {
		err = j.Room.setAside(fsstate.Name(j.Request.Session)+".json", err)
	}
	if err != nil {
		return err
	}
	if disk == nil || disk.Keeper.Instance != j.self.Instance {
		if disk, err = j.reclaim(disk); err != nil {
			return err
		}
	}
	t := *j.turn
	t.Aliases, t.AgentSession, t.StopAskedAt = disk.Aliases, disk.AgentSession, disk.StopAskedAt
	if disk.Phase == fsstate.PhaseStopping && t.Phase != fsstate.PhaseConcluded {
		t.Phase = fsstate.PhaseStopping
	}
	if err := change(&t); err != nil {
		return err
	}
	j.turn = &t
	return nil
}

// reclaim settles what a marker that is gone or names another keeper means. Whoever may take a turn from a living keeper
// moves it to ended/ first, and another keeper's record verifies; anything else was scribbled by someone who may write
// here, an agent above all, and must not cost the person their prompt: it is set aside, and ours stands.
func (j *job) reclaim(other *fsstate.Turn) (*fsstate.Turn, error) {
	if archived, err := j.Room.files().Archived(j.turn); archived || err != nil {
		return nil, errors.Join(err, errTaken)
	}
	if other == nil {
		return j.turn, nil
	}
	if other.Verified {
		return nil, errTaken
	}
	forged := &fsstate.CorruptError{Path: j.Room.Store.Path(fsstate.Turns, other.File), Problem: "names another keeper and does not verify"}
	return j.turn, j.Room.setAside(other.File, forged)
}

// unusable tells what became of a marker from a fault of the disk: a link, a FIFO, a file that others may write (a stray
// chmod is enough), another version, something broken.
func unusable(err error) bool {
	_, unsafe := errors.AsType[*fsstate.UnsafeError](err)
	_, version := errors.AsType[*fsstate.VersionError](err)
	_, corrupt := errors.AsType[*fsstate.CorruptError](err)
	return unsafe || version || corrupt
}

// put writes the marker from within update.
func (j *job) put(t *fsstate.Turn, kind string, reason policy.Reason) error {
	from := j.turn.Phase
	if err := j.Room.files().Put(t); err != nil {
		return err
	}
	var code *int
	if t.End != nil {
		code = &t.End.Code
	}
	j.Room.note(t, kind, from, string(reason), code)
	return nil
}

// insist repeats a durable step that fails for want of room or a passing fault, since giving it up would let finished
// work start again: ten seconds, then the error.
func (j *job) insist(ctx context.Context, what string, step func() error) error {
	deadline := time.Now().Add(10 * time.Second)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := step()
		if err == nil || errors.Is(err, errTaken) || errors.Is(err, fsstate.ErrTooLarge) || cannotStart(err) || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		j.Say("%s: %v; trying again", what, err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// cannotStart tells the failed start of a program that no repetition mends from one for want of memory or processes.
func cannotStart(err error) bool {
	_, start := errors.AsType[*process.StartError](err)
	return start && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, exec.ErrNotFound))
}

// outcome is what this keeper has to say of its turn.
func (j *job) outcome(state State, reason policy.Reason, detail string) *Outcome {
	o := &Outcome{State: state, Reason: reason, Detail: detail, Session: j.Request.Session, EndedAt: time.Now().UTC()}
	if t := j.turn; t != nil {
		o.Attempts, o.StartedAt, o.Instance = t.Attempts, t.StartedAt, t.Owner.Instance
		if t.End != nil {
			o.Code, o.Signal, o.EndedAt = t.End.Code, t.End.Signal, t.End.At
		}
	}
	return o
}

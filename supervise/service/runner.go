package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

// Shared is what the runners of one home, and of one supervisor, have in common.
type Shared struct {
	Files      fsstate.ServiceFiles
	Host       *process.Host
	Supervisor ident.Ident // this process, with the instance whose witness it holds
	Gate       chan struct{}
	Tagged     func() (ident.Tagged, error)
	// Instances is what the function of that name says of the home's store, perhaps a moment ago.
	Instances func() (map[string][]string, error)
	Log       *slog.Logger
	// Stopping is told of a service that holds turns before it is signalled; nil: nobody asks.
	Stopping func(spec Spec, leader ident.Ident)
	// Found is told once in what phase Run begins, also where Moved has nothing to tell; nil: nobody asks.
	Found func(Spec, phase.State)
	// Moved is told of each change of phase, after it was recorded.
	Moved func(Spec, phase.State)
}

// Runner keeps one service of one home up. Its methods may be called from any goroutine; the rest is Run's alone.
type Runner struct {
	Shared

	Output *output.Log
	// Wanted begins Run with an operator's start: a person wants it now, whatever its record says. Set before Run.
	Wanted bool

	orders chan order
	done   chan struct{}
}

// order is what a Runner is told from outside.
type order struct {
	event  phase.Kind
	apply  *Spec            // new settings
	do     func(*job) error // anything else
	answer chan<- error
}

// New makes the runner of a service; Run runs it.
func New(shared Shared, out *output.Log) *Runner {
	return &Runner{Shared: shared, Output: out, orders: make(chan order, 4), done: make(chan struct{})}
}

// job is one Run of a Runner: what only its goroutine touches.
type job struct {
	*Runner

	spec  Spec
	state phase.State
	told  phase.State      // as Moved knows it, before the first time as it was recorded
	rec   *fsstate.Service // as last written, or as it will be once writing works again
	dirty bool             // rec is not on disk

	launch  *launch  // nil while nothing is known to live
	spare   string   // instance of a witness that is ready for the next launch
	past    []string // instances of which nothing lives, and whose files go when no record names them
	events  chan phase.Event
	checks  chan checked
	timer   *time.Timer   // the one point in time at which something is due: back-off, another try to write, another look
	lookAt  time.Time     // zero: nothing is unknown
	looks   int           // how often it stayed so
	unask   func()        // ends the question for the program's flags; nil: it is not asked
	answers chan struct{} // that it has answered, or was ended; one at a time
	leaving bool          // the supervisor is being stopped: Run returns when nothing lives
	leftAt  time.Time     // when that was asked for
}

// Run runs the service until ctx ends, which leaves it running, or Shutdown has stopped it. It takes the service first;
// the error is then a *TakenError, or says why the record can not be used.
func (r *Runner) Run(ctx context.Context, spec Spec) error {
	defer close(r.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &job{Runner: r, spec: spec, events: make(chan phase.Event, 4), checks: make(chan checked), answers: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	j.timer.Stop()
	defer j.timer.Stop()
	act, err := j.claim(ctx)
	if err != nil {
		return err
	}
	defer j.release()
	j.takeUp(ctx, act)
	if j.Wanted { // before its end can be seen: one that has ended by now is not started a second time
		kind := phase.OrderStart
		if j.launch != nil && j.rec.Digest != j.spec.Digest { // it was found alive, and is another program
			kind = phase.OrderRestart
		}
		j.handle(ctx, phase.Event{Kind: kind, Epoch: j.state.Epoch + 1})
	}
	if j.Found != nil {
		j.Found(j.spec, j.state)
	}
	for !j.left() {
		j.arm()
		select {
		case <-ctx.Done():
			return nil
		case o := <-r.orders:
			j.obey(ctx, o)
		case e := <-j.events:
			if e.Kind == phase.Gone && j.launch != nil && j.launch.number == e.Epoch && !j.launch.reaped {
				j.handle(ctx, j.exit()) // both have come: the leader's end is first
			}
			j.handle(ctx, e)
		case <-j.exited():
			j.handle(ctx, j.exit())
		case c := <-j.checks:
			j.noteChecks(c)
		case <-j.answers:
			j.answered(ctx)
		case <-j.timer.C:
			j.due(ctx)
		}
	}
	return nil
}

// left tells that the stop of the supervisor has been carried out here.
func (j *job) left() bool {
	if !j.leaving || j.launch != nil || j.unask != nil {
		return false
	}
	if j.dirty && time.Since(j.leftAt) > lastWrites {
		j.Log.Error("service stopped, and that is not recorded", "service", j.spec.Name)
		return true
	}
	return !j.dirty
}

// handle takes one event to its end: the state that follows is durable before its act, and an act that is over at once
// is followed by its own event without being written on the way.
func (j *job) handle(ctx context.Context, e phase.Event) {
	j.Gate <- struct{}{}
	defer func() { <-j.Gate }()
	if e.Kind == phase.Gone && j.launch != nil && j.launch.number == e.Epoch {
		j.drop()
	}
	next, act, err := phase.Next(j.state, e, j.spec.Settings, time.Now(), jitter())
	if err != nil {
		j.Log.Error("internal error", "service", j.spec.Name, "error", err.Error())
		return
	}
	j.move(ctx, next, act)
}

// takeUp carries out what follows from the record, and watches what was adopted.
func (j *job) takeUp(ctx context.Context, act phase.Act) {
	j.Gate <- struct{}{}
	j.move(ctx, j.state, act)
	<-j.Gate
	l := j.launch
	if l == nil || l.child != nil || l.ending {
		return
	}
	if j.state.Phase == phase.Starting && (j.spec.Ready == nil || !j.spec.Ready.Repeats()) {
		// A line of output may have been printed before: it has been up for a while.
		j.hear(l) //nolint:contextcheck // what watches a launch ends with the launch
		j.handle(ctx, phase.Event{Kind: phase.Ready, Epoch: l.number})
	}
	j.probe(l) //nolint:contextcheck // what watches a launch ends with the launch
}

func (j *job) move(ctx context.Context, next phase.State, act phase.Act) {
	launched := false
	for {
		j.state = next
		var follows *phase.Event
		switch act {
		case phase.Launch:
			follows = j.start(ctx)
		case phase.Stop, phase.Kill:
			follows = j.end(ctx, act)
		case phase.Wait, phase.Nothing:
			if launched && j.spec.Ready == nil { // nothing to wait for
				follows = &phase.Event{Kind: phase.Ready, Epoch: j.state.Launch}
			} else {
				j.prepare()
				j.save()
			}
		}
		// What was over at once was never on disk, and is not told of either.
		if over := follows != nil && follows.Kind == phase.Gone; !over && (j.told.Phase != j.state.Phase || j.told.Reason != j.state.Reason) {
			j.told = j.state
			j.Moved(j.spec, j.state)
		}
		if follows == nil {
			if j.unask != nil && !j.toLaunch() {
				j.unask()
			}
			return
		}
		launched = follows.Kind == phase.Launched
		var err error
		if next, act, err = phase.Next(j.state, *follows, j.spec.Settings, time.Now(), jitter()); err != nil {
			j.Log.Error("internal error", "service", j.spec.Name, "error", err.Error())
			return
		}
	}
}

// jitter keeps services that fell together from rising together.
func jitter() float64 { return rand.Float64() } //nolint:gosec // nobody gains by guessing it

// save writes the record; what cannot be written now is tried again when the timer fires.
func (j *job) save() {
	raw, err := json.Marshal(j.state)
	if err == nil {
		j.rec.State = raw
		err = j.Files.Put(j.rec)
	}
	if err != nil && !j.dirty {
		j.Log.Warn("service not recorded, trying again", "service", j.spec.Name, "error", err.Error())
	}
	if j.dirty = err != nil; !j.dirty {
		j.forget(j.past...)
		j.past = nil
	}
}

const (
	retryWrite = time.Second
	lastWrites = 5 * time.Second // how long the end of a run waits for a disk that takes nothing
)

// arm sets the timer to the next thing that is due.
func (j *job) arm() {
	at := j.nextDue()
	if at.IsZero() {
		j.timer.Stop()
		return
	}
	j.timer.Reset(max(time.Until(at), 0))
}

func (j *job) nextDue() (at time.Time) {
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if j.dirty {
		earlier(time.Now().Add(retryWrite))
	}
	if j.state.Phase == phase.Waiting {
		earlier(j.state.NextAt)
	}
	earlier(j.lookAt)
	return at
}

func (j *job) due(ctx context.Context) {
	now := time.Now()
	if j.dirty {
		j.Gate <- struct{}{}
		j.save()
		<-j.Gate
	}
	if !j.lookAt.IsZero() && !now.Before(j.lookAt) {
		j.lookAgain(ctx)
	}
	if j.state.Phase == phase.Waiting && !now.Before(j.state.NextAt) {
		j.handle(ctx, phase.Event{Kind: phase.Due, Epoch: j.state.Launch})
	}
}

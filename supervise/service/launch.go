package service

import (
	"context"
	"errors"
	"os"
	"time"

	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

// Environment of a service beside the instance (ident.InstanceVar).
const (
	ServiceVar = "HERMES_SUPERVISOR_SERVICE"
	homeVar    = "HERMES_HOME"
)

// launch is the process that the service is now.
type launch struct {
	number   int64 // phase.State.Launch: events of another launch mean nothing
	id       ident.Ident
	tree     process.Tree
	child    *process.Child     // nil: adopted
	gone     <-chan struct{}    // closed at the leader's end
	copied   <-chan struct{}    // nil, or closed when all that went through a pipe is in the files
	status   func() phase.Exit  // once gone is closed
	cancel   context.CancelFunc // of what watches this launch: probes, ladder
	ctx      context.Context    //nolint:containedctx // it lives exactly as long as the launch
	began    time.Time          // before the fork; of an adopted one as its record says
	terminal bool               // what it prints is nowhere but there
	ending   bool               // a ladder is being walked
	reaped   bool               // the leader's end has been handled
}

// start launches the service: witness held, instance durable, fork, record. An automatic restart has been announced by
// the record of the launch before it (Service.Next), so nothing is written between that one's end and the fork. The event
// says that it runs, or why it does not; none: the program has to be asked something first.
func (j *job) start(ctx context.Context) *phase.Event {
	event := func(kind phase.Kind) *phase.Event { return &phase.Event{Kind: kind, Epoch: j.state.Launch} }
	argv, known := j.arguments(ctx)
	if !known {
		j.save() // the order to start is durable, as it is with a launch
		return nil
	}
	instance, witness, err := j.witness()
	failed := func(err error) *phase.Event {
		j.spare = instance // nothing was launched with it
		j.Log.Warn("service not started", "service", j.spec.Name, "error", err.Error())
		e := event(phase.LaunchFailed)
		e.Exit = &phase.Exit{At: time.Now().UTC(), Reason: err.Error()}
		return e
	}
	if err != nil {
		return failed(err)
	}
	defer witness.Close() //nolint:errcheck // from the fork on, the child's copy alone is the witness
	if before := j.rec.Process.Instance; before != "" && before != instance {
		j.past = append(j.past, before)
	}
	announced := instance == j.rec.Next && !j.dirty && j.state.Reason == phase.ReasonRestarted
	j.rec.Process = ident.Unlaunched(j.Supervisor, instance)
	j.rec.Digest, j.rec.Next, j.rec.Failing = j.spec.Digest, "", nil
	if !announced {
		if j.save(); j.dirty {
			return failed(errNotRecorded)
		}
	}
	fault.At("service.fork")
	watched, err := j.streams()
	if err != nil {
		closeStreams(watched)
		return failed(err)
	}
	j.noteBegin(instance, watched)
	ours := map[string]string{homeVar: j.Files.Store.Home().Path, ServiceVar: j.spec.Name, ident.InstanceVar: instance}
	if j.spec.SecretVar != "" {
		if ours[j.spec.SecretVar], err = j.newSecret(instance); err != nil {
			closeStreams(watched)
			return failed(err)
		}
	}
	program := process.Spec{Argv: argv, Dir: j.dir(), Env: j.spec.environ(os.Environ(), ours)}
	copied, handedOver, err := j.connect(&program, witness)
	if err != nil {
		closeStreams(watched)
		return failed(err)
	}
	began := time.Now()
	child, err := j.Host.Start(program)
	handedOver()
	if err != nil {
		closeStreams(watched)
		return failed(err)
	}
	fault.At("service.record")
	id := ident.Launched(child.PID(), j.rec.Process)
	j.nameProcess(id)
	j.rec.Process = id
	l := j.watch(ctx, id, process.Tree{Instance: instance, Leader: id, Host: j.Host})
	l.began, l.child, l.gone, l.copied, l.terminal = began, child, child.Done(), copied, j.spec.Terminal
	l.status = func() phase.Exit {
		e := child.Exit()
		return phase.Exit{Code: e.Code, Signal: e.Signal, Observed: e.Code >= 0}
	}
	if err := child.Resume(); err != nil {
		_ = child.Signal(killSignal) // its end is then seen like any other
	}
	j.probe(l, watched...) //nolint:contextcheck // what watches a launch ends with the launch
	return event(phase.Launched)
}

// connect gives a program its streams: its witness and its output files, or our terminal. handedOver closes our copies
// of them after the fork; copied is that of the launch.
func (j *job) connect(program *process.Spec, witness *os.File) (copied <-chan struct{}, handedOver func(), err error) {
	if j.spec.Terminal {
		program.Terminal, program.Witness = true, witness
		program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
		return nil, func() {}, nil
	}
	stdout, stderr, err := j.Output.Files()
	if err != nil {
		return nil, nil, err
	}
	if j.spec.Pipe {
		var ends []*os.File
		if ends, copied, err = piped(stdout, stderr); err != nil {
			return nil, nil, err
		}
		stdout, stderr = ends[0], ends[1]
	}
	program.Stdin, program.Stdout, program.Stderr = witness, stdout, stderr
	return copied, func() { _, _ = stdout.Close(), stderr.Close() }, nil
}

var errNotRecorded = errors.New("the launch cannot be recorded")

func (j *job) dir() string {
	if j.spec.Dir != "" {
		return j.spec.Dir
	}
	return j.Files.Store.Home().Path
}

// watch makes l the current launch.
func (j *job) watch(ctx context.Context, id ident.Ident, tree process.Tree) *launch {
	l := &launch{number: j.state.Launch, id: id, tree: tree}
	l.ctx, l.cancel = context.WithCancel(ctx)
	j.launch = l
	return l
}

// witness is a held witness for the next launch: the spare one, or a new one that the launch has to wait for.
func (j *job) witness() (instance string, f *os.File, err error) {
	if instance, j.spare = j.spare, ""; instance != "" {
		if f, err = j.Files.Store.TakeWitness(instance); err == nil {
			return instance, f, nil
		}
	}
	instance = ident.NewInstance()
	if f, err = j.Files.Store.NewWitness(instance, nil); err != nil {
		return "", nil, err
	}
	if err = j.nameService(instance); err != nil {
		_ = f.Close()
		j.forget(instance)
		return "", nil, err
	}
	return instance, f, nil
}

// prepare makes what an automatic restart would have to wait for while this launch runs: its witness, and the word that
// it may be launched, which the record is about to say.
func (j *job) prepare() {
	if j.state.Phase != phase.Running && j.state.Phase != phase.Waiting {
		return
	}
	if j.spare == "" {
		instance := ident.NewInstance()
		if j.Files.Store.SpareWitness(instance) != nil || j.nameService(instance) != nil {
			return // the launch makes its own
		}
		j.spare = instance
	}
	j.rec.Next = j.spare
}

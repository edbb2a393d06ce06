package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/awake"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

// Environment of a platform's command, beside HERMES_HOME and the claim's name.
const (
	IDVar   = "HERMES_SUPERVISOR_HANDOFF"
	homeVar = "HERMES_HOME"
)

// delivery is one run of a platform's command.
type delivery struct {
	child    *process.Child
	tree     process.Tree
	said     *os.File      // what it writes to stderr; locked by it, see Queue.witness
	read     *os.File      // the same, for us
	followed chan struct{} // closed when all of it has been copied
}

// deliver runs the command of a handoff that we have claimed.
//
//	claim durable  ->  fork  ->  its pid durable  ->  its end  ->  the end durable  ->  what it left behind is ended
//
// so whoever finds the claim knows that something may be running, and who.
func (j *job) deliver(ctx context.Context) (*fsstate.Handoff, error) {
	d, err := j.launch()
	if err != nil {
		h, ferr := j.failed(ctx, queue.ReasonNotStarted, nil, err.Error())
		j.Queue.dropRunFiles(j.self.Instance)
		return h, ferr
	}
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	follower := process.NewFollower(d.read, j.Stderr, process.FollowOptions{Punch: true, Watch: j.Host.Watch()})
	go func() {
		defer close(d.followed)
		if err := follower.Run(following, d.child.Done()); err != nil && following.Err() == nil {
			j.Say("what the platform's command says is not shown: %v", err)
		}
	}()
	j.recordHandler(ctx, d)
	why := j.await(ctx, d)
	h, err := j.conclude(ctx, d, why)
	j.drainOutput(d, follower, why != "")
	_ = d.read.Close()
	if err == nil {
		j.Queue.dropRunFiles(j.self.Instance)
	}
	return h, err
}

// drainOutput waits until our reader has taken what the command says; where the command was ended, or we are to end, only
// while it reads.
func (j *job) drainOutput(d *delivery, follower *process.Follower, ended bool) {
	if ended || j.asked {
		follower.Hurry()
	}
	for {
		select {
		case <-d.followed:
			return
		case <-j.Orders:
			follower.Hurry()
		}
	}
}

// launch starts the command. Until its pid is recorded, witness and environment tell of it.
func (j *job) launch() (_ *delivery, err error) {
	store := j.Queue.Files.Store
	d := &delivery{followed: make(chan struct{})}
	if d.said, err = store.NewOutput(j.self.Instance + errSuffix); err != nil {
		return nil, err
	}
	defer d.said.Close() //nolint:errcheck // from the fork on, the child's copy alone is a witness
	if err := ident.LockWitness(d.said); err != nil {
		return nil, err
	}
	if d.read, err = store.OpenOutput(j.self.Instance + errSuffix); err != nil {
		return nil, err
	}
	h := j.handoff
	fault.At("handoff.fork")
	d.child, err = j.Host.Start(process.Spec{
		Argv: expand(j.platform.Command, h), Dir: store.Home().Path,
		Env: process.ChildEnv(os.Environ(), map[string]string{
			homeVar: store.Home().Path, IDVar: h.ID, ident.InstanceVar: j.self.Instance,
		}),
		Stdin: j.witness, Stdout: j.Stdout, Stderr: d.said,
	})
	if err != nil {
		_ = d.read.Close()
		return nil, err
	}
	fault.At("handoff.record")
	return d, nil
}

// expand puts a handoff's values into argv: one pass an element, never split again, no shell. The first element is the
// program.
func expand(argv []string, h *fsstate.Handoff) []string {
	r := strings.NewReplacer("{{session}}", h.Session, "{{platform}}", h.Platform, "{{id}}", h.ID)
	out := make([]string, len(argv))
	for i, arg := range argv {
		if out[i] = arg; i > 0 {
			out[i] = r.Replace(arg)
		}
	}
	return out
}

// recordHandler writes the command's pid into the claim, and lets it run where it was created suspended.
func (j *job) recordHandler(ctx context.Context, d *delivery) {
	handler := ident.Launched(d.child.PID(), ident.Unlaunched(j.self, j.self.Instance))
	d.tree = process.Tree{Instance: j.self.Instance, Leader: handler, Sole: true}
	err := j.Queue.annotate(ctx, j.ID, j.self.Instance, func(c *fsstate.Claim) { c.Handler = handler })
	if err != nil {
		j.Say("the platform's command runs, but its pid is not recorded: %v", err)
	}
	fault.At("handoff.recorded")
	if err := d.child.Resume(); err != nil {
		j.Say("the platform's command cannot be let run: %v", err)
		_ = d.child.Signal(syscall.SIGKILL)
	}
}

// await waits for the command's end: by itself (""), or because of the reason that is returned.
func (j *job) await(ctx context.Context, d *delivery) (why queue.Reason) {
	wake, stopWatching := j.watch()
	defer stopWatching()
	poll := time.NewTicker(cancelPoll)
	defer poll.Stop()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	limit, forget := awake.WithTimeout(context.WithoutCancel(ctx), j.platform.Timeout)
	defer forget()
	late := limit.Done()
	drained := time.NewTimer(time.Hour)
	drained.Stop()
	defer drained.Stop()
	settled := time.NewTimer(time.Second)
	defer settled.Stop()
	ending, stopEnding := context.WithCancel(ctx)
	var climbing sync.WaitGroup
	defer climbing.Wait()
	defer stopEnding()
	stop := func(r queue.Reason, l process.Ladder) {
		climbing.Go(func() {
			if err := d.tree.End(ending, l); err != nil && ending.Err() == nil {
				j.Say("%v", err)
			}
		})
		if why == "" {
			why = r
			j.Say("%s", r.Text())
		}
	}
	asked, draining := false, false
	for {
		look := false
		select {
		case <-d.child.Done():
			return why
		case <-wake:
			look = true
		case <-poll.C:
			look = true
		case <-late:
			late = nil
			stop(queue.ReasonTimedOut, process.StopLadder(killGrace))
		case <-drained.C:
			stop(queue.ReasonShutdown, process.StopLadder(killGrace))
		case order := <-j.Orders:
			j.asked = true
			switch {
			case why != "" || order == OrderDrain && draining:
				stop(queue.ReasonShutdown, process.KillLadder())
			case order == OrderCancel:
				stop(queue.ReasonDeliveryCancelled, process.StopLadder(killGrace))
			default:
				draining = true
				j.Say("shutting down: waiting up to %s for the delivery", j.Drain)
				drained.Reset(j.Drain)
			}
		case <-settled.C:
			process.GiveBackMemory()
		case <-beat.C:
			if err := j.Queue.Files.Heartbeat(j.ID, time.Now()); err != nil {
				j.Queue.log().Warn("heartbeat not written", "error", err.Error())
			}
		}
		if !look || asked {
			continue
		}
		switch j.look() {
		case ours:
		case cancelled:
			asked = true
			stop(queue.ReasonDeliveryCancelled, process.StopLadder(killGrace))
		case taken:
			asked = true
			stop(queue.ReasonOtherClaim, process.KillLadder())
		}
	}
}

// conclude records the end. One that went well is on disk before anything else; in every other case what is left of the
// command is ended first, since the session may be handed over again from then on. A command that we have told to end did
// not go well, whatever it exits with: many programs answer SIGTERM with 0, and it may have delivered nothing.
func (j *job) conclude(ctx context.Context, d *delivery, why queue.Reason) (*fsstate.Handoff, error) {
	exit := d.child.Exit()
	fault.At("handoff.conclude")
	if exit.Code == 0 && !exit.Signaled && why == "" {
		h, err := j.completed(ctx, 0)
		j.endLeftover(ctx, d)
		return h, err
	}
	if !j.endLeftover(ctx, d) {
		return j.handoff, fmt.Errorf("deliver handoff %s: something of the platform's command lives on; the handoff stays %s until it has ended", j.ID, queue.Running)
	}
	last := lastWords(d.read) // of the file: who is shown what the command says may have stopped reading
	switch why {
	case queue.ReasonOtherClaim:
		return nil, &RefusedError{ID: j.ID, Reason: why, State: queue.Running}
	case "":
		detail := "the platform's command ended with " + exit.String()
		if last != "" {
			detail = last + " (" + exit.String() + ")"
		}
		return j.failed(ctx, queue.ReasonHandlerFailed, &exit.Code, detail)
	default:
		return j.failed(ctx, why, nil, last)
	}
}

// endLeftover ends what the command left behind and tells whether nothing of it lives.
func (j *job) endLeftover(ctx context.Context, d *delivery) bool {
	err := d.tree.End(ctx, process.KillLadder())
	if err != nil {
		j.Say("%v", err)
	}
	return err == nil
}

// lastWindow is where in the output the last line is looked for.
const lastWindow = 8 << 10

// lastWords is the last line of what the command wrote to stderr.
func lastWords(f *os.File) string {
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(st.Size(), lastWindow))
	n, err := f.ReadAt(b, st.Size()-int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return output.LastIn(b[:n])
}

package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Environment of an agent under a keeper.
const (
	SessionVar = "HERMES_SUPERVISOR_SESSION"
	AttemptVar = "HERMES_SUPERVISOR_ATTEMPT"
	homeVar    = "HERMES_HOME"
)

// run is one launch of the agent.
type run struct {
	instance string
	child    *process.Child
	tree     process.Tree
	by       policy.By
	resumes  bool    // it goes on with a session of the agent's own
	out      *output // nil where the terminal itself was handed over
	err      *output
}

// launch starts the agent for an admitted turn, under the session's lock from the first write to the last: whoever
// gets the lock afterwards finds either no new run, or one whose pid is recorded. The order is the promise:
//
//	witness (its content, its name and its lock durable)  ->  marker "intended" durable  ->  fork  ->  "running" durable
//
// so no instruction of the agent runs unrecorded, whatever is killed in between. The caller has charged the attempt
// in t. A fork that fails leaves t as it was written; the caller refunds, and drops the files of the instance after
// that: a marker that names a witness which is gone is UNKNOWN for ever.
func (j *job) launch(t *fsstate.Turn) (_ *run, err error) {
	r := &run{instance: ident.NewInstance()}
	defer func() {
		if err != nil && r.child == nil {
			r.closeOutputs()
			if t.Owner.Instance != r.instance {
				j.dropRunFiles(r.instance)
			}
		}
	}()
	if j.Request.Stall == 0 { // whoever continues the turn may not know what it was given
		j.Request.Stall = t.StallLimit()
	}
	if t.Stall = ""; j.Request.Stall > 0 {
		t.Stall = j.Request.Stall.String()
	}
	argv, resumes := j.Request.Agent.argv(t)
	r.resumes = resumes
	own := j.Request.Agent.Own
	if t.AgentSession == "" && !t.Fresh {
		t.AgentSession = own.ID
	}
	if t.AgentSession == "" && own.Chosen {
		t.AgentSession = NewSessionID()
	}
	prompt := t.Prompt
	if t.Attempts > 0 {
		prompt = policy.Note(policy.NoteFacts{Prompt: t.Prompt, Attempt: t.Attempts, Unobserved: t.Unobserved})
	}
	v := values{prompt: prompt, session: t.Session, agentSession: t.AgentSession, attempt: t.Attempts}
	byFile, byStdin := promptRoute(argv)
	if byFile {
		if v.promptFile, err = j.promptFile(r.instance, prompt); err != nil {
			return nil, err
		}
	}
	stdin := j.Request.Input
	if byStdin && !j.Request.Agent.hasPrompt(argv) {
		stdin = []byte(prompt)
	}
	witness, err := j.Room.Store.NewWitness(r.instance, stdin)
	if err != nil {
		return nil, err
	}
	defer witness.Close() //nolint:errcheck // from the fork on, the child's copy alone is the witness
	if err := errors.Join(j.nameSession(r.instance), j.openOutputs(r)); err != nil {
		return nil, err
	}

	t.Phase = fsstate.PhaseIntended
	t.LaunchedAt = time.Now().UTC()
	t.RetryAt, t.StalledAt = time.Time{}, time.Time{}
	t.Owner = ident.Unlaunched(j.self, r.instance)
	if err := j.Room.files().Put(t); err != nil {
		return nil, err
	}
	fault.At("launch.fork")
	r.child, err = j.Host.Start(process.Spec{
		Argv:   expand(argv, v),
		Dir:    t.Cwd,
		Env:    j.environment(t, r.instance),
		Stdin:  witness,
		Stdout: r.out.target(j.Stdout),
		Stderr: r.err.target(j.Stderr),
	})
	if err != nil {
		return nil, err
	}
	r.out.handOver()
	r.err.handOver()
	fault.At("launch.record")
	t.Phase = fsstate.PhaseRunning
	t.Owner = ident.Launched(r.child.PID(), t.Owner)
	r.tree = process.Tree{Instance: r.instance, Leader: t.Owner, Sole: true}
	if err := j.Room.files().Put(t); err != nil {
		// The marker says "intended" and the witness is held, so the turn is recorded and nobody else may start it; the
		// next write that succeeds says the rest.
		j.Say("the agent runs, but its pid is not recorded yet: %v", err)
	}
	fault.At("launch.durable")
	if err := r.child.Resume(); err != nil {
		j.Say("the agent cannot be let run: %v", err)
		_ = r.child.Signal(syscall.SIGKILL) // its end is then seen like any other
	}
	j.Room.tell(t, fsstate.Event{Kind: "launched", From: fsstate.PhaseIntended, Millis: j.age(t)})
	return r, nil
}

// age is how long ago the run died, or was last seen, that a continuation goes on with, in milliseconds: 0 where there is
// none. The same attempt once more is none.
func (j *job) age(t *fsstate.Turn) int64 {
	if t.Attempts == 0 || t.Fresh || j.died.IsZero() {
		return 0
	}
	return max(t.LaunchedAt.Sub(j.died).Milliseconds(), 1) // the clock may have been set back
}

func (j *job) follow(ctx context.Context, t *fsstate.Turn, r *run) {
	r.by = j.by
	j.turn, j.run, j.by = t, r, policy.Auto
	opts := process.FollowOptions{
		Hold:  j.Request.HoldOutput,
		Punch: j.Request.ID == "" && !j.Request.HoldOutput, // what a caller may ask for again stays whole
		Watch: j.Host.Watch(),
	}
	r.out.follow(ctx, j.Stdout, opts)
	r.err.follow(ctx, j.Stderr, opts)
}

// relaunch charges an attempt and starts the continuation, under the lock. After a launch that provably never happened
// everything stands as before, for the next try: an entry of Hermes's that we had not taken over yet has no marker of
// ours then.
func (j *job) relaunch(ctx context.Context, t *fsstate.Turn, unopened bool) error {
	return j.again(ctx, t, unopened, false)
}

// again is relaunch of a run that may be a fresh one, which resumes nothing.
func (j *job) again(ctx context.Context, t *fsstate.Turn, unopened, fresh bool) error {
	old := *t
	j.died = lastProof(t)
	if t.Crash != nil {
		j.died = t.Crash.At
	}
	t.Attempts++
	t.Fresh = fresh
	t.Keeper, t.Verified, t.ContinuedBy = j.self, true, j.Request.ContinuedBy
	t.AutoContinue = t.AutoContinue && j.Request.AutoContinue
	t.Drained, t.AgentEnded, t.Crash = false, false, nil
	if !resumable(t.AgentSession) {
		t.AgentSession = ""
	}
	if !fresh {
		j.learnSession(t)
	}
	if own := j.Request.Agent.Own; !own.Chosen && own.Told == nil { // the next run has an id of its own
		forgetSession(t)
	}
	if t.RequestID == "" {
		t.RequestID = j.Request.ID
	}
	r, err := j.launch(t)
	if err != nil {
		failed := t.Owner.Instance
		*t = old
		restore := func() error { return j.Room.files().Put(t) }
		if unopened {
			restore = func() error { return j.Room.files().Delete(t.Session) }
		}
		if restoring := restore(); restoring != nil {
			return errors.Join(err, restoring)
		}
		if failed != t.Owner.Instance {
			j.dropRunFiles(failed)
		}
		return err
	}
	j.follow(ctx, t, r)
	j.spent = append(j.spent, old.Owner.Instance)
	return nil
}

func (j *job) environment(t *fsstate.Turn, instance string) []string {
	set := map[string]string{}
	maps.Copy(set, j.Request.Agent.Env)
	set[homeVar] = j.Room.Store.Home().Path
	set[SessionVar] = t.Session
	set[AttemptVar] = strconv.Itoa(t.Attempts)
	set[ident.InstanceVar] = instance
	return process.ChildEnv(os.Environ(), set, j.Request.Agent.Unset...)
}

// promptFile is the 0600 file that {{prompt_file}} names. The marker holds the prompt; this copy need not be durable.
func (j *job) promptFile(instance, prompt string) (string, error) {
	name := instance + ".prompt"
	f, err := j.Room.Store.NewOutput(name)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(prompt)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", j.Room.Store.Path(fsstate.Run, name), err)
	}
	return j.Room.Store.Path(fsstate.Run, name), nil
}

// runSuffixes are the files that one instance has in run/.
var runSuffixes = []string{".in", ".prompt", ".out", ".err", sessionSuffix}

// dropRunFiles removes what an ended instance left in run/, but for what is to be kept: the witness stays as long as a
// record names the instance, that of a turn in ended/ too. Failing leaves a file that the sweep takes later.
func (r *Room) dropRunFiles(instance string, keep ...string) {
	if instance == "" {
		return
	}
	files := make([]string, 0, len(runSuffixes))
	for _, suffix := range runSuffixes {
		if !slices.Contains(keep, suffix) {
			files = append(files, instance+suffix)
		}
	}
	if err := r.Store.Discard(fsstate.Run, files...); err != nil {
		r.log().Warn("run files not removed", "error", err.Error())
	}
}

func (j *job) dropRunFiles(instance string, keep ...string) { j.Room.dropRunFiles(instance, keep...) }

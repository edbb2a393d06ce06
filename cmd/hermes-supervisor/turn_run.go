package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// defaultDrain is how long a shutdown waits for a turn: below the 90 s that service managers give by default.
const defaultDrain = 20 * time.Second

// runFlags are the flags of `turn run`; `turn resume` shares those that make sense there.
type runFlags struct {
	session, prompt, promptFile, source, id, agent, receipt, outcome string

	freshness   time.Duration
	maxAttempts int
	noContinue  bool
	stall       time.Duration
	drain       time.Duration
	wait        time.Duration
	hold        bool
	continuedBy string
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "run the `AGENT` of this name, built in or of hermes.toml, instead of a command line after --")
	flags.DurationVar(&f.freshness, "freshness", 0, "oldest proof of life that is still continued (default from hermes.toml: 15m)")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "`COUNT` of continuations of one prompt (default from hermes.toml: 2)")
	flags.StringVar(&f.receipt, "receipt", "", "shell `COMMAND-LINE` that must succeed, with the end as JSON on stdin, before the turn is let go; until then only it repeats")
	flags.StringVar(&f.outcome, "outcome", "", "write how the call ended to `FILE` as JSON")
	flags.DurationVar(&f.stall, "stall", 0, "end an agent that prints nothing for so long, as a crash; a continuation keeps the limit, and run where this program was killed")
	flags.DurationVar(&f.drain, "drain", defaultDrain, "how long SIGTERM waits for the turn before the agent is stopped and the turn left open")
	flags.DurationVar(&f.wait, "wait", 0, "wait so long for a living owner of the session, instead of being refused (then exit 124); an agent that lost its keeper is watched to its end")
	flags.BoolVar(&f.hold, "hold-output", false, "print only the output of the run that concluded")
}

// check refuses what can be seen to be wrong before anything is opened.
func (f *runFlags) check() error {
	for _, flag := range []struct {
		name     string
		negative bool
	}{
		{"freshness", f.freshness < 0},
		{"max-attempts", f.maxAttempts < 0},
		{"stall", f.stall < 0},
		{"drain", f.drain < 0},
		{"wait", f.wait < 0},
	} {
		if flag.negative {
			return &turn.UsageError{Problem: "--" + flag.name + " is negative"}
		}
	}
	if err := checkOutcome(f.outcome); err != nil {
		f.outcome = "" // nor can this error be written there
		return err
	}
	return nil
}

func (a *app) turnRunCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run --session KEY [--prompt TEXT | --prompt-file F|-] (--agent NAME [-- ARGS…] | -- ARGV…)",
		Short: "Run an agent on a prompt, and continue it after a crash",
		Long: `Records the prompt, runs the agent, and continues the turn when the agent dies. The prompt goes to the agent's stdin,
unless ARGV has {{prompt}} (others on this machine can read it) or {{prompt_file}}; {{session}} and {{attempt}} expand too.

Given again after this program was killed, with the same prompt or none, it continues the dead turn; another prompt
replaces it, and the old one goes to ended/. While something of the old turn lives, it is refused with exit code 75.

ARGS are added to those that hermes.toml gives the agent. They are in no record, so such a turn is continued by this call, or
by the same command given again, and by nobody else.`,
		Example: `  hermes-supervisor turn run --session fix-tests --prompt "Fix the failing tests" -- claude -p
  hermes-supervisor turn run --session nightly --id "$(date +%F)" --prompt-file job.md --agent codex`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.recording(f, f.session, a.turnRun(cmd, f, args))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "`KEY` of the session; any string (required)")
	flags.StringVar(&f.prompt, "prompt", "", "`TEXT` that the agent is asked")
	flags.StringVar(&f.promptFile, "prompt-file", "", "read the prompt from `FILE`, - for stdin")
	flags.StringVar(&f.source, "source", "", "`NAME` of who drives the session; turns of bot_room, cron, kanban, subagent and tool are left to their driver")
	flags.StringVar(&f.id, "id", "", "`NAME` of this request: one that concluded returns its outcome and runs nothing")
	flags.StringVar(&f.continuedBy, "continued-by", "", "")
	_ = flags.MarkHidden("continued-by") // how run starts a keeper of its own
	flags.BoolVar(&f.noContinue, "no-continue", false, "do not continue this turn without a person")
	f.register(cmd)
	return cmd
}

// recording writes an error to --outcome as well, and passes it on.
func (a *app) recording(f *runFlags, session string, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, a.writeOutcome(f.outcome, failedOutcome(session, err)))
}

func (a *app) turnRun(cmd *cobra.Command, f *runFlags, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return &turn.UsageError{Problem: fmt.Sprintf("%q stands before --: the agent's command line comes after it, and a prompt of several words needs quotes", args[0])}
	}
	if err := f.check(); err != nil {
		return err
	}
	prompt, given, err := a.readPrompt(cmd, f)
	if err != nil {
		return err
	}
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	agent, err := r.choose(f.agent, args)
	if err != nil {
		return err
	}
	if !given { // what is there goes on
		if t, none := r.Resumed(f.session); none == nil {
			if agent, err = r.throughServe(agent, t); err != nil {
				return err
			}
		}
	}
	return a.keep(cmd, r, f, turn.Request{
		Session: f.session, Prompt: prompt, HasPrompt: given, Source: f.source, ID: f.id, Agent: agent,
		AutoContinue: !f.noContinue, ContinuedBy: f.continuedBy,
	})
}

// choose is the agent that a command line means: a name, with more arguments where that agent takes some, or an argv.
func (r *room) choose(name string, argv []string) (turn.Agent, error) {
	switch {
	case name != "":
		return r.agentWith(name, argv)
	case len(argv) == 0:
		return turn.Agent{}, &turn.UsageError{Problem: "no agent: give --agent NAME or a command line after --"}
	}
	return turn.Agent{Command: argv}, nil
}

func (a *app) readPrompt(cmd *cobra.Command, f *runFlags) (prompt string, given bool, err error) {
	text, file := cmd.Flags().Changed("prompt"), cmd.Flags().Changed("prompt-file")
	switch {
	case text && file:
		return "", false, &turn.UsageError{Problem: "give --prompt or --prompt-file, not both"}
	case text:
		return f.prompt, true, nil
	case !file:
		return "", false, nil
	}
	in := a.stdin
	if f.promptFile != "-" {
		opened, err := os.Open(f.promptFile)
		if err != nil {
			return "", false, &turn.UsageError{Problem: "read the prompt: " + err.Error()}
		}
		defer opened.Close() //nolint:errcheck // read only
		in = opened
	}
	data, err := io.ReadAll(io.LimitReader(in, fsstate.MaxRecord+1))
	if err != nil {
		return "", false, &turn.UsageError{Problem: "read the prompt: " + err.Error()}
	}
	if len(data) > fsstate.MaxRecord {
		return "", false, &turn.UsageError{Problem: fmt.Sprintf("read the prompt: more than %d bytes", fsstate.MaxRecord)}
	}
	return string(data), true, nil
}

// keep runs a keeper for one request and reports how the call ended.
func (a *app) keep(cmd *cobra.Command, r *room, f *runFlags, req turn.Request) error {
	if cmd.Flags().Changed("freshness") {
		r.Settings.Freshness = f.freshness
	}
	if cmd.Flags().Changed("max-attempts") {
		r.Settings.MaxAttempts = f.maxAttempts
	}
	req.Receipt, req.Stall, req.Drain, req.Wait, req.HoldOutput = f.receipt, f.stall, f.drain, f.wait, f.hold
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	if req.Cwd == "" {
		req.Cwd = cwd
	}
	host, err := process.NewHost()
	if err != nil {
		return err
	}
	orders, stop := a.listen()
	defer stop()
	k := &turn.Keeper{
		Room: r.Room, Host: host, Request: req, Stdout: a.stdout, Stderr: a.stderr,
		Orders: orders, Started: a.started, Say: a.say,
	}
	out, err := k.Run(cmd.Context())
	if err != nil {
		return err
	}
	a.code = codeOf(out)
	described := describeOutcome(out, a.code)
	err = a.writeOutcome(f.outcome, described) // before anything that a reader can hold up
	if !a.json || a.jsonLine(described) != nil {
		a.tell(out, req.Agent.Name)
	}
	if err != nil {
		f.outcome = "" // it cannot be written, so the error cannot be written there either
		if a.code != 0 {
			a.say("%v", oneLine(err)) // the agent's own code says more than this
			return nil
		}
		return err
	}
	return nil
}

// codeOf is the exit code of `turn run`.
func codeOf(o turn.Outcome) int {
	switch o.State {
	case turn.Concluded, turn.Interrupted:
		return o.Code
	case turn.GaveUp:
		return exitGaveUp
	case turn.LeftOpen:
		switch o.Reason {
		case policy.ReasonDrained:
			return o.Code
		case policy.ReasonUnverified:
			return exitNotPermitted
		default:
			return exitBusy
		}
	case turn.Refused:
		if o.Reason == policy.ReasonUnverified {
			return exitNotPermitted
		}
		return exitBusy
	case turn.WaitRanOut:
		return exitWaitRanOut
	case turn.ReceiptFailed:
		return exitBusy
	}
	return exitFailed
}

// tell says in one line what the agent's own output does not.
func (a *app) tell(o turn.Outcome, agent string) {
	if o.State == turn.Concluded && !o.Replayed {
		return
	}
	line := o.Reason.Text()
	if o.Detail != "" {
		line += " (" + o.Detail + ")"
	}
	if remedy := remedy(o.Reason, o.Session, agent); remedy != "" && o.State != turn.Concluded && o.State != turn.Interrupted {
		line += "; " + remedy
	}
	a.say("session %s %s: %s", label(o.Session), o.State, line)
}

func describeOutcome(o turn.Outcome, code int) map[string]any {
	m := map[string]any{
		"schema": schema, "type": "turn_outcome", "session": o.Session, "state": o.State, "reason": o.Reason, "exit_code": code,
		"attempts": o.Attempts, "replayed": o.Replayed,
	}
	if o.State == turn.Concluded || o.State == turn.Interrupted {
		m["agent_code"], m["agent_signal"] = o.Code, o.Signal
	}
	if o.Detail != "" {
		m["detail"] = o.Detail
	}
	for name, t := range map[string]time.Time{"started_at": o.StartedAt, "ended_at": o.EndedAt} {
		if !t.IsZero() {
			m[name] = t
		}
	}
	return m
}

func failedOutcome(session string, err error) map[string]any {
	code, _ := exitCode(err)
	return map[string]any{
		"schema": schema, "type": "turn_outcome", "session": session, "state": "error", "reason": reasons[code],
		"detail": oneLine(err), "exit_code": code,
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// controls are the commands that order something of a running supervisor.
func (a *app) controls() []*cobra.Command {
	return []*cobra.Command{
		a.orderCommand(supervise.OpStart, "Start a service, and keep it up from now on", phase.Running),
		a.orderCommand(supervise.OpStop, "Stop a service, and keep it down, also over a restart of run", phase.Stopped),
		a.orderCommand(supervise.OpRestart, "Stop a service and start it again", phase.Running),
		a.signalCommand(),
		a.reloadCommand(supervise.OpReload, "Read hermes.toml again: new services start, removed ones stop, nothing else is restarted"),
		a.applyCommand(),
	}
}

// orderWait is how long an order is waited for unless its caller says otherwise.
const orderWait = 30 * time.Second

func (a *app) orderCommand(op, short string, until phase.Phase) *cobra.Command {
	wait := orderWait
	cmd := &cobra.Command{
		Use:   op + " NAME[@PROFILE]",
		Short: short,
		Long: short + `. The order is on disk when this returns, and it is waited for until it has been carried out.
While run is down, the order is written for the next run. A service without @PROFILE is that of the home in force.`,
		Example: "  hermes-supervisor " + op + " gateway\n  hermes-supervisor " + op + " gateway@office --wait 2m",
		Args:    oneService,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd.Context(), op, args[0], 0, until, wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait until it has been carried out (then exit 124); 0: not at all")
	return cmd
}

func (a *app) signalCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "signal NAME[@PROFILE] SIGNAL",
		Short: "Send a signal to a service's own process",
		Long: `Sends a signal to the process that run started, not to what that has started. SIGNAL is a name or number, as kill(1) takes
it: USR1, SIGUSR1 or 10.`,
		Example: `  hermes-supervisor signal gateway USR1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &turn.UsageError{Problem: "signal takes a service and a signal"}
			}
			sig, err := signalNumber(args[1])
			if err != nil {
				return err
			}
			return a.order(cmd.Context(), supervise.OpSignal, args[0], sig, phase.Stopped, 0)
		},
	}
}

func oneService(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &turn.UsageError{Problem: fmt.Sprintf("%s takes one service, not %d", cmd.Name(), len(args))}
	}
	return nil
}

// order gives one order about one service, waits until it has been carried out and prints what came of it.
func (a *app) order(ctx context.Context, op, target string, sig int, until phase.Phase, wait time.Duration) error {
	text, err := a.give(ctx, op, target, sig, until, wait, func(text string) { a.say("%s", text) })
	if err != nil {
		return err
	}
	return a.told(target, op, text)
}

// give is order without a word on stdout. progress is told of every few seconds of the wait.
func (a *app) give(ctx context.Context, op, target string, sig int, until phase.Phase, wait time.Duration, progress func(string)) (answer string, err error) {
	name, profile, _ := strings.Cut(target, "@")
	p, err := a.placeOf(profile) //nolint:contextcheck // it waits for little, and not for long
	if err != nil {
		return "", err
	}
	defer p.files.Store.Close() //nolint:errcheck // a directory handle
	rec, err := p.files.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", a.unknownService(p, name)
	}
	if err != nil {
		return "", err
	}
	by := p.supervisor(rec)
	switch {
	case by.Verdict == ident.Unknown:
		return "", &busyError{fmt.Errorf("service %s: nobody can tell whether its supervisor (pid %d on %s) lives: %s", name, rec.Supervisor.PID, rec.Supervisor.Host, by.Why)}
	case by.Verdict == ident.Dead && op == supervise.OpSignal:
		return "", &busyError{errors.New("run is down, so nobody can send a signal")}
	case by.Verdict == ident.Dead:
		return a.orderForLater(ctx, p, name, op)
	}
	before := stateOf(rec)
	if err := a.ask(ctx, p, &fsstate.Order{Supervisor: rec.Supervisor.Instance, Op: op, Service: name, Signal: sig}); err != nil {
		return "", err
	}
	if wait == 0 || op == supervise.OpSignal {
		return "done", nil
	}
	return a.await(ctx, p, target, name, op, before, until, wait, progress)
}

func stateOf(rec *fsstate.Service) (s phase.State) {
	_ = json.Unmarshal(rec.State, &s) // a record that is no state is told by status
	return s
}

// unknownService names what there is.
func (a *app) unknownService(p *place, name string) error {
	records, _ := p.files.All()
	var known []string
	for _, r := range records {
		known = append(known, r.Service)
	}
	return &turn.UsageError{Problem: fmt.Sprintf("no service %q was ever run in %s; there are: %s", name, p.home.Path, orNone(known))}
}

// answerWait is how long a living supervisor may take to answer: it writes to the disk first.
const answerWait = 10 * time.Second

// ask leaves an order and waits for the answer.
func (a *app) ask(ctx context.Context, p *place, o *fsstate.Order) error {
	o.ID, o.At = ident.NewInstance(), time.Now().UTC()
	if err := p.orders.Put(o); err != nil {
		return err
	}
	defer p.orders.Drop(o.ID) //nolint:errcheck // swept later
	deadline := time.Now().Add(answerWait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		answer, err := p.orders.Answer(o.ID)
		switch {
		case err != nil:
			return err
		case answer != nil && answer.Verified && answer.Error != "": // one that does not verify is somebody else's
			return &answerError{answer.Error, answer.Code}
		case answer != nil && answer.Verified:
			return nil
		case time.Now().After(deadline):
			return &busyError{fmt.Errorf("the supervisor does not answer within %s; is it stopped?", answerWait)}
		}
		if err := process.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// answerError is what the supervisor said, with the exit code that it gave.
type answerError struct {
	text string
	code int
}

func (e *answerError) Error() string { return e.text }

// await waits until a service is in the phase that an order was to bring it to.
func (a *app) await(ctx context.Context, p *place, target, name, op string, before phase.State, until phase.Phase, wait time.Duration, progress func(string)) (string, error) {
	deadline, said := time.Now().Add(wait), time.Now()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		rec, err := p.files.Get(name)
		if err != nil {
			return "", err
		}
		s := stateOf(rec)
		arrived := s.Phase == until && s.Epoch > before.Epoch && (op != supervise.OpRestart || s.Launch > before.Launch)
		switch {
		case s.Reason == phase.ReasonOwnerUnknown && s.Epoch > before.Epoch:
			return "", &answerError{fmt.Sprintf("service %s is held: something of it lives that no record vouches for, so nothing is signalled; end what has HERMES_SUPERVISOR_SERVICE=%s in its environment, then the order is carried out", target, name), exitBusy}
		case arrived:
			return describe(s), nil
		case s.Phase == phase.Parked && until == phase.Running, s.Phase == phase.Waiting && s.Epoch > before.Epoch && s.Launch > before.Launch:
			return "", &answerError{fmt.Sprintf("service %s: %s", target, describe(s)), exitFailed}
		case time.Now().After(deadline):
			return "", &waitError{fmt.Sprintf("service %s is still %s after %s; the order stands", target, describe(s), wait)}
		case time.Since(said) > 2*time.Second:
			said = time.Now()
			progress(target + ": " + describe(s))
		}
		if err := process.Pause(ctx, pause); err != nil {
			return "", err
		}
	}
}

func (a *app) told(name, op, text string) error {
	if a.json {
		return a.printJSON(map[string]any{"service": name, "op": op, "text": text})
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s\n", name, text)
	return err
}

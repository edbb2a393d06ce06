package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/serve"
	"hermes-supervisor/supervise/turn"
)

// exitLost is the exit code of serve-turn for an end that nobody saw: a crash of the turn.
const exitLost = 69

// serveWait is how long a turn waits for the backend in which it is to go on: as long as its start may take.
const serveWait = 2 * time.Minute

// refusalLine is how serve-turn says that the turn did not begin, as `hermes chat` does.
const refusalLine = "hermes-refusal-reason: "

// endLine is how it says that the turn has ended: the last line of its output, which tells whoever finds it that much when
// no keeper has seen it exit. What Hermes answers comes before it, and only when the turn has ended.
const endLine = `{"type":"hermes-supervisor.turn-end","status":"%s"}` + "\n"

// endEvents finds such a line.
func endEvents() turn.Events {
	is := func(status serve.Status) *regexp.Regexp {
		return regexp.MustCompile("^" + regexp.QuoteMeta(strings.TrimSuffix(fmt.Sprintf(endLine, status), "\n")) + "$")
	}
	return turn.Events{End: is(serve.Complete), Error: is(serve.Failed), Busy: regexp.MustCompile("^" + refusalLine)}
}

// throughServe is what continues a turn of Hermes's own file: the service that holds such turns, where the configuration has
// one for the home or for its root; else what the agent's name runs.
func (r *room) throughServe(agent turn.Agent, t *fsstate.Turn) (turn.Agent, error) {
	if t == nil || t.Origin == nil || agent.Name != config.HoldsHermes {
		return agent, nil
	}
	home := r.Store.Home()
	s, at := r.holding(home)
	if s == nil {
		return agent, nil
	}
	self, err := selfPath()
	if err != nil {
		return agent, err
	}
	argv := []string{self, "--home", at}
	if path, err := filepath.Abs(r.config.Path); err == nil && r.config.Path != "" {
		argv = append(argv, "--config", path) // a keeper has another working directory
	}
	argv = append(argv, "serve-turn", "--service", s.Name, "--turn", fsstate.HermesID(t.Origin.StartedAt))
	if at != home.Path {
		argv = append(argv, "--profile", home.Profile)
	}
	return turn.Agent{
		Name: agent.Name, Command: argv, CrashExit: []int{exitLost},
		Events: endEvents(),
	}, nil
}

// holding is the service that holds the turns of a home, and the home that it runs in: that one, or its root.
func (r *room) holding(home fsstate.Home) (*config.Service, string) {
	for _, at := range []struct{ path, profile string }{{home.Path, home.Profile}, {home.Root, ""}} {
		i := slices.IndexFunc(r.config.Services, func(s config.Service) bool {
			return s.HoldsTurns == config.HoldsHermes && s.Profiles.Has(at.profile)
		})
		if i >= 0 {
			return &r.config.Services[i], at.path
		}
	}
	return nil, ""
}

// serveTurnCommand is the agent of a keeper that continues a turn in `hermes serve`.
func (a *app) serveTurnCommand() *cobra.Command {
	var name string
	var t serve.Turn
	cmd := &cobra.Command{
		Use: "serve-turn --service NAME", Hidden: true, Args: noArgs,
		Short: "Continue a turn in hermes serve (keepers start this)",
		Long: `A keeper starts this as its agent, with the prompt on stdin, for a turn of Hermes's that goes on in the backend that holds
its session.`,
		Example: `  hermes-supervisor serve-turn --service hermes-serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serveTurn(cmd, name, t)
		},
	}
	cmd.Flags().StringVar(&name, "service", "", "`SERVICE` that holds the turn")
	cmd.Flags().StringVar(&t.ID, "turn", "", "`TEXT` that tells the turn from others of its session")
	cmd.Flags().StringVar(&t.Profile, "profile", "", "`PROFILE` of the session, where it is not the service's own")
	return cmd
}

func (a *app) serveTurn(cmd *cobra.Command, name string, t serve.Turn) error {
	if t.Session = os.Getenv(turn.SessionVar); t.Session == "" {
		return &turn.UsageError{Problem: "serve-turn is started by a keeper"}
	}
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	prompt, err := io.ReadAll(a.stdin)
	if err != nil {
		return err
	}
	t.Prompt = string(prompt)
	ctx := cmd.Context()
	stop, quit := interruptible(ctx)
	defer quit()
	waiting, cancel := context.WithTimeout(ctx, serveWait)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-waiting.Done():
		}
	}()
	backend, err := serve.Find(waiting, fsstate.ServiceFiles{Store: r.Store, Key: r.Key}, name)
	var end serve.End
	if err == nil {
		end, err = backend.Continue(ctx, t, stop, func(taken bool) {
			if taken {
				a.say("Hermes has taken the turn itself: watching it")
			}
		})
	}
	return a.serveEnd(end, err)
}

// serveEnd says to the keeper how the turn ended.
func (a *app) serveEnd(end serve.End, err error) error {
	if busy, is := errors.AsType[*serve.BusyError](err); is {
		fmt.Fprintf(a.errs(), "%s%s\n%s\n", refusalLine, busy.Reason, busy.Detail)
		a.code = exitBusy
		return nil
	}
	if err != nil {
		a.say("%v", oneLine(err))
		a.code = exitLost
		return nil
	}
	text := fmt.Sprintf(endLine, end.Status)
	switch end.Status {
	case serve.Interrupted: // no end event says that to a keeper: the code does
		a.code = 130
		return nil
	case serve.Failed:
		a.say("%s", oneLine(errors.New(end.Text)))
		a.code = exitFailed
	case serve.Unseen:
		a.say("the turn has ended in Hermes, where its answer stands")
		text = fmt.Sprintf(endLine, serve.Complete)
	case serve.Complete:
		text = end.Text + "\n" + text
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

// interruptible closes stop at the first SIGINT: the person's word, which Hermes has to be told. SIGTERM ends this process as
// it ends any other, and the turn goes on in its backend.
func interruptible(ctx context.Context) (stop <-chan struct{}, quit func()) {
	signals, asked := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT)
	var once sync.Once
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-signals:
			once.Do(func() { close(asked) })
		case <-ctx.Done():
		}
	}()
	return asked, func() { signal.Stop(signals); cancel() }
}

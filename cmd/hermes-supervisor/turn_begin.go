package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/turn"
)

func (a *app) turnBeginCommand() *cobra.Command {
	f := &runFlags{}
	var b turn.Report
	cmd := &cobra.Command{
		Use:   "begin --session KEY --pid PID (--prompt TEXT | --prompt-file F|-)",
		Short: "Record a turn that the agent itself reports",
		Long: `For agents that report their own turns, from a hook or a plugin. --pid names the agent: an ancestor of this command that
is no shell. Under a keeper (turn run) the keeper's record only learns the agent's own session id.`,
		Example: `  hermes-supervisor turn begin --session "$SESSION_ID" --pid "$AGENT_PID" --prompt-file -
  hermes-supervisor turn begin --session NEW-KEY --rotated-from OLD-KEY`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if b.Prompt, _, err = a.readPrompt(cmd, f); err != nil {
				return err
			}
			return a.turnBegin(cmd, b)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&b.Session, "session", "", "`KEY` of the session (required)")
	flags.IntVar(&b.PID, "pid", 0, "process id (`PID`) of the agent")
	flags.StringVar(&f.prompt, "prompt", "", "`TEXT` that the agent was asked")
	flags.StringVar(&f.promptFile, "prompt-file", "", "read the prompt from `FILE`, - for stdin")
	flags.StringVar(&b.Agent, "agent", "", "`AGENT` of hermes.toml that may continue the turn")
	flags.StringVar(&b.Source, "source", "", "`NAME` of who drives the session")
	flags.BoolVar(&b.Unattended, "unattended", false, "the turn may be continued without a person")
	flags.StringVar(&b.RotatedFrom, "rotated-from", "", "`KEY` that the session had until now: its open turn answers to both")
	return cmd
}

func (a *app) turnBegin(cmd *cobra.Command, b turn.Report) error {
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	b.KeeperInstance, b.KeeperSession = os.Getenv(ident.InstanceVar), os.Getenv(turn.SessionVar)
	if b.PID == 0 && b.KeeperInstance == "" && b.RotatedFrom == "" {
		return &turn.UsageError{Problem: "--pid is missing: the process id of the agent, which is an ancestor of this command"}
	}
	begun, err := r.Begin(cmd.Context(), b)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"session": b.Session, "result": begun})
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s\n", printable(b.Session), begun)
	return err
}

func (a *app) turnEndCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "end --session KEY",
		Short: "Record that a reported turn has ended",
		Long: `Removes the record of a turn that turn begin made, under any key of its session. No open turn is no error: it has ended
already. The turn of a keeper ends with its keeper.`,
		Example: `  hermes-supervisor turn end --session "$SESSION_ID"`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if session == "" {
				return &turn.UsageError{Problem: "session key is empty"}
			}
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			ended, err := r.End(cmd.Context(), session)
			if err != nil {
				return err
			}
			result := " ended"
			if !ended {
				result = ": no reported turn is open"
			}
			if a.json {
				return a.printJSON(map[string]any{"session": session, "ended": ended})
			}
			_, err = fmt.Fprintf(a.stdout, "%s%s\n", printable(session), result)
			return err
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "`KEY` of the session (required)")
	return cmd
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hermes-supervisor/supervise/turn"
)

func (a *app) turnResumeCommand() *cobra.Command {
	f := &runFlags{}
	var all bool
	cmd := &cobra.Command{
		Use:   "resume [KEY… | --all] [--agent NAME | -- ARGV…]",
		Short: "Continue dead turns now, also those that were given up",
		Long: `Continues turns in the foreground, one after the other: open ones whose agent is dead, and the newest one of a session in
ended/. A spent budget and an old age do not count, since a person asks. The agent is the one that the turn names,
--agent, or a command line after --; a turn that was run with a command line of its own needs one again.`,
		Example: `  hermes-supervisor turn resume fix-tests -- claude -p
  hermes-supervisor turn resume --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, argv := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				keys, argv = args[:dash], args[dash:]
			}
			session := ""
			if len(keys) == 1 {
				session = keys[0]
			}
			return a.recording(f, session, a.turnResume(cmd, f, keys, argv, all))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every dead open turn, and every turn that was given up as too old or tried too often")
	f.register(cmd)
	return cmd
}

func (a *app) turnResume(cmd *cobra.Command, f *runFlags, keys, argv []string, all bool) error {
	if all == (len(keys) > 0) {
		return &turn.UsageError{Problem: "name the sessions to resume, or give --all"}
	}
	if len(keys) != 1 && f.outcome != "" {
		return &turn.UsageError{Problem: "--outcome takes one session"}
	}
	if err := f.check(); err != nil {
		return err
	}
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	if all {
		var bad []error
		if keys, bad = r.Resumable(); len(bad) > 0 {
			for _, err := range bad {
				a.say("%s", oneLine(err))
			}
		}
		if len(keys) == 0 {
			_, err := fmt.Fprintln(a.stdout, "nothing to resume")
			return err
		}
	}
	if len(keys) == 1 {
		return a.resumeOne(cmd, r, f, keys[0], argv)
	}
	worst := 0
	for i, key := range keys {
		if a.ordered.Load() {
			a.say("%d more not resumed", len(keys)-i)
			if worst == 0 {
				worst = 143 // not all of what was asked for is done
			}
			break
		}
		a.code = 0
		err := a.resumeOne(cmd, r, f, key, argv)
		if err != nil {
			a.code = a.report(err)
		}
		if a.code != 0 {
			worst = a.code
		}
	}
	a.code = worst
	return nil
}

func (a *app) resumeOne(cmd *cobra.Command, r *room, f *runFlags, key string, argv []string) error {
	r, err := a.homeOf(r, key, false)
	if err != nil {
		return err
	}
	t, err := r.Resumed(key)
	if err != nil {
		return err
	}
	name := f.agent
	if name == "" && len(argv) == 0 {
		if name = t.Agent; name == "" {
			return ownCommandLine(t.Session)
		}
	}
	agent, err := r.choose(name, argv)
	if err != nil {
		return err
	}
	if agent, err = r.throughServe(agent, t); err != nil {
		return err
	}
	return a.keep(cmd, r, f, turn.Request{
		Session: t.Session, Source: t.Source, Agent: agent, AutoContinue: true, Fresh: true, Cwd: t.Cwd,
	})
}

// ownCommandLine says how a turn goes on whose record names no agent.
func ownCommandLine(session string) error {
	problem := fmt.Sprintf("session %s was run with a command line of its own: ", label(session))
	if name := wrapperOf(session); name != "" {
		return &turn.UsageError{Problem: problem + fmt.Sprintf("`%s=%s hermes-supervisor %s …` gives it again, or --agent %[3]s goes on without its arguments", turn.SessionVar, word(session), name)}
	}
	return &turn.UsageError{Problem: problem + "give it again after --"}
}

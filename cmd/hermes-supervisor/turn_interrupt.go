package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) turnInterruptCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "interrupt KEY",
		Short: "End a turn for good: it is never continued",
		Long: `The order is on disk before any signal. KEY is the key that the turn began with, a later key of its session, or the
agent's own id. Without an open turn, one that is just starting will not begin. The session is free when the agent and
everything that it started are gone.`,
		Example: `  hermes-supervisor turn interrupt fix-tests`,
		Args:    oneKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			if r, err = a.homeOf(r, args[0], false); err != nil {
				return err
			}
			in, err := r.Interrupt(cmd.Context(), args[0], wait)
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(map[string]any{"session": in.Session, "found": in.Found, "ended": in.Ended, "detail": in.Detail})
			} else {
				what := " interrupted"
				if !in.Found {
					what = ""
				}
				_, err = fmt.Fprintf(a.stdout, "%s%s: %s\n", printable(in.Session), what, in.Detail)
			}
			if err == nil && in.Found && !in.Ended {
				return &waitError{fmt.Sprintf("session %s is not free after %s: %s; the interrupt is recorded and stays", label(in.Session), wait, in.Detail)}
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 15*time.Second, "how long to wait for the session to be free (exit 124 after that)")
	return cmd
}

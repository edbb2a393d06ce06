package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/supervise/turn"
)

func (a *app) pauseCommand() *cobra.Command {
	var d time.Duration
	cmd := &cobra.Command{
		Use:     "pause",
		Short:   "Hold back every continuation in this home, by anyone",
		Example: `  hermes-supervisor pause --for 2h`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if d < 0 {
				return &turn.UsageError{Problem: "--for is negative"}
			}
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			p, err := r.Pause(d)
			if err != nil {
				return err
			}
			until := "hermes-supervisor unpause"
			if !p.Until.IsZero() {
				until = p.Until.Local().Format(time.DateTime)
			}
			if a.json {
				return a.printJSON(map[string]any{"paused": true, "pause": p})
			}
			_, err = fmt.Fprintf(a.stdout, "continuations are held back until %s\n", until)
			return err
		},
	}
	cmd.Flags().DurationVar(&d, "for", 0, "for how long (default until unpause)")
	return cmd
}

func (a *app) unpauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "unpause",
		Short:   "Allow continuations again",
		Example: `  hermes-supervisor unpause`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			if err := r.Unpause(); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"paused": false})
			}
			_, err = fmt.Fprintln(a.stdout, "continuations are allowed")
			return err
		},
	}
}

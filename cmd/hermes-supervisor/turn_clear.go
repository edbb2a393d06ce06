package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) turnClearCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "clear KEY",
		Short: "Move an open turn to ended/ without continuing it",
		Long: `Moves the record of a dead turn to ended/, from where turn resume can bring it back for 7 days. The turn of a living
keeper or agent is refused with exit code 75; --force ends them first.`,
		Example: `  hermes-supervisor turn clear fix-tests`,
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
			cleared, err := r.Clear(cmd.Context(), args[0], force)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"session": args[0], "ended_file": cleared.File, "detail": cleared.How})
			}
			_, err = fmt.Fprintf(a.stdout, "%s cleared: %s\n", printable(args[0]), cleared.How)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also where a keeper or agent lives, or nobody can tell: what the record provably names is ended first")
	return cmd
}

package main

import "github.com/spf13/cobra"

func (a *app) turnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "turn",
		Short: "Run, report, look at and end turns",
		Long: "A turn is one prompt being worked on in one session. A session, named by a KEY of your own, has at " +
			"most one open turn. turn list shows what is open, and explain KEY what would become of it.",
		Example: `  hermes-supervisor turn run --session fix-tests --prompt "Fix the failing tests" -- claude -p
  hermes-supervisor turn list`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(a.turnRunCommand(), a.turnBeginCommand(), a.turnEndCommand(), a.turnInterruptCommand(),
		a.turnListCommand(), a.turnShowCommand(), a.turnClearCommand(), a.turnResumeCommand())
	return cmd
}

package main

import "github.com/spf13/cobra"

func (a *app) handoffWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Deliver handoffs in the foreground, and do nothing else",
		Long: `Delivers the pending handoffs of this home and its profiles, as run does, without services and turns. Beside a run of
the same home one of the two delivers, and the other takes over when that one dies.

Ctrl-C or SIGTERM lets the deliveries finish for [handoff] drain, then ends them; a second one ends them at once.`,
		Example: `  hermes-supervisor handoff watch`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.run(cmd, ownService{handoffsOnly: true}) },
	}
}

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
)

func (a *app) sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "Remove what nobody needs any more, as run does every hour",
		Long: `Removes from the home and (of the root home) its profiles what killed programs left behind and what is past its keeping
time: new versions in tmp/ that were never finished, turns in ended/ and outcomes after 7 days, orders and answers after a
day, files in run/ of instances that are gone. Nothing is removed that a record names or somebody holds. It is not needed
where run is up.`,
		Example: `  hermes-supervisor sweep`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.sweep(cmd) },
	}
}

func (a *app) sweep(cmd *cobra.Command) error {
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	rooms, bad := a.siblings(r)
	removed := 0
	for i, other := range rooms {
		if i > 0 { // the homes of a search are open for reading
			store, err := fsstate.Open(other.Store.Home(), fsstate.Options{UnsafeFilesystem: a.unsafe})
			if err != nil {
				bad = append(bad, err)
				continue
			}
			other.Store, other.Log = store, r.Log
		}
		now := time.Now()
		removed += other.Sweep(cmd.Context(), now)
		tmp, err := other.Store.StaleTmp(now)
		if err != nil || len(tmp)+len(other.Leftovers(cmd.Context(), now)) > 0 { // the sweep has said why
			a.code = exitState
		}
	}
	for _, err := range bad {
		a.code = exitState
		a.say("%s", problem(err))
	}
	if a.json {
		return a.printJSON(map[string]any{"removed": removed})
	}
	_, err = fmt.Fprintf(a.stdout, "removed: %d\n", removed)
	return err
}

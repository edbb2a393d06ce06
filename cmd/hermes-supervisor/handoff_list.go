package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
)

func (a *app) handoffListCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the open handoffs",
		Long: `Lists the open handoffs of the home (of the root home: of all its profiles too), the oldest request first, with what holds
each back or who delivers it.`,
		Example: `  hermes-supervisor handoff list --json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := a.read()
			if errors.Is(err, errNoHome) {
				return a.printHandoffs(nil, nil)
			}
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			queues, bad := a.queuesOf(r)
			var views []handoff.View
			for _, q := range queues {
				v, errs := q.List(all)
				views, bad = append(views, v...), append(bad, errs...)
			}
			slices.SortStableFunc(views, func(a, b handoff.View) int { return strings.Compare(a.ID, b.ID) })
			return a.printHandoffs(views, bad)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those too that have ended and are kept")
	return cmd
}

// printHandoffs prints what could be read, and one line for each thing that could not; the latter makes the exit code 74.
func (a *app) printHandoffs(views []handoff.View, bad []error) error {
	problems := make([]string, 0, len(bad))
	for _, err := range bad {
		a.code = exitState
		problems = append(problems, problem(err))
	}
	if a.json {
		handoffs := make([]handoffJSON, 0, len(views))
		for _, v := range views {
			handoffs = append(handoffs, handoffJSONOf(v))
		}
		return a.printJSON(map[string]any{"handoffs": handoffs, "errors": problems})
	}
	for _, line := range problems {
		a.say("%s", line)
	}
	rows := make([][]any, 0, len(views))
	for _, v := range views {
		rows = append(rows, []any{v.ID, v.Home.Profile, v.Session, v.Platform, v.State, v.Tries, v.RequestedAt, v.LastSeen, whyOf(v)})
	}
	return a.table([]string{"ID", "PROFILE", "SESSION", "PLATFORM", "STATE", "TRIES", "REQUESTED", "LAST SEEN", "WHY"}, rows)
}

// whyOf is why a handoff stands as it does, in one line.
func whyOf(v handoff.View) string {
	switch queue.State(v.State) {
	case queue.Running:
		line := claimerOf(v)
		if v.Reason != queue.ReasonRunning {
			line += "; " + v.Reason.Text()
		}
		return line
	case queue.Failed:
		if v.End != nil && v.End.Error != "" {
			return v.End.Error
		}
	case queue.Pending, queue.Completed:
	}
	return v.Reason.Text()
}

// claimerOf is who delivers a running handoff, and what is known of its life.
func claimerOf(v handoff.View) string {
	if v.Claim == nil {
		return v.Claimer.Why
	}
	return fmt.Sprintf("pid %d on %s is %s", v.Claim.Claimer.PID, v.Claim.Claimer.Host, v.Claimer.Verdict)
}

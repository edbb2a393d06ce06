package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

func (a *app) handoffCompleteCommand() *cobra.Command {
	return a.claimedCommand(&cobra.Command{
		Use:     "complete ID --claim CLAIM",
		Short:   "Record that a handoff that you claimed is delivered",
		Long:    `Records the delivery, for the claim that has the handoff. Given again, it changes nothing.`,
		Example: `  hermes-supervisor handoff complete "$ID" --claim "$CLAIM"`,
	}, func(ctx context.Context, q *handoff.Queue, id, claim string) (*fsstate.Handoff, error) {
		return q.Complete(ctx, id, claim)
	})
}

func (a *app) handoffFailCommand() *cobra.Command {
	problem := ""
	cmd := a.claimedCommand(&cobra.Command{
		Use:     "fail ID --claim CLAIM",
		Short:   "Record that a handoff that you claimed could not be delivered",
		Long:    `Records the failure, for the claim that has the handoff. Given again, it changes nothing.`,
		Example: `  hermes-supervisor handoff fail "$ID" --claim "$CLAIM" --error "no such chat"`,
	}, func(ctx context.Context, q *handoff.Queue, id, claim string) (*fsstate.Handoff, error) {
		return q.Fail(ctx, id, claim, problem)
	})
	cmd.Flags().StringVar(&problem, "error", "", "`TEXT` that says what went wrong")
	return cmd
}

func (a *app) handoffHeartbeatCommand() *cobra.Command {
	return a.claimedCommand(&cobra.Command{
		Use:   "heartbeat ID --claim CLAIM",
		Short: "Say that you still deliver a handoff, and learn whether you should",
		Long: `Exit code 0: go on. 75: a person cancelled it (with --json, "refused": "cancel-asked"): stop, then record the end with
"handoff fail". 1: the claim has it no more ("refused": "other-claim"), since it has ended or was taken away: stop.`,
		Example: `  hermes-supervisor handoff heartbeat "$ID" --claim "$CLAIM"`,
	}, func(_ context.Context, q *handoff.Queue, id, claim string) (*fsstate.Handoff, error) {
		if err := q.Heartbeat(id, claim); err != nil {
			return nil, err
		}
		return q.Files.Get(id)
	})
}

// claimedCommand makes a command of what a claimer does to its handoff.
func (a *app) claimedCommand(cmd *cobra.Command, do func(ctx context.Context, q *handoff.Queue, id, claim string) (*fsstate.Handoff, error)) *cobra.Command {
	claim := ""
	cmd.Args = oneHandoff
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if claim == "" {
			return &turn.UsageError{Problem: fmt.Sprintf("--claim is missing: %s needs the claim that `handoff claim` printed", cmd.Name())}
		}
		r, err := a.open()
		if err != nil {
			return err
		}
		defer r.Store.Close() //nolint:errcheck // a directory handle
		h, q, err := a.findHandoff(r, args[0], false)
		if err != nil {
			return err
		}
		if h, err = do(cmd.Context(), q, h.ID, claim); err != nil {
			return err
		}
		return a.printHandoff(h, q)
	}
	cmd.Flags().StringVar(&claim, "claim", "", "the `CLAIM` that handoff claim printed (required)")
	return cmd
}

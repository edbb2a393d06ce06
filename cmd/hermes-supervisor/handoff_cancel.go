package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

func (a *app) handoffCancelCommand() *cobra.Command {
	wait := 15 * time.Second
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a handoff that has not been delivered",
		Long: `A handoff that nobody has begun has failed at once. Whoever delivers a running one is asked to stop, and it is waited for until it has:
the platform's command gets SIGTERM, a program that serves the platform itself learns of it by its next "handoff heartbeat".
The handoff has failed then, and may have been delivered; "handoff retry" brings it back. Exit code 1: it was completed
all the same.`,
		Example: `  hermes-supervisor handoff cancel fix-tests`,
		Args:    oneHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait < 0 {
				return &turn.UsageError{Problem: "--wait is negative"}
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
			return a.cancelHandoff(cmd.Context(), q, h.ID, wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait for the end of a delivery (exit 124 after that); 0: not at all")
	return cmd
}

// cancelHandoff asks again while it waits: where its claimer dies meanwhile, that settles it without a run. Taken back from
// a dead claimer it is pending for a moment, while its turn is still to be ended: that is waited for too.
func (a *app) cancelHandoff(ctx context.Context, q *handoff.Queue, id string, wait time.Duration) error {
	h, err := q.Cancel(ctx, id)
	if err != nil {
		return err
	}
	deadline, asked := time.Now().Add(wait), time.Now()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		switch {
		case h.State == string(queue.Completed):
			a.code = exitFailed
			return a.printHandoff(h, q)
		case !queue.State(h.State).Open() || wait == 0:
			return a.printHandoff(h, q)
		case !time.Now().Before(deadline):
			return &waitError{fmt.Sprintf("handoff %s is still %s after %s: %s; the order stands", id, h.State, wait, queue.ReasonCancelAsked.Text())}
		}
		if err := process.Pause(ctx, pause); err != nil {
			return err
		}
		if time.Since(asked) < time.Second {
			h, err = q.Files.Get(id)
		} else {
			h, err = q.Cancel(ctx, id)
			asked = time.Now()
		}
		if refused, is := errors.AsType[*handoff.RefusedError](err); is && refused.Reason == queue.ReasonFinished {
			err = nil
		}
		if err != nil {
			return err
		}
	}
}

func (a *app) handoffRetryCommand() *cobra.Command {
	f := &waitFlags{}
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Deliver a failed handoff after all, under the same id",
		Long: `Makes a failed handoff a pending one again. Look first whether it may have been delivered: its error says so. While its
session has another open handoff, that is refused with exit code 75.`,
		Example: `  hermes-supervisor handoff retry fix-tests --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := f.words(args, 1)
			if err != nil {
				return err
			}
			if err := oneHandoff(cmd, words); err != nil {
				return err
			}
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			h, q, err := a.findHandoff(r, words[0], false)
			if err != nil {
				return err
			}
			if _, err := q.Platform(h.Platform); err != nil {
				return err // as at the request: nobody would deliver it
			}
			if h, err = q.Retry(cmd.Context(), h.ID); err != nil {
				return err
			}
			return a.awaitHandoff(cmd.Context(), f, q, h)
		},
	}
	f.register(cmd)
	return cmd
}

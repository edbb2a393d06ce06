package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// waitFlags say how long a handoff is waited for.
type waitFlags struct {
	wait      string // a duration; bareWait where --wait stands alone; "": not at all
	claimWait time.Duration
}

// bareWait is what --wait alone means.
const bareWait = "default"

func (f *waitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.wait, "wait", "", "report until it has ended, at most for `DURATION` after it was claimed (--wait alone: 15m)")
	flags.Lookup("wait").NoOptDefVal = bareWait
	flags.DurationVar(&f.claimWait, "claim-wait", queue.ClaimWithin, "how long --wait waits for somebody to claim it")
}

// words are the arguments of a command that takes so many of them. With --wait alone, one more that is a duration belongs
// to it, since a flag whose value may be left out takes none after a space.
func (f *waitFlags) words(args []string, takes int) ([]string, error) {
	isDuration := func(arg string) bool { _, err := time.ParseDuration(arg); return err == nil }
	if i := slices.IndexFunc(args, isDuration); i >= 0 && f.wait == bareWait {
		rest := slices.Delete(slices.Clone(args), i, i+1)
		if len(rest) != takes || slices.ContainsFunc(rest, isDuration) {
			return nil, &turn.UsageError{Problem: fmt.Sprintf("is %s the time of --wait, or another word? Write --wait=%s, or --wait=15m where it is none", args[i], args[i])}
		}
		f.wait, args = args[i], rest
	}
	if _, err := f.finish(); err != nil {
		return nil, err
	}
	if f.claimWait < 0 {
		return nil, &turn.UsageError{Problem: "--claim-wait is negative"}
	}
	return args, nil
}

// finish is how long the end is waited for.
func (f *waitFlags) finish() (time.Duration, error) {
	switch f.wait {
	case "":
		return 0, nil
	case bareWait:
		return queue.FinishWithin, nil
	}
	d, err := time.ParseDuration(f.wait)
	if err != nil || d < 0 {
		return 0, &turn.UsageError{Problem: fmt.Sprintf("--wait is no duration such as 90s or 15m: %.40q", f.wait)}
	}
	return d, nil
}

// awaitHandoff reports each change of a handoff until it has ended, or a wait has run out; without --wait it only tells
// how it stands.
func (a *app) awaitHandoff(ctx context.Context, f *waitFlags, q *handoff.Queue, h *fsstate.Handoff) error {
	if f.wait == "" {
		return a.toldOf(h, q)
	}
	finish, err := f.finish()
	if err != nil {
		return err
	}
	pendingSince, said, before := time.Now(), "", claimOf(h)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		state := queue.State(h.State)
		line := string(state)
		w := queue.WaitFacts{State: state, ClaimWithin: f.claimWait, FinishWithin: finish}
		switch state {
		case queue.Pending:
			if v, err := q.View(h); err == nil && v.Reason == queue.ReasonTurnOpen {
				line, pendingSince = "pending: "+queue.ReasonTurnOpen.Text(), time.Now()
			}
			w.Pending = time.Since(pendingSince)
		case queue.Running:
			w.Running = time.Since(h.Claim.At)
			line = claimedBy(h)
		case queue.Completed, queue.Failed:
			if line = ""; claimOf(h) != before && claimedBy(h) != said { // all of it happened between two looks
				line = claimedBy(h)
			}
		}
		if line != "" && line != said {
			a.progress(h, line)
			said, pause = line, 5*time.Millisecond
		}
		switch over, why := queue.Wait(w); {
		case !state.Open():
			return a.toldOf(h, q)
		case over:
			if state == queue.Pending {
				line = why.Text()
			}
			return &waitError{fmt.Sprintf("handoff %s is still %s: %s; the request stands, see `hermes-supervisor handoff show %s`", h.ID, state, line, h.ID)}
		}
		if err := process.Pause(ctx, pause); err != nil {
			return err
		}
		if h, err = q.Files.Get(h.ID); err != nil {
			return err
		}
	}
}

// progress tells on stderr what has become of a handoff meanwhile.
func (a *app) progress(h *fsstate.Handoff, line string) {
	if a.json {
		_ = a.jsonLine(map[string]any{"schema": schema, "type": "progress", "handoff": h.ID, "state": h.State, "text": line})
		return
	}
	a.say("handoff %s: %s", h.ID, line)
}

// claimOf is the name of a handoff's claim, "" before the first.
func claimOf(h *fsstate.Handoff) string {
	if h.Claim == nil {
		return ""
	}
	return h.Claim.Claimer.Instance
}

func claimedBy(h *fsstate.Handoff) string {
	return fmt.Sprintf("claimed by pid %d on %s", h.Claim.Claimer.PID, h.Claim.Claimer.Host)
}

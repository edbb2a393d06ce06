package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

func (a *app) handoffClaimCommand() *cobra.Command {
	pid, wait := 0, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "claim PLATFORM",
		Short: "Take the oldest handoff that waits for a platform that you serve yourself",
		Long: `For programs that serve a platform with external = true. Prints the handoff as one line of JSON, with the "claim" that
"handoff complete", "fail" and "heartbeat" need. Of the root home, those of all its profiles are taken; "home" and
"profile" tell whose it is. Nothing waits: exit code 75, or 124 after --wait.

The claimer is the program that calls this, or --pid: when it dies, the handoff has failed, and can be retried. A shell
script gives its own: --pid $$.`,
		Example: `  hermes-supervisor handoff claim desk --pid $$ --wait 1h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return &turn.UsageError{Problem: fmt.Sprintf("claim takes one platform, not %d", len(args))}
			case wait < 0:
				return &turn.UsageError{Problem: "--wait is negative"}
			}
			claimer, err := claimerFor(pid)
			if err != nil {
				return err
			}
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			if err := servedOutside(r.config, args[0]); err != nil {
				return err
			}
			return a.claimHandoff(cmd.Context(), r, args[0], claimer, wait)
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "process id (`PID`) of the program that delivers it (default: the one that calls this)")
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for one (exit 124 after that)")
	return cmd
}

// wrappers start a command, wait for it and end with it.
var wrappers = []string{"timeout", "env", "nice", "nohup", "setsid", "stdbuf", "sudo", "doas", "su", "xargs", "time", "strace", "ionice", "chrt", "flock"}

// claimerFor is the identity of the program that delivers.
func claimerFor(pid int) (ident.Ident, error) {
	if pid < 0 {
		return ident.Ident{}, &turn.UsageError{Problem: "--pid is negative"}
	}
	if pid == 0 {
		pid = os.Getppid()
		if base := filepath.Base(process.Name(pid)); slices.Contains(wrappers, base) {
			return ident.Ident{}, &turn.UsageError{Problem: fmt.Sprintf("the caller is %s, which ends with this command, and the handoff fails when the claimer ends: give --pid with the process id of the program that delivers it", base)}
		}
		if name := process.Shell(pid); name != "" {
			return ident.Ident{}, &turn.UsageError{Problem: fmt.Sprintf("the caller is a shell (%s), and the handoff fails when the claimer ends: give --pid $$ where the script delivers it, or the process id of the program that does", name)}
		}
	}
	id, err := ident.Of(pid, ident.NewInstance())
	if err != nil {
		return ident.Ident{}, &turn.UsageError{Problem: "--pid: " + err.Error()}
	}
	return id, nil
}

// servedOutside refuses a platform that is not left to a program of its own.
func servedOutside(cfg config.Config, name string) error {
	p, err := cfg.Platform(name)
	if err != nil || p.External {
		return err
	}
	var external []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Handoff.Platforms)) {
		if cfg.Handoff.Platforms[name].External {
			external = append(external, name)
		}
	}
	return &turn.UsageError{Problem: fmt.Sprintf("platform %q is delivered by run; left to programs of their own (external = true) are: %s", name, orNone(external))}
}

func (a *app) claimHandoff(ctx context.Context, r *room, platform string, claimer ident.Ident, wait time.Duration) error {
	serving := &handoff.Serving{Platform: platform}
	deadline := time.Now().Add(wait)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		queues, done := a.openQueues(r)
		h, q, err := serving.Claim(ctx, queues, fsstate.Claim{Claimer: claimer, External: true})
		if err == nil {
			err = a.handOut(ctx, h, q)
		}
		done()
		switch {
		case !errors.Is(err, handoff.ErrNone):
			return err
		case wait == 0:
			return &busyError{fmt.Errorf("no handoff waits for platform %s", platform)}
		case !time.Now().Before(deadline):
			return &waitError{fmt.Sprintf("no handoff came for platform %s within %s", platform, wait)}
		}
		if err := process.Pause(ctx, pause); err != nil {
			return err
		}
		if ident.Check(claimer) == ident.Dead { // else it would get one, which fails at once
			return fmt.Errorf("the claimer, pid %d, has ended", claimer.PID)
		}
	}
}

// openQueues are queuesOf for whoever changes them, until done. A profile that cannot be opened keeps no other waiting.
func (a *app) openQueues(r *room) (queues []*handoff.Queue, done func()) {
	all, _ := a.queuesOf(r)
	var opened []*fsstate.Store
	for i, q := range all {
		if i == 0 {
			queues = append(queues, q)
			continue
		}
		_ = q.Files.Store.Close()
		store, err := fsstate.Open(q.Files.Store.Home(), fsstate.Options{UnsafeFilesystem: a.unsafe})
		if err != nil {
			continue
		}
		opened = append(opened, store)
		other := *q.Room
		other.Store = store
		queues = append(queues, a.queueOf(&room{config: r.config, Room: &other}))
	}
	return queues, func() {
		for _, store := range opened {
			_ = store.Close()
		}
	}
}

// handOut prints a claimed handoff. Where nobody gets it, nobody will deliver it, although its claimer may live.
func (a *app) handOut(ctx context.Context, h *fsstate.Handoff, q *handoff.Queue) error {
	_, _, stop := catch([]os.Signal{syscall.SIGPIPE}) // a reader that is gone is an error to be told of, not our end
	defer stop()
	message, err := handoff.Message(h, q.Files.Store.Home())
	if err == nil {
		_, err = a.stdout.Write(message)
	}
	if err == nil {
		return nil
	}
	_, ferr := q.Fail(ctx, h.ID, h.Claim.Claimer.Instance, "its claimer could not be told of it: "+err.Error())
	return errors.Join(fmt.Errorf("handoff %s could not be printed, so it has failed: %w", h.ID, err), ferr)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// home makes a home.
func (h *handoffs) home(name string) (*handoff.Queue, error) {
	path := filepath.Join(h.Dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	store, err := fsstate.Open(fsstate.Home{Path: path, Root: path}, fsstate.Options{})
	if err != nil {
		return nil, err
	}
	key, err := fsstate.LoadKey(h.Dir)
	if err != nil {
		return nil, err
	}
	return &handoff.Queue{
		Files:    fsstate.HandoffFiles{Store: store, Key: key},
		Room:     &turn.Room{Store: store, Key: key, Settings: policy.Defaults()},
		Platform: func(name string) (handoff.Platform, error) { return handoff.Platform{External: name == "own"}, nil },
	}, nil
}

// fillers write at once: most of what a durable write costs is shared then.
const fillers = 8

// fill leaves n pending handoffs for a platform.
func fill(q *handoff.Queue, platform string, n int) error {
	errs := make([]error, fillers)
	var all sync.WaitGroup
	for f := range fillers {
		all.Go(func() {
			for i := f; i < n && errs[f] == nil; i += fillers {
				now := time.Now().UTC()
				session := fmt.Sprintf("%s-%05d", platform, i)
				errs[f] = q.Files.Put(&fsstate.Handoff{
					ID: fsstate.NewHandoffID(session, platform, "", now), Session: session, Platform: platform, State: string(queue.Pending),
					RequestedAt: now, Note: "a note", Verified: true,
				})
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// watcher is a `handoff watch`, or the peer.
type watcher struct{ *exec.Cmd }

func start(cmd *exec.Cmd) (*watcher, error) {
	cmd.Stderr = io.Discard
	return &watcher{cmd}, cmd.Start()
}

// stop ends it in order.
func (w *watcher) stop() error {
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := w.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is && !exit.Exited() {
		return nil // the peer takes no orders
	}
	return err
}

// until waits for something that another process does, looking often: a wait is no part of a figure.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Microsecond) {
		switch done, err := holds(); {
		case err != nil || done:
			return err
		case time.Now().After(end):
			return fmt.Errorf("it never came true that %s", what)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

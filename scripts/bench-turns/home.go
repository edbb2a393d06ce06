package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

// home makes a home with n open turns of a dead owner.
func (b *bench) home(name string, n int) (string, error) {
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	room, err := openRoom(path)
	if err != nil {
		return "", err
	}
	defer room.Store.Close() //nolint:errcheck // a directory handle
	self, err := ident.Self("")
	if err != nil {
		return "", err
	}
	self.Start-- // this pid, another process: dead without a doubt
	files := fsstate.TurnFiles{Store: room.Store, Key: room.Key}
	for i := range n {
		self.Instance = ""
		t := &fsstate.Turn{
			Session: fmt.Sprintf("open-%05d", i), Phase: fsstate.PhaseRunning, Prompt: strings.Repeat("a prompt of two kilobytes ", 80),
			AutoContinue: true, StartedAt: time.Now().UTC(), Owner: self, Verified: true,
		}
		if err := files.Put(t); err != nil {
			return "", err
		}
	}
	return path, nil
}

func openRoom(path string) (*turn.Room, error) {
	store, err := fsstate.Open(fsstate.Home{Path: path, Root: path}, fsstate.Options{})
	if err != nil {
		return nil, err
	}
	key, err := fsstate.LoadKey(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return &turn.Room{Store: store, Key: key, Settings: policy.Defaults()}, nil
}

// command is hermes-supervisor in a home.
func (b *bench) command(ctx context.Context, home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.binary, append([]string{"--home", home, "--config", filepath.Join(b.dir, "hermes.toml")}, args...)...)
	cmd.Dir = b.dir
	return cmd
}

func median[T ~int64 | ~float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// interleave measures several things by turns and gives the median of each.
func (b *bench) interleave(do ...func() error) ([]time.Duration, error) {
	all := make([][]time.Duration, len(do))
	for range b.pairs {
		for i, f := range do {
			d, err := timed(f)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], d)
		}
	}
	medians := make([]time.Duration, len(do))
	for i := range all {
		medians[i] = median(all[i])
	}
	return medians, nil
}

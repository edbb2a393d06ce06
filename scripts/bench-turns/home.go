package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

// home makes a home with n open turns of a dead owner.
func (b *turns) home(name string, n int) (string, error) {
	path := filepath.Join(b.Dir, name)
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

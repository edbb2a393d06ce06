package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/turn"
)

// siblings are the home itself and, where it is the root, every profile below it that has been used.
func (a *app) siblings(first *room) ([]*turn.Room, []error) {
	rooms := []*turn.Room{first.Room}
	home := first.Store.Home()
	if home.Profile != "" {
		return rooms, nil
	}
	homes, err := fsstate.Homes(home)
	if err != nil {
		return rooms, []error{err}
	}
	var bad []error
	for _, h := range homes {
		if filepath.Clean(h.Path) == filepath.Clean(home.Path) {
			continue
		}
		store, err := fsstate.OpenRead(h)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		other := *first.Room
		other.Store = store
		rooms = append(rooms, &other)
	}
	return rooms, bad
}

// homeOf is the room in which a session has its open turn: the given one, or the one profile below it that knows the
// key. `turn list` shows the turns of all profiles, so the key that a person copies from there must work.
func (a *app) homeOf(r *room, key string, readOnly bool) (*room, error) {
	if _, err := r.Show(key); !errors.Is(err, turn.ErrNoTurn) || r.Store.Home().Profile != "" {
		return r, nil
	}
	rooms, _ := a.siblings(r)
	var found *turn.Room
	for _, other := range rooms[1:] {
		if _, err := other.Show(key); errors.Is(err, turn.ErrNoTurn) {
			continue
		}
		if found != nil {
			return nil, &turn.UsageError{Problem: fmt.Sprintf("session %s is open in the profiles %s and %s: name one with --home",
				label(key), found.Store.Home().Profile, other.Store.Home().Profile)}
		}
		found = other
	}
	if found == nil {
		return r, nil
	}
	if !readOnly {
		store, err := fsstate.Open(found.Store.Home(), fsstate.Options{UnsafeFilesystem: a.unsafe})
		if err != nil {
			return nil, err
		}
		found.Store, found.Log = store, r.Log
	}
	return &room{config: r.config, Room: found}, nil
}

// homesBelow are the home in force and, where it is the root home, its profiles.
func homesBelow(root fsstate.Home) []fsstate.Home {
	if root.Profile == "" {
		if all, err := fsstate.Homes(root); err == nil {
			return all
		}
	}
	return []fsstate.Home{root}
}

// profileHome is the home of a profile below the root home.
func profileHome(root fsstate.Home, profile string) (fsstate.Home, error) {
	homes, err := fsstate.Homes(root)
	if err != nil {
		return root, err
	}
	var known []string
	for _, h := range homes {
		if h.Profile == profile {
			return h, nil
		}
		if h.Profile != "" {
			known = append(known, h.Profile)
		}
	}
	return root, &turn.UsageError{Problem: fmt.Sprintf("no profile %q in %s; there are: %s", profile, root.Path, orNone(known))}
}

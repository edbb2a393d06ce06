package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
)

// Files are a plugin's files by their paths, as they are to be.
func (t Target) Files() map[string][]byte {
	// A command line stands in these files inside a JSON string, or as an array that is JavaScript too.
	line, _ := json.Marshal(ShellLine(t.Command))
	array, _ := json.Marshal(t.Command)
	put := strings.NewReplacer("{{command}}", string(line[1:len(line)-1]), "{{command_json}}", string(array))
	files := map[string][]byte{}
	for name, text := range t.Hooks.Files {
		files[filepath.Join(t.Path, filepath.FromSlash(name))] = []byte(put.Replace(text))
	}
	return files
}

func (t Target) fileChanges(install bool) ([]Change, error) {
	var changes []Change
	files := t.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		target, now, err := readSettings(path)
		if err != nil {
			return nil, err
		}
		c := Change{Path: target, Before: now}
		if install {
			c.After = files[path]
		}
		if (c.Before == nil) != (c.After == nil) || !bytes.Equal(c.Before, c.After) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

func (t Target) fileState() (State, error) {
	states := map[string]State{}
	for path, want := range t.Files() {
		now, _, err := fsstate.ReadUserFile(path, maxSettings)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			states[path] = Missing
		case err != nil:
			return "", err
		case bytes.Equal(now, want):
			states[path] = Installed
		default:
			states[path] = Stale
		}
	}
	return Overall(states), nil
}

// Sweep removes what changes that were killed have left beside the files.
func (t Target) Sweep() error {
	paths := []string{t.Path}
	if t.Hooks.Format == config.HooksFiles {
		paths = slices.Collect(maps.Keys(t.Files()))
	}
	for _, path := range paths {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		if err := fsstate.RemoveLeftovers(path); err != nil {
			return err
		}
	}
	return nil
}

// Tidy removes the folders of a plugin of ours that have become empty.
func (t Target) Tidy() {
	if t.Hooks.Format != config.HooksFiles {
		return
	}
	for path := range t.Files() {
		for dir := filepath.Dir(path); strings.Contains(dir, config.OurFolder); dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil { // not empty: nobody else's files go
				break
			}
		}
	}
}

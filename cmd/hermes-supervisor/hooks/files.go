package hooks

import (
	"bytes"
	"encoding/json"
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
		if !install && dangling(path) {
			changes = append(changes, Change{Path: path})
			continue
		}
		target, now, err := readSettings(path)
		switch {
		case err != nil:
			return nil, err
		case install && (now == nil || !bytes.Equal(now, files[path])):
			changes = append(changes, Change{Path: target, Before: now, After: files[path]})
		case !install && now != nil:
			// Of a link what is taken away is the link: left alone, it would lead nowhere, and the file that it leads to
			// is kept elsewhere by a person.
			changes = append(changes, Change{Path: path, Before: now})
		}
	}
	return changes, nil
}

func (t Target) fileState() (State, error) {
	states := map[string]State{}
	for path, want := range t.Files() {
		_, now, err := readSettings(path)
		switch {
		case err != nil:
			return "", err
		case now == nil:
			states[path] = Missing
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

// Tidy removes the folders of a plugin of ours that have become empty: one of our name, and what is below it. Folders above
// the plugin's are never ours.
func (t Target) Tidy() {
	if t.Hooks.Format != config.HooksFiles {
		return
	}
	for path := range t.Files() {
		for dir := filepath.Dir(path); t.inOurFolder(dir); dir = filepath.Dir(dir) {
			info, err := os.Lstat(dir)
			if err != nil || !info.IsDir() || os.Remove(dir) != nil { // a person's link, or not empty: nobody else's files go
				break
			}
		}
	}
}

func (t Target) inOurFolder(dir string) bool {
	below, err := filepath.Rel(filepath.Dir(t.Path), dir)
	return err == nil && filepath.IsLocal(below) && slices.Contains(strings.Split(below, string(filepath.Separator)), config.OurFolder)
}

package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
)

// Target is where the hooks of one agent are set up, and what they are.
type Target struct {
	Agent   string
	Hooks   config.Hooks
	Path    string   // the settings file, or the folder of a plugin's files
	Command []string // what a hook runs
}

// State is how far an agent's hooks, or that of one event, are set up.
type State string

// The states of a hook.
const (
	Installed State = "installed"
	Stale     State = "stale" // it is ours, but with another command, or not all of it is there
	Missing   State = "not installed"
)

// Change is what one file is to become.
type Change struct {
	Path          string
	Before, After []byte // nil: the file is not there. Both nil: a link that leads to no file, which goes
}

// maxSettings bounds a settings file, in bytes.
const maxSettings = 4 << 20

// Install gives the changes after which every event has our hook once, as it is now. None where that is so already.
func (t Target) Install() ([]Change, error) { return t.changes(true) }

// Uninstall gives the changes after which nothing of ours is left.
func (t Target) Uninstall() ([]Change, error) { return t.changes(false) }

func (t Target) changes(install bool) ([]Change, error) {
	if t.Hooks.Format == config.HooksFiles {
		return t.fileChanges(install)
	}
	path, before, err := readSettings(t.Path)
	if err != nil {
		return nil, err
	}
	if before == nil && !install {
		return nil, nil
	}
	after, err := t.edit(before, install)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", t.Path, err)
	}
	if before != nil && bytes.Equal(before, after) {
		return nil, nil
	}
	return []Change{{Path: path, Before: before, After: after}}, nil
}

func (t Target) edit(before []byte, install bool) ([]byte, error) {
	p, err := t.plan(install)
	if err != nil {
		return nil, err
	}
	if t.Hooks.Format == config.HooksYAML {
		return editYAML(before, p)
	}
	return editJSON(before, p)
}

func (t Target) plan(install bool) (plan, error) {
	form, err := t.form()
	if err != nil {
		return plan{}, err
	}
	ours := hook{agent: t.Agent, form: form, shape: innermost(form)}
	return plan{events: t.Hooks.Events(), entry: fill(form, ShellLine(t.Command)), ours: ours.is, install: install}, nil
}

// form is an event's entry, with the hole for the command line.
func (t Target) form() (form any, err error) {
	if err := json.Unmarshal([]byte(t.Hooks.Entry), &form); err != nil {
		return nil, fmt.Errorf("entry of agent %s: %w", t.Agent, err)
	}
	return form, nil
}

// Entry is what stands in an event's list.
func (t Target) Entry() (any, error) {
	p, err := t.plan(true)
	return p.entry, err
}

// Settings is a settings file with nothing but our hooks, on one line.
func (t Target) Settings() (string, error) {
	entry, err := t.Entry()
	if err != nil {
		return "", err
	}
	events := map[string]any{}
	for _, event := range t.Hooks.Events() {
		events[event] = []any{entry}
	}
	text, err := json.Marshal(map[string]any{"hooks": events})
	return string(text), err
}

// Snippet is a settings file with nothing but our hooks, as it would be written.
func (t Target) Snippet() (string, error) {
	text, err := t.edit(nil, true)
	return string(text), err
}

// Status tells for each event whether our hook is there.
func (t Target) Status() (map[string]State, error) {
	states := map[string]State{}
	if t.Hooks.Format == config.HooksFiles {
		state, err := t.fileState()
		for _, event := range t.Hooks.Events() {
			states[event] = state
		}
		return states, err
	}
	_, text, err := readSettings(t.Path)
	if err != nil {
		return nil, err
	}
	p, err := t.plan(true)
	if err != nil {
		return nil, err
	}
	tree, err := decode(text, t.Hooks.Format)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Path, err)
	}
	events, _ := tree["hooks"].(map[string]any)
	for _, event := range t.Hooks.Events() {
		states[event] = p.state(events[event])
	}
	return states, nil
}

// Overall is what the states of the events come to.
func Overall(states map[string]State) State {
	all := slices.Compact(slices.Sorted(maps.Values(states)))
	switch len(all) {
	case 0:
		return Missing
	case 1:
		return all[0]
	}
	return Stale
}

// readSettings reads a settings file, which people keep as a link into a folder of such files: the link stays, and what it
// leads to is edited. nil is a file that is not there.
func readSettings(path string) (target string, text []byte, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if dangling(path) {
			return "", nil, fmt.Errorf("%s is a link that leads to no file", path)
		}
		return path, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	text, _, err = fsstate.ReadUserFile(target, maxSettings)
	if err == nil && text == nil {
		text = []byte{}
	}
	return target, text, err
}

// dangling tells whether a path is a link that leads to no file.
func dangling(path string) bool {
	_, linkErr := os.Lstat(path)
	_, err := os.Stat(path)
	return linkErr == nil && errors.Is(err, fs.ErrNotExist)
}

// Apply makes a change, if the file is still what it was made for: the agent writes it too.
func Apply(c Change) error {
	if c.Before == nil && c.After == nil && dangling(c.Path) {
		return os.Remove(c.Path)
	}
	_, now, err := readSettings(c.Path)
	switch {
	case err != nil:
		return err
	case (now == nil) != (c.Before == nil) || !bytes.Equal(now, c.Before):
		return fmt.Errorf("%s was changed meanwhile: try again", c.Path)
	case c.After == nil:
		return os.Remove(c.Path)
	}
	if c.Before == nil {
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
			return err
		}
	}
	return fsstate.ReplaceUserFile(c.Path, c.After, 0o600)
}

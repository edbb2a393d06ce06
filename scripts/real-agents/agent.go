package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hermes-supervisor/scripts/mockmodel"
)

// An agent is one real coding agent: where it comes from, what it needs to talk to the mock model, and how its ends look
// from outside. How it is started and resumed is not said here: that is the preset's word, and what is tested.
type agent struct {
	preset string
	// slow is for one that needs seconds of CPU to start: by default it runs the essential cases only.
	slow bool
	// install returns the folder of PATH that has the program, at the version that every expectation was tried with.
	install func(ctx context.Context, dir string) (bin string, err error)
	// settle writes the agent's own configuration, and says what hermes.toml has to add to the preset.
	settle func(t *trial) (setup, error)

	native   string // how the name of its executable begins
	launcher string // the same of a launcher that stays beside it; "": there is none

	prompt prompting
	done   string            // a line on stdout that ends a turn that is done: a regular expression
	failed string            // the same for an error that the agent has handled
	codes  map[int]int       // its exit code where the model refuses with that status
	silent []int             // statuses at which it tries again for ever, without a word
	retry  string            // a line by which it says that it tries a cut answer again; "": it does not, or says nothing
	forget bool              // whether, killed at once, it does not know the session
	stray  func(string) bool // what it asks of the model server beside the model; nil: nothing

	// tool has the model call a shell command; nil: the agent has no tools.
	tool func(command string) *mockmodel.Tool
}

// A prompting is how an agent hands its prompt to the model.
type prompting int

const (
	alone prompting = iota // as a text of its own
	first                  // with something of the agent's behind it
)

// A setup is what hermes.toml adds to a preset.
type setup struct {
	args []string
	env  map[string]string
}

// agents are all of them, in the order in which they are tested.
var agents = []agent{claude, codex, gemini, opencode, goose, hermes, aider}

// shell makes the tool of an agent whose shell tool takes a command and a description of it.
func shell(name, key string) func(string) *mockmodel.Tool {
	return func(command string) *mockmodel.Tool {
		return &mockmodel.Tool{Name: name, Arguments: map[string]any{key: command, "description": "Run a command"}}
	}
}

// writeFile makes a file and the folders above it.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// writeJSON makes a file of JSON.
func writeJSON(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return writeFile(path, string(data))
}

func prefixed(prefix string) func(string) bool {
	return func(request string) bool { return strings.HasPrefix(request, prefix) }
}

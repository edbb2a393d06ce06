package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// TestTheFirstPageIsWhatANewcomerTries holds README's first commands to the scripts that try them: at most three each, and the
// same words.
func TestTheFirstPageIsWhatANewcomerTries(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(readme), "\n## First minutes\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var blocks [][]string // of commands
	for paragraph := range strings.SplitSeq(page, "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") {
			continue
		}
		var commands []string
		for line := range strings.Lines(paragraph) {
			commands = append(commands, strings.TrimSpace(line))
		}
		blocks = append(blocks, commands)
	}
	scripts := []string{"newcomer_claude", "newcomer_gateway"}
	if len(blocks) != len(scripts) {
		t.Fatalf("the first page has %d blocks of commands, not %d: %q", len(blocks), len(scripts), blocks)
	}
	for i, script := range scripts {
		text, err := os.ReadFile(filepath.Join("testdata", "script", script+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		commands := blocks[i]
		if len(commands) > 3 || commands[0] != "go install ./cmd/hermes-supervisor" {
			t.Errorf("%s: not three commands at most that begin with go install: %q", script, commands)
		}
		for _, command := range commands[1:] {
			if tried := "exec " + strings.ReplaceAll(command, `"`, "'"); !strings.Contains(string(text), "\n"+tried) {
				t.Errorf("%s does not try what README says: %s", script, tried)
			}
		}
	}
}

// TestWhatREADMEConfiguresHolds reads README's pieces of hermes.toml as one: none has a fault, and an agent in it goes on in
// its own session, which a command that is written without its resume would take away.
func TestWhatREADMEConfiguresHolds(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for paragraph := range strings.SplitSeq(string(readme), "\n\n") {
		if strings.HasPrefix(paragraph, "    [") {
			text.WriteString(paragraph + "\n")
		}
	}
	path := filepath.Join(t.TempDir(), "hermes.toml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{Path: path, Explicit: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Services) != 3 || len(c.Handoff.Platforms) != 3 || len(c.Agents) != 2 {
		t.Errorf("%d services, %d platforms, %d agents are not what README has:\n%s", len(c.Services), len(c.Handoff.Platforms), len(c.Agents), text.String())
	}
	for name := range c.Agents {
		if agent, err := c.Agent(name); err != nil || len(agent.Resume) == 0 {
			t.Errorf("agent %s does not go on in its session: %v", name, err)
		}
	}
}

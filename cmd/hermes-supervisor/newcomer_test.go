package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

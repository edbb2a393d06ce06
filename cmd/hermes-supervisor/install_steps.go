package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
)

// told prints each step of an installation when it is done, or keeps them for JSON.
type told struct {
	*app

	state        string
	steps, notes []string
}

func (t *told) step(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.steps = append(t.steps, text)
	if !t.json {
		fmt.Fprintln(t.stdout, text)
	}
}

func (t *told) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.notes = append(t.notes, text)
	if !t.json {
		fmt.Fprintln(t.stdout, "note: "+text)
	}
}

// run runs one command of the manager. Its own words are in the error.
func (t *told) run(ctx context.Context, argv []string) error {
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(printed.String()); text != "" {
			err = errors.New(text)
		}
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	t.step("ran %s", strings.Join(argv, " "))
	return nil
}

// linger says what keeps a user's manager up without a login.
func (t *told) linger(ctx context.Context, roots manager.Roots) {
	user := currentUser(ctx)
	if on, err := manager.Linger(roots, user); on || err != nil || roots.Linger == "" {
		return
	}
	t.note("it ends with your last logout, and starts at your first login; to have it run without: loginctl enable-linger %s", manager.Word(user))
}

// done ends an installation with JSON.
func (t *told) done(i installation) error {
	if !t.json {
		return nil
	}
	return t.printJSON(map[string]any{
		"manager": i.manager, "scope": i.scope, "name": i.name, "path": i.path, "state": t.state,
		"steps": orEmpty(t.steps), "notes": orEmpty(t.notes),
	})
}

// shellLine is commands as a person types them.
func shellLine(commands [][]string) string {
	lines := make([]string, len(commands))
	for i, argv := range commands {
		words := make([]string, len(argv))
		for k, arg := range argv {
			words[k] = manager.Word(arg)
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, " && ")
}

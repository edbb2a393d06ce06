package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hermes-supervisor/supervise/turn"
)

// unknownCommand is the argument check of commands that only have commands of their own.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	problem := fmt.Sprintf("no command %q", args[0])
	if cmd.HasParent() {
		problem = fmt.Sprintf("%s has no command %q", cmd.Name(), args[0])
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		problem += fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return &turn.UsageError{Problem: problem}
}

// asksForJSON looks for --json itself, since an error in an argument before it would else be told as text.
func asksForJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

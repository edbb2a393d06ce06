package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

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

// helpCommand is cobra's, except that a topic that there is not is a usage error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if topic == nil || err != nil {
				return &turn.UsageError{Problem: fmt.Sprintf("no help for %q", strings.Join(args, " "))}
			}
			if err := unknownCommand(topic, rest); err != nil {
				return err
			}
			return topic.Help()
		},
	}
}

// asksForJSON looks for --json itself, since an error in an argument before it would else be told as text.
func asksForJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

// version is the module's version and, for a build from a checkout, its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " (" + s.Value + ")"
		}
	}
	return v
}

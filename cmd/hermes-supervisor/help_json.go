package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpJSON is one command, or topic, in the JSON of help.
type helpJSON struct {
	Path     string     `json:"path"` // "hermes-supervisor turn run"
	Use      string     `json:"use"`  // the whole line
	Short    string     `json:"short"`
	Long     string     `json:"long,omitempty"`
	Examples []string   `json:"examples,omitempty"`
	Flags    []flagJSON `json:"flags,omitempty"` // its own; those of the root go for all commands
	Exits    []exitJSON `json:"exit_codes,omitempty"`
	Topic    bool       `json:"topic,omitempty"` // no command: only a text
	Hidden   bool       `json:"hidden,omitempty"`
	Commands []helpJSON `json:"commands,omitempty"`
}

type flagJSON struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand,omitempty"`
	Value     string `json:"value,omitempty"` // the placeholder; "" for a switch
	Default   string `json:"default,omitempty"`
	Usage     string `json:"usage"`
}

type exitJSON struct {
	Code  string `json:"code"` // a number, "128+n" or "n"
	Means string `json:"means"`
}

func (a *app) printHelpJSON(cmd *cobra.Command) error {
	return a.printJSON(map[string]any{"help": helpOf(cmd)})
}

func helpOf(cmd *cobra.Command) helpJSON {
	h := helpJSON{
		Path: cmd.CommandPath(), Use: cmd.UseLine(), Short: cmd.Short, Long: cmd.Long, Hidden: cmd.Hidden,
		Topic: cmd.IsAdditionalHelpTopicCommand(),
	}
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			h.Examples = append(h.Examples, line)
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || cmd.HasParent() && cmd.InheritedFlags().Lookup(f.Name) != nil {
			return
		}
		one := flagJSON{Name: f.Name, Shorthand: f.Shorthand, Default: f.DefValue}
		one.Value, one.Usage = pflag.UnquoteUsage(f)
		if slices.Contains([]string{"", "false", "0", "0s", "[]"}, one.Default) {
			one.Default = ""
		}
		h.Flags = append(h.Flags, one)
	})
	if !h.Topic {
		for _, e := range exitsOf(below(cmd)) {
			h.Exits = append(h.Exits, exitJSON{e.String(), e.means})
		}
	}
	for _, sub := range cmd.Commands() {
		h.Commands = append(h.Commands, helpOf(sub))
	}
	return h
}

package main

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/supervise/turn"
)

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Show which agents can be named, and what is known of them",
		Long: `An agent is named by turn run --agent NAME, by an [agent.NAME] of hermes.toml, and, where it is built in, as a command of
its own (hermes-supervisor claude …).`,
		Example: `  hermes-supervisor agents list`,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the agents that are built in and those of hermes.toml",
		Long: `Lists every name that --agent takes: where it is from, whether PATH has its program, and what is protected of its turns
besides the prompt, which always is.`,
		Example: `  hermes-supervisor agents list --json`,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.agentsList() },
	}, &cobra.Command{
		Use:   "show AGENT",
		Short: "Show what an agent's name runs",
		Long: `Prints what is in force for the name, as the [agent.NAME] of a hermes.toml: the built-in preset with its comments, or what
hermes.toml makes of it, resolved, with "***" for what looks like a secret.`,
		Example: `  hermes-supervisor agents show claude`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &turn.UsageError{Problem: fmt.Sprintf("agents show takes one name, not %d", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.agentsShow(args[0]) },
	})
	return cmd
}

func (a *app) agentsList() error {
	cfg, _, err := a.loadConfig()
	if err != nil {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(agents.Names(), slices.Collect(maps.Keys(cfg.Agents))))))
	list := make([]map[string]any, 0, len(names))
	rows := make([][]any, 0, len(names))
	for _, name := range names {
		c, err := cfg.Agent(name)
		if err != nil {
			return err
		}
		path, err := exec.LookPath(c.Command[0])
		program := c.Command[0]
		if err != nil {
			path, program = "", program+" (not found)"
		}
		from, _ := origin(cfg, name)
		list = append(list, map[string]any{
			"name": name, "program": c.Command[0], "path": path, "found": path != "", "from": from, "protected": protection(c),
		})
		rows = append(rows, []any{name, program, from, strings.Join(protection(c), ", ")})
	}
	if a.json {
		return a.printJSON(map[string]any{"agents": list})
	}
	return a.table([]string{"NAME", "PROGRAM", "FROM", "PROTECTED"}, rows)
}

// origin tells where what is in force for a name comes from; own where hermes.toml has a say in it.
func origin(cfg config.Config, name string) (from string, own bool) {
	_, own = cfg.Agents[name]
	_, builtIn := agents.Text(name)
	switch {
	case own && builtIn:
		return "built in, hermes.toml", true
	case own:
		return "hermes.toml", true
	}
	return "built in", false
}

// protection is what is known of an agent, in a few words.
func protection(c config.Agent) []string {
	var words []string
	add := func(word string, holds bool) {
		if holds {
			words = append(words, word)
		}
	}
	resumes := len(c.Resume) > 0
	add("goes on in its session", resumes && c.SessionID == config.SessionChosen)
	add("goes on in its session once it has told it", resumes && c.SessionID == config.SessionTold)
	add("has a command line of its own to go on", resumes && c.SessionID == "")
	add("is started again", !resumes)
	add("tells its end", c.EndEvent != "")
	add("hooks", c.Hooks != nil)
	add("wrapper", c.Wrap != nil)
	return words
}

func (a *app) agentsShow(name string) error {
	cfg, _, err := a.loadConfig()
	if err != nil {
		return err
	}
	c, err := cfg.Agent(name)
	if err != nil {
		return err
	}
	from, own := origin(cfg, name)
	one := config.Config{Agents: map[string]config.Agent{name: c}}.WithoutSecrets()
	switch {
	case a.json:
		tree, err := one.Tree()
		if err != nil {
			return err
		}
		tables, _ := tree["agent"].(map[string]any)
		return a.printJSON(map[string]any{"name": name, "from": from, "agent": tables[name]})
	case !own:
		text, _ := agents.Text(name)
		_, err = fmt.Fprint(a.stdout, text)
		return err
	}
	text, err := one.AgentTOML(name)
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "# %s\n\n%s", from, text)
	}
	return err
}

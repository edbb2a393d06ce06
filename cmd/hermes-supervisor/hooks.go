package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
	"hermes-supervisor/supervise/turn"
)

// hooksFlags are those of the commands below hooks.
type hooksFlags struct {
	settings string
	print    bool
}

func (a *app) hooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Have an agent report the turns that it is given without turn run",
		Long: `An agent that a person talks to directly can report its own turns through its hooks: then its open turns are listed, and one
that dies with the agent is kept. It is continued without a person only if hermes.toml says unattended = true for the agent.`,
		Example: `  hermes-supervisor hooks install claude
  hermes-supervisor hooks status claude`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.hooksInstallCommand(), a.hooksUninstallCommand(), a.hooksStatusCommand())
	return cmd
}

func (a *app) hooksInstallCommand() *cobra.Command {
	f := &hooksFlags{}
	cmd := &cobra.Command{
		Use:   "install AGENT",
		Short: "Add our hooks to an agent's settings",
		Long: `Adds an entry for each event to the agent's own settings file, or writes a small plugin. All else in the file stays as it
is, byte for byte; a link is followed and stays a link. Doing it again changes nothing, and renews what an older place of
this program has left. A file whose form cannot be kept is left alone (exit 1).`,
		Example: `  hermes-supervisor hooks install claude
  hermes-supervisor hooks install claude --print`,
		Args: oneAgent,
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := a.target(args[0], f.settings)
			if err != nil {
				return err
			}
			if f.print {
				return a.printHooks(t)
			}
			return a.changeHooks(t, t.Install, hooks.Installed)
		},
	}
	cmd.Flags().StringVar(&f.settings, "settings", "", "settings `FILE` (of a plugin: the folder) in place of the agent's own")
	cmd.Flags().BoolVar(&f.print, "print", false, "change nothing: show what would be added, and how to have it for one run where the agent knows such")
	return cmd
}

func (a *app) hooksUninstallCommand() *cobra.Command {
	f := &hooksFlags{}
	cmd := &cobra.Command{
		Use:     "uninstall AGENT",
		Short:   "Take our hooks out of an agent's settings",
		Long:    "Removes what hooks install added, wherever this program lay then and whatever its name was, and nothing else.",
		Example: `  hermes-supervisor hooks uninstall claude`,
		Args:    oneAgent,
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := a.target(args[0], f.settings)
			if err != nil {
				return err
			}
			return a.changeHooks(t, t.Uninstall, hooks.Missing)
		},
	}
	cmd.Flags().StringVar(&f.settings, "settings", "", "settings `FILE` (of a plugin: the folder) in place of the agent's own")
	return cmd
}

func (a *app) hooksStatusCommand() *cobra.Command {
	f := &hooksFlags{}
	cmd := &cobra.Command{
		Use:   "status AGENT",
		Short: "Tell which of an agent's events have our hook",
		Long: `Says for each event whether our hook is installed, not installed, or stale: it runs this program at another place, or was
changed. hooks install renews those.`,
		Example: `  hermes-supervisor hooks status claude --json`,
		Args:    oneAgent,
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := a.target(args[0], f.settings)
			if err != nil {
				return err
			}
			states, err := t.Status()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"agent": t.Agent, "settings": t.Path, "state": hooks.Overall(states), "events": states})
			}
			rows := [][]any{}
			for _, event := range t.Hooks.Events() {
				rows = append(rows, []any{event, string(states[event]), t.Path})
			}
			return a.table([]string{"EVENT", "HOOK", "SETTINGS"}, rows)
		},
	}
	cmd.Flags().StringVar(&f.settings, "settings", "", "settings `FILE` (of a plugin: the folder) in place of the agent's own")
	return cmd
}

func oneAgent(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &turn.UsageError{Problem: fmt.Sprintf("%s takes the name of one agent, not %d", cmd.Name(), len(args))}
	}
	return nil
}

// target is where an agent's hooks go.
func (a *app) target(name, settings string) (hooks.Target, error) {
	cfg, _, err := a.loadConfig()
	if err != nil {
		return hooks.Target{}, err
	}
	agent, err := cfg.Agent(name)
	if err != nil {
		return hooks.Target{}, err
	}
	if agent.Hooks == nil {
		return hooks.Target{}, &turn.UsageError{Problem: fmt.Sprintf("agent %s: nothing is known of its hooks (known: %s)", name, strings.Join(withHooks(cfg), ", "))}
	}
	command, err := a.hookLine(name)
	if err != nil {
		return hooks.Target{}, err
	}
	t := hooks.Target{Agent: name, Hooks: *agent.Hooks, Path: settings, Command: command}
	if settings != "" {
		t.Path, err = filepath.Abs(settings)
		return t, err
	}
	home, err := a.resolveHome()
	if err != nil {
		return hooks.Target{}, err
	}
	user, _ := os.UserHomeDir() // "": then no place below it
	places := agent.Hooks.Places(os.Getenv, user, home.Path)
	if len(places) == 0 {
		return hooks.Target{}, &turn.UsageError{Problem: "the agent's settings cannot be found (no HOME): give --settings"}
	}
	t.Path = places[0]
	return t, nil
}

func withHooks(cfg config.Config) []string {
	var names []string
	for _, name := range slices.Concat(agents.Names(), slices.Collect(maps.Keys(cfg.Agents))) {
		if agent, err := cfg.Agent(name); err == nil && agent.Hooks != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hookLine is what a hook runs: this program, in the home and with the configuration that were named.
func (a *app) hookLine(agent string) ([]string, error) {
	program, err := ownPath()
	if err != nil {
		return nil, err
	}
	line := []string{program}
	for _, flag := range []struct{ name, path string }{{"--home", a.home}, {"--config", a.config}} {
		if flag.path == "" {
			continue
		}
		path, err := filepath.Abs(flag.path)
		if err != nil {
			return nil, err
		}
		line = append(line, flag.name, path)
	}
	if a.unsafe {
		line = append(line, "--unsafe-filesystem")
	}
	return append(line, "hook", agent), nil
}

// ownPath is this program's path: the one in PATH where that leads here, since package managers keep a link there which
// outlives a version.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own path: %w", err)
	}
	named, _ := exec.LookPath("hermes-supervisor") // "" where PATH has none
	if !filepath.IsAbs(named) {
		return own, nil
	}
	a, errA := os.Stat(own)
	b, errB := os.Stat(named)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return named, nil
	}
	return own, nil
}

// changeHooks makes the changes and tells what came of them.
func (a *app) changeHooks(t hooks.Target, plan func() ([]hooks.Change, error), state hooks.State) error {
	if err := t.Sweep(); err != nil {
		return err
	}
	changes, err := plan()
	if err != nil {
		return err
	}
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		if err := hooks.Apply(c); err != nil {
			return err
		}
		paths = append(paths, c.Path)
	}
	if state == hooks.Missing {
		t.Tidy()
	}
	note := ""
	if state == hooks.Installed {
		note = t.Hooks.Note
	}
	if a.json {
		return a.printJSON(map[string]any{"agent": t.Agent, "settings": t.Path, "state": state, "changed": paths, "note": note})
	}
	if len(paths) == 0 {
		_, err = fmt.Fprintf(a.stdout, "%s: nothing to change: hooks are %s\n", printable(t.Path), state)
	}
	for _, path := range paths {
		_, err = fmt.Fprintf(a.stdout, "%s: hooks are %s\n", printable(path), state)
	}
	if note != "" {
		a.say("%s", note)
	}
	return err
}

// printHooks shows what an installation would add, and the same for one run.
func (a *app) printHooks(t hooks.Target) error {
	files := map[string]string{}
	if t.Hooks.Format == config.HooksFiles {
		for path, text := range t.Files() {
			files[path] = string(text)
		}
	} else {
		text, err := t.Snippet()
		if err != nil {
			return err
		}
		files[t.Path] = text
	}
	perRun, err := perRunArgs(t)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"agent": t.Agent, "settings": t.Path, "files": files, "per_run": perRun, "note": t.Hooks.Note})
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(a.stdout, "# %s\n%s\n", printable(path), strings.Trim(files[path], "\n"))
	}
	if len(perRun) > 0 {
		fmt.Fprintf(a.stdout, "# for one run, and no file is changed\n%s\n", hooks.ShellLine(append([]string{t.Agent}, perRun...)))
	}
	if t.Hooks.Note != "" {
		a.say("%s", t.Hooks.Note)
	}
	return nil
}

// perRunArgs are the arguments that set the hooks for one run.
func perRunArgs(t hooks.Target) ([]string, error) {
	if len(t.Hooks.PerRun) == 0 {
		return nil, nil
	}
	settings, err := t.Settings()
	if err != nil {
		return nil, err
	}
	args := make([]string, 0, len(t.Hooks.PerRun))
	for _, element := range t.Hooks.PerRun {
		args = append(args, strings.ReplaceAll(element, "{{settings}}", settings))
	}
	return args, nil
}

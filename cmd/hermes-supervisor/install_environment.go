package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
)

// refused says why run would not take hermes.toml where the unit starts it: mostly a ${NAME} that only this shell has. For
// another user it is not looked at: what that one has is not known here.
func (a *app) refused(ctx context.Context, t *told, f *installFlags, i installation, job manager.Job, roots manager.Roots) {
	if a.owner != 0 {
		return
	}
	_, source, err := a.loadConfig()
	if err != nil {
		return // it was read a moment ago
	}
	if _, err = config.LoadWith(source, f.environment(ctx, i, job, roots)); err == nil {
		return
	}
	hint := ""
	if _, own := config.Load(source); own == nil {
		hint = ". Of this shell the unit has PATH alone: write the variable into a file that env_file of the service names"
		if f.manager == manager.Systemd {
			hint += ", or into the unit: " + shellLine([][]string{append(i.systemctl(), "edit", i.name)})
		}
	}
	t.note("run would be refused where the unit starts it: %v%s", err, hint)
}

// login are the variables that every process of a user has, whoever starts it.
var login = []string{"HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"}

// environment is what a unit's processes have: what stands in it, what every process has, and what their manager has, which
// is asked for nothing else.
func (f *installFlags) environment(ctx context.Context, i installation, job manager.Job, roots manager.Roots) func(name string) (string, bool) {
	given := func(string) (string, bool) { return "", false }
	asked := given
	switch f.manager {
	case manager.WindowsTask:
		return os.LookupEnv // a task has the user's own
	case manager.Launchd:
		asked = func(name string) (string, bool) {
			said, err := exec.CommandContext(ctx, "launchctl", "getenv", name).Output()
			value := strings.TrimSuffix(string(said), "\n")
			return value, err == nil && value != ""
		}
	case manager.Systemd:
		given = manager.Given(roots, i.scope, i.name)
		its := sync.OnceValue(func() map[string]string { return managerEnvironment(ctx, i.systemctl()) })
		asked = func(name string) (string, bool) {
			value, set := its()[name]
			return value, set
		}
	}
	return func(name string) (string, bool) {
		if name == "PATH" && job.Search != "" {
			return job.Search, true
		}
		value, set := given(name)
		if !set && slices.Contains(login, name) {
			value, set = os.LookupEnv(name)
		}
		if !set && !f.noStart { // else none of the manager's commands is run
			value, set = asked(name)
		}
		return value, set
	}
}

// managerEnvironment is what a systemd gives to all its units, nil where it cannot be asked.
func managerEnvironment(ctx context.Context, systemctl []string) map[string]string {
	said, err := exec.CommandContext(ctx, systemctl[0], append(systemctl[1:], "show-environment")...).Output()
	if err != nil {
		return nil
	}
	all := map[string]string{}
	for line := range strings.Lines(string(said)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		all[name] = strings.TrimSuffix(strings.TrimPrefix(value, "$'"), "'")
	}
	return all
}

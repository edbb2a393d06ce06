package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
)

// lookAtHooks: hooks of ours that run another program than this one, or none; and those that hermes.toml counts on.
func lookAtHooks(_ context.Context, e Env) []Finding {
	if e.ConfigErr != nil || e.HomeErr != nil {
		return ok("not looked at: home or configuration cannot be read")
	}
	var found []Finding
	var installed []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(agents.Names(), slices.Collect(maps.Keys(e.Config.Agents)))))) {
		agent, err := e.Config.Agent(name)
		if err != nil || agent.Hooks == nil {
			continue
		}
		t, err := e.Target(name)
		if err != nil {
			continue // no place for its settings is known
		}
		states, err := t.Status()
		if err != nil {
			found = append(found, e.badSettings(t, err))
			continue
		}
		install := e.call("hooks", "install", name)
		switch state := hooks.Overall(states); {
		case state == hooks.Installed:
			installed = append(installed, name)
		case state == hooks.Stale:
			found = append(found, staleHooks(t, install))
		case e.Config.Agents[name].Unattended:
			found = append(found, warning(fmt.Sprintf("%s: hermes.toml says unattended = true, and no hook of ours reports its turns (%s)", name, t.Path), install))
		}
	}
	if len(installed) == 0 {
		installed = []string{"none installed"}
	}
	return orOK(found, "%s", strings.Join(installed, ", "))
}

// staleHooks tells the reasons apart: a program that is gone fails at every event, another one reports elsewhere.
func staleHooks(t hooks.Target, install string) Finding {
	programs, _ := t.Programs() // Status has read the same file
	for _, program := range programs {
		if program == t.Command[0] {
			continue
		}
		if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
			return problem(fmt.Sprintf("%s: its hooks run %s, which is gone (%s)", t.Agent, program, t.Path), install)
		}
		return warning(fmt.Sprintf("%s: its hooks run another program than this one: %s (%s)", t.Agent, program, t.Path), install)
	}
	return warning(fmt.Sprintf("%s: its hooks are not all there, or were changed (%s)", t.Agent, t.Path), install)
}

func (e Env) badSettings(t hooks.Target, err error) Finding {
	text := fmt.Sprintf("%s: %v", t.Agent, err)
	info, serr := os.Stat(t.Path)
	switch {
	case errors.Is(serr, os.ErrNotExist):
		return warning(text, sh("rm", "--", t.Path)) // a link that leads nowhere
	case serr == nil && info.Mode().IsRegular() && strings.Contains(text, "permission denied"):
		return warning(text, sh("chmod", "u+rw", t.Path))
	case serr == nil && !info.Mode().IsRegular() && !info.IsDir():
		return warning(text, aside(t.Path))
	}
	return warning(text, edit(t.Path))
}

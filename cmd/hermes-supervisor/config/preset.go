package config

import (
	"slices"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

// preset is a built-in agent, by its name.
func preset(name string) (Agent, bool) {
	text, ok := agents.Text(name)
	if !ok {
		return Agent{}, false
	}
	c, err := decodePreset(name, text)
	if err != nil {
		panic("built-in preset: " + err.Error()) // a test loads every one
	}
	return c, true
}

// decodePreset reads a preset as [agent.NAME] of a file is read.
func decodePreset(name, text string) (Agent, error) {
	doc, err := parse("agents/"+name+".toml", text)
	if err != nil {
		return Agent{}, err
	}
	into := map[string]Agent{}
	if err := doc.agents([]string{"agent"}, doc.root["agent"], into, func(string) (Agent, bool) { return Agent{}, false }); err != nil {
		return Agent{}, err
	}
	return into[name], nil
}

// base is what the keys of an [agent.NAME] are set over.
func base(name string, known func(string) (Agent, bool)) Agent {
	if a, ok := known(name); ok {
		return a
	}
	return Agent{StopSignal: "TERM", StopScope: ScopeGroup}
}

// TakesArgs tells whether the agent's command lines have a place for arguments.
func (a Agent) TakesArgs() bool {
	return slices.Contains(a.Command, argsPlaceholder) && (len(a.Resume) == 0 || slices.Contains(a.Resume, argsPlaceholder))
}

// Argv is a command line of the agent's with Args, and more behind them, in the place of {{args}}.
func (a Agent) Argv(command []string, more ...string) []string {
	var argv []string
	for _, element := range command {
		if element == argsPlaceholder {
			argv = append(append(argv, a.Args...), more...)
			continue
		}
		argv = append(argv, element)
	}
	return argv
}

// Package agents holds the built-in presets: what is known of the agents that people run, each as the [agent.NAME] of
// hermes.toml, which overrides it key by key, and of their services, each as a [[service]].
package agents

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.toml services/*.toml
var files embed.FS

// Programs are the names of the programs of all presets that have hooks, without their being read: a hook has no time for that.
var Programs = []string{"claude", "codex", "gemini", "goose", "hermes", "hermes-agent", "hermes-acp", "hermes_cli.main", "tui_gateway.entry", "opencode"}

// Text is a preset as it would stand in hermes.toml, with what is known about the agent in comments.
func Text(name string) (string, bool) {
	if strings.ContainsAny(name, "/.") {
		return "", false
	}
	data, err := files.ReadFile(name + ".toml")
	return string(data), err == nil
}

// Names are those of all presets, sorted.
func Names() []string {
	entries, _ := files.ReadDir(".") // embedded: it is there
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".toml"); is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ServiceText is the preset of a service as it would stand in hermes.toml.
func ServiceText(name string) (string, bool) {
	if strings.ContainsAny(name, "/.") {
		return "", false
	}
	data, err := files.ReadFile("services/" + name + ".toml")
	return string(data), err == nil
}

// ServiceNames are those of all presets of services, sorted.
func ServiceNames() []string {
	entries, _ := files.ReadDir("services") // embedded: it is there
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

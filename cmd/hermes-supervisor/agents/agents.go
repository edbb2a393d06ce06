// Package agents holds the built-in presets: what is known of the agents that people run, each as the [agent.NAME] of
// hermes.toml, which overrides it key by key.
package agents

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.toml
var files embed.FS

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
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

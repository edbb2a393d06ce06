package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// TOML is the configuration as a file with every default written out. Loaded at the same place and with the same env
// files it is the same configuration, whatever the variables are by then.
func (c Config) TOML() (string, error) {
	var b strings.Builder
	// The encoder writes [agent] above each [agent.NAME]: twice in a file it is an error. above are such headers.
	add := func(part any, above ...string) error {
		var text strings.Builder
		enc := toml.NewEncoder(&text)
		enc.Indent = ""
		if err := enc.Encode(part); err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		own := text.String()
		for _, header := range above {
			own = strings.TrimPrefix(own, header+"\n")
		}
		b.WriteString(own)
		return nil
	}
	if err := add(struct {
		AutoContinue AutoContinue `toml:"auto_continue"`
		Restart      Restart      `toml:"restart"`
		Metrics      Metrics      `toml:"metrics"`
		Notify       Notify       `toml:"notify"`
	}{c.AutoContinue, c.Restart, c.Metrics.asWritten(), c.Notify.asWritten()}); err != nil {
		return "", fmt.Errorf("write the configuration as TOML: %w", err)
	}
	for _, s := range c.Services {
		written, _ := s.rewrite(func(value string) (string, *fault) { return literal(value), nil })
		if err := add(struct {
			Service []Service `toml:"service"`
		}{[]Service{written}}); err != nil {
			return "", fmt.Errorf("write service %s as TOML: %w", s.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		text, err := c.AgentTOML(name)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + text)
	}
	handoff := c.Handoff
	handoff.Platforms = nil
	if err := add(struct {
		Handoff Handoff `toml:"handoff"`
	}{handoff}); err != nil {
		return "", fmt.Errorf("write the handoffs as TOML: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Handoff.Platforms)) {
		var part struct {
			Handoff struct {
				Platforms map[string]Platform `toml:"platform"`
			} `toml:"handoff"`
		}
		part.Handoff.Platforms = map[string]Platform{name: c.Handoff.Platforms[name]}
		if err := add(part, "[handoff]", "[handoff.platform]"); err != nil {
			return "", fmt.Errorf("write platform %s as TOML: %w", name, err)
		}
	}
	return b.String(), nil
}

// AgentTOML is one of Agents as [agent.NAME] of a file.
func (c Config) AgentTOML(name string) (string, error) {
	var text strings.Builder
	enc := toml.NewEncoder(&text)
	enc.Indent = ""
	if err := enc.Encode(struct {
		Agents map[string]Agent `toml:"agent"`
	}{map[string]Agent{name: c.Agents[name]}}); err != nil {
		return "", fmt.Errorf("write agent %s as TOML: %w", name, err)
	}
	return strings.TrimPrefix(text.String(), "[agent]\n"), nil
}

// Tree is the configuration as maps, arrays and plain values, with the keys and units of the file. Unlike those of TOML
// its values are as they are used: a $ is a $.
func (c Config) Tree() (map[string]any, error) {
	text, err := toml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write the configuration as TOML: %w", err)
	}
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("read the configuration as TOML: %w", err)
	}
	return tree, nil
}

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

// servicePreset is a built-in service, by its name, under the given [restart].
func servicePreset(name string, r Restart) (Service, bool) {
	text, ok := agents.ServiceText(name)
	if !ok {
		return Service{}, false
	}
	doc, err := parse("agents/services/"+name+".toml", text)
	if err != nil {
		panic("built-in preset: " + err.Error()) // a test loads every one
	}
	all, err := doc.services([]string{"service"}, doc.root["service"], r)
	if err != nil {
		panic("built-in preset: " + err.Error())
	}
	return all[0], true
}

// PresetService is the service that a [[service]] with nothing but the name of a preset makes, under the given [restart]. The
// error says which presets there are.
func PresetService(name string, r Restart) (Service, error) {
	s, known := servicePreset(name, r)
	if !known {
		return Service{}, fmt.Errorf("%.40q is none of %s", name, strings.Join(agents.ServiceNames(), ", "))
	}
	s.Preset = name
	return s, nil
}

// onPreset is what the keys of a [[service]] are set over: what the preset says that it names.
func onPreset(table map[string]any, r Restart) (Service, *fault) {
	name, named := table["preset"].(string)
	if !named {
		return DefaultService(r), nil // another type is told when it is set
	}
	base, known := servicePreset(name, r)
	if !known {
		names := agents.ServiceNames()
		return base, &fault{key: "preset", problem: "is none of " + strings.Join(names, ", "), nearest: nearestKey(name, names)}
	}
	return base, nil
}

// withPreset adds what a table cannot take away from its preset: with a variable of one's own the others stay.
func (s Service) withPreset(base Service) Service {
	env := maps.Clone(base.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, s.Env)
	s.Env = env
	for _, name := range base.UnsetEnv {
		if _, set := env[name]; !set && !slices.Contains(s.UnsetEnv, name) {
			s.UnsetEnv = append(slices.Clone(s.UnsetEnv), name)
		}
	}
	return s
}

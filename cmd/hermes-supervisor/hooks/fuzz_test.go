package hooks

import (
	"testing"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// Whatever stands in a settings file: it is left alone, or has our hooks and then is what it was.
func fuzz(f *testing.F, agent string, edit func([]byte, plan) ([]byte, error), format string) {
	f.Helper()
	for _, s := range settings {
		f.Add([]byte(s.text))
	}
	a, err := config.Config{}.Agent(agent)
	if err != nil {
		f.Fatal(err)
	}
	tg := Target{Agent: agent, Hooks: *a.Hooks, Command: []string{"/opt/hermes-supervisor", "hook", agent}}
	p, err := tg.plan(true)
	if err != nil {
		f.Fatal(err)
	}
	out := p
	out.install = false
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := decode(text, format)
		if err != nil {
			return
		}
		installed, err := edit(text, p)
		if err != nil {
			return
		}
		tree, err := decode(installed, format)
		if err != nil {
			t.Fatalf("%v:\n%s", err, installed)
		}
		events, _ := tree["hooks"].(map[string]any)
		for _, event := range p.events {
			if p.state(events[event]) != Installed {
				t.Errorf("%s: %s in\n%s", event, p.state(events[event]), installed)
			}
		}
		removed, err := edit(installed, out)
		if err != nil {
			t.Fatalf("%v:\n%s", err, installed)
		}
		want, err := out.want(before, false)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := decode(removed, format); err != nil || !same(after, want) {
			t.Errorf("%v\n%q became\n%q, by\n%s", err, text, removed, installed)
		}
	})
}

func FuzzJSON(f *testing.F) { fuzz(f, "claude", editJSON, "json") }

func FuzzYAML(f *testing.F) { fuzz(f, "hermes", editYAML, "yaml") }

package hooks

import (
	"encoding/json"
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// Programs are the programs that hooks of ours run, as they stand in the agent's settings: each once, in order. What cannot
// be read as a command line of ours is left out.
func (t Target) Programs() ([]string, error) {
	var programs []string
	if t.Hooks.Format == config.HooksFiles {
		for path := range t.Files() {
			_, text, err := readSettings(path)
			if err != nil {
				return nil, err
			}
			for _, template := range t.Hooks.Files {
				programs = append(programs, filledIn(template, string(text))...)
			}
		}
		return unique(programs), nil
	}
	_, text, err := readSettings(t.Path)
	if err != nil {
		return nil, err
	}
	tree, err := decode(text, t.Hooks.Format)
	if err != nil {
		return nil, err
	}
	form, err := t.form()
	if err != nil {
		return nil, err
	}
	ours := hook{agent: t.Agent, form: form, shape: innermost(form)}
	return unique(ours.programs(tree["hooks"])), nil
}

func unique(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }

// programs are those of our hooks in a value.
func (h hook) programs(v any) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		if h.is(v) {
			for _, form := range []any{h.form, h.shape} { // the whole entry, or what is innermost in it
				line, _ := lineOf(form, v)
				if program, _, ok := h.split(line); ok {
					return []string{program}
				}
			}
			return nil
		}
		for _, member := range v {
			found = append(found, h.programs(member)...)
		}
	case []any:
		for _, element := range v {
			found = append(found, h.programs(element)...)
		}
	}
	return found
}

// filledIn are the programs in a text where its template has a hole: in the lines that begin as the template's do. A hole
// is a JSON array, or stands in a JSON string.
func filledIn(template, text string) (found []string) {
	for line := range strings.Lines(template) {
		before, _, array := strings.Cut(line, "{{command_json}}")
		if !array {
			var there bool
			if before, _, there = strings.Cut(line, hole); !there {
				continue
			}
		}
		for filled := range strings.Lines(text) {
			rest, begins := strings.CutPrefix(filled, before)
			if !begins {
				continue
			}
			if argv := commandIn(rest, array); len(argv) > 0 {
				found = append(found, argv[0])
			}
		}
	}
	return found
}

func commandIn(text string, array bool) (argv []string) {
	if array {
		_ = json.NewDecoder(strings.NewReader(text)).Decode(&argv) // nothing of ours, where it fails
		return argv
	}
	var line string
	if json.NewDecoder(strings.NewReader(`"`+text)).Decode(&line) != nil {
		return nil
	}
	argv, _ = splitLine(line)
	return argv
}

package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/BurntSushi/toml"

	"hermes-supervisor/fsstate"
)

// Load reads and checks the configuration. A missing file is the defaults, unless somebody named it. The error is an
// *Error, and the Config beside it the zero one, which continues nothing.
func Load(s Source) (Config, error) {
	if s == (Source{}) {
		return defaults(""), nil
	}
	text, err := read(s.Path)
	if errors.Is(err, errMissing) && !s.Explicit {
		return defaults(s.Path), nil
	}
	if err != nil {
		return Config{}, &Error{File: s.Path, Problem: err.Error()}
	}
	return decode(s.Path, text)
}

// decode is Load after the file has been read.
func decode(path, text string) (Config, error) {
	doc, err := parse(path, text)
	if err != nil {
		return Config{}, err
	}
	c := defaults(path)
	for _, name := range doc.names(nil, doc.root) {
		at, value := []string{name}, doc.root[name]
		switch name {
		case "auto_continue":
			err = doc.autoContinue(at, value, &c.AutoContinue)
		case "agent":
			err = doc.agents(at, value, c.Agents)
		default:
			err = doc.unknown(at, value, []string{"auto_continue", "agent"})
		}
		if err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

func (d *document) autoContinue(path []string, value any, into *AutoContinue) error {
	if err := d.fill(path, value, into); err != nil {
		return err
	}
	if f := into.check(); f != nil {
		return d.fault(d.written(path, f.key, "max_backoff"), f.problem, f.nearest)
	}
	return nil
}

func (d *document) agents(path []string, value any, into map[string]Agent) error {
	table, ok := value.(map[string]any)
	if !ok {
		return d.fault(path, "must be tables [agent.NAME], not "+kind(value), "")
	}
	for _, name := range d.names(path, table) {
		at := append(slices.Clone(path), name)
		if _, ok := table[name].(map[string]any); !ok {
			return d.fault(at, "must be a table [agent.NAME], not "+kind(table[name]), "")
		}
		if !fsstate.PlainName(name) {
			return d.fault(at, "is no agent name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)", "")
		}
		var agent Agent
		if err := d.fill(at, table[name], &agent); err != nil {
			return err
		}
		if f := agent.check(); f != nil {
			return d.fault(d.written(at, f.key, ""), f.problem, f.nearest)
		}
		into[name] = agent
	}
	return nil
}

// written is the path of a key at fault, or where the file does not have it (a default, a required one) that of the
// other key of the rule, or of the table.
func (d *document) written(table []string, key, other string) []string {
	for _, name := range []string{key, other} {
		at := append(slices.Clone(table), name)
		if name != "" && slices.ContainsFunc(d.keys, func(k toml.Key) bool { return below(k, at) }) {
			return at
		}
	}
	return table
}

// fill sets the fields of the struct that into points to from a table's keys, exactly as their toml tags spell them.
func (d *document) fill(path []string, value, into any) error {
	table, ok := value.(map[string]any)
	if !ok {
		return d.fault(path, "must be a table, not "+kind(value), "")
	}
	fields := map[string]reflect.Value{}
	for field, v := range reflect.ValueOf(into).Elem().Fields() {
		fields[field.Tag.Get("toml")] = v
	}
	for _, name := range d.names(path, table) {
		at := append(slices.Clone(path), name)
		field, known := fields[name]
		if !known {
			return d.unknown(at, table[name], slices.Sorted(maps.Keys(fields)))
		}
		if err := d.set(at, table[name], field.Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) unknown(path []string, value any, known []string) error {
	problem := "unknown key"
	switch value.(type) {
	case map[string]any, []map[string]any:
		problem = "unknown table (this version does not have it)"
	}
	return d.fault(path, problem, nearestKey(path[len(path)-1], known))
}

package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"hermes-supervisor/fsstate"
)

// Load reads and checks the configuration. A missing file is the defaults, unless somebody named it. The error is an
// *Error, and the Config beside it the zero one, which continues nothing.
//
// The values of services are expanded from this process's own environment, and their env files are read.
func Load(s Source) (Config, error) { return load(s, ownSurroundings()) }

// LoadWith is Load as another process of this user would find it, which has that environment.
func LoadWith(s Source, lookup func(name string) (string, bool)) (Config, error) {
	around := ownSurroundings()
	around.lookup = lookup
	return load(s, around)
}

// LoadAsWritten is Load for who starts no service: their values are neither expanded nor checked as far as that depends
// on what they expand to, and no env file is read. So a turn can be run, and a service be named, where a variable is not
// set that only the supervisor has.
func LoadAsWritten(s Source) (Config, error) { return load(s, nil) }

func load(s Source, around *surroundings) (Config, error) {
	if s.Path == "" {
		return defaults(""), nil
	}
	text, err := readOf(s.Path, s.Owner)
	if errors.Is(err, errMissing) && !s.Explicit {
		return defaults(s.Path), nil
	}
	if err != nil {
		return Config{}, &Error{File: s.Path, Problem: err.Error()}
	}
	return decode(s.Path, text, around)
}

// decode is load after the file has been read.
func decode(path, text string, around *surroundings) (Config, error) {
	doc, err := parse(path, text)
	if err != nil {
		return Config{}, err
	}
	doc.around = around
	c := defaults(path)
	if value, ok := doc.root["restart"]; ok { // wherever it stands, services build on it
		if err := doc.restart([]string{"restart"}, value, &c.Restart); err != nil {
			return Config{}, err
		}
	}
	for _, name := range doc.names(nil, doc.root) {
		at, value := []string{name}, doc.root[name]
		switch name {
		case "restart":
		case "auto_continue":
			err = doc.autoContinue(at, value, &c.AutoContinue)
		case "service":
			c.Services, err = doc.services(at, value, c.Restart)
		case "agent":
			err = doc.agents(at, value, c.Agents, preset)
		case "handoff":
			err = doc.handoff(at, value, &c.Handoff)
		case "metrics":
			err = doc.metrics(at, value, &c.Metrics)
		case "notify":
			err = doc.notify(at, value, &c.Notify)
		default:
			err = doc.unknown(at, value, []string{"agent", "auto_continue", "handoff", "metrics", "notify", "restart", "service"})
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
		return d.broken(path, f)
	}
	return nil
}

func (d *document) restart(path []string, value any, into *Restart) error {
	if err := d.fill(path, value, into); err != nil {
		return err
	}
	if f := into.check(); f != nil {
		return d.broken(path, f)
	}
	return nil
}

// agents reads [agent.NAME]: the keys of each over what is known of that name already.
func (d *document) agents(path []string, value any, into map[string]Agent, known func(name string) (Agent, bool)) error {
	return d.named(path, value, "agent", func(at []string, name string, table map[string]any) error {
		agent := base(name, known)
		if _, own := table["command"]; own { // the preset's resume belongs to the preset's command
			agent.Resume = nil
		}
		if err := d.fill(at, table, &agent); err != nil {
			return err
		}
		if f := agent.check(); f != nil {
			return d.broken(at, f)
		}
		into[name] = agent
		return nil
	})
}

// named hands read each of the tables [PATH.NAME], in the order of the file; what is the thing that has the name.
func (d *document) named(
	path []string, value any, what string, read func(at []string, name string, table map[string]any) error,
) error {
	header := "[" + strings.Join(path, ".") + ".NAME]"
	tables, ok := value.(map[string]any)
	if !ok {
		return d.fault(path, "must be tables "+header+", not "+kind(value), "")
	}
	for _, name := range d.names(path, tables) {
		at := append(slices.Clone(path), name)
		table, ok := tables[name].(map[string]any)
		if !ok {
			return d.fault(at, "must be a table "+header+", not "+kind(tables[name]), "")
		}
		if !fsstate.PlainName(name) {
			return d.fault(at, "is no "+what+" name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)", "")
		}
		if err := read(at, name, table); err != nil {
			return err
		}
	}
	return nil
}

// broken is the *Error of a table whose values break a rule.
func (d *document) broken(table []string, f *fault) error {
	return d.fault(d.written(table, f), f.problem, f.nearest)
}

// written is the path of the key at fault, or where the file does not have it (a default, a required one) that of the
// other key of the rule, or of the table in which the key would stand.
func (d *document) written(table []string, f *fault) []string {
	names := []string{f.key, f.other}
	if inner, _, nested := strings.Cut(f.key, "."); nested {
		names = append(names, inner)
	}
	for _, name := range names {
		at := append(slices.Clone(table), strings.Split(name, ".")...)
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
		if name, _, _ := strings.Cut(field.Tag.Get("toml"), ","); name != "-" {
			fields[name] = v
		}
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

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
)

// Handoff says how the handoffs of a home are delivered: a handoff is a session that is to go on at another platform.
type Handoff struct {
	// MaxConcurrent is how many deliveries run at once in one home, 1 to 100. Default: 3.
	MaxConcurrent int `toml:"max_concurrent"`
	// Drain is how long an ordered stop waits for deliveries; 0 does not wait. Default: 30s.
	Drain Wait `toml:"drain"`
	// Retention is how long finished handoffs are kept, at least 1m. Default: 168h.
	Retention Duration `toml:"retention"`
	// Platforms are the tables [handoff.platform.NAME], by name; never nil. Names are those of agents.
	Platforms map[string]Platform `toml:"platform"`
}

// Platform is how handoffs to one platform are delivered: exactly one of Command, Session with Agent, and External is
// set.
type Platform struct {
	// Command is the argv of a delivery, by the rules of an agent's, with {{session}}, {{platform}} and {{id}} in any
	// element but the program's. No shell, and nothing else is expanded.
	Command []string `toml:"command,omitempty"`
	// Session is the session that the delivery is a turn of, in which {{session}} is the one that is handed over.
	Session string `toml:"session,omitempty"`
	// Agent is whom the turn runs: a name that Config.Agents has.
	Agent string `toml:"agent,omitempty"`
	// External is true where a program of its own claims the handoffs, and nothing is run for them. Default: false.
	External bool `toml:"external,omitempty"`
	// Timeout ends a delivery that takes longer. Default: 15m; 0 where External is true, and nowhere else.
	Timeout Duration `toml:"timeout,omitzero"`
	// MaxConcurrent is how many deliveries to this platform run at once, 1 to 100. It may be above that of Handoff: the
	// smaller one counts. Default: that of Handoff, as 0 is too; Load leaves 0 only where External is true.
	MaxConcurrent int `toml:"max_concurrent,omitzero"`
}

func defaultHandoff() Handoff {
	return Handoff{
		MaxConcurrent: 3,
		Drain:         Wait(30 * time.Second),
		Retention:     Duration(7 * 24 * time.Hour),
		Platforms:     map[string]Platform{},
	}
}

// Platform returns how handoffs to the platform are delivered, or an *UnknownPlatformError.
func (c Config) Platform(name string) (Platform, error) {
	if p, ok := c.Handoff.Platforms[name]; ok {
		return p, nil
	}
	return Platform{}, &UnknownPlatformError{File: c.Path, Name: name, Known: slices.Sorted(maps.Keys(c.Handoff.Platforms))}
}

// UnknownPlatformError is the answer to a platform's name that the configuration does not have. Exit code 78.
type UnknownPlatformError struct {
	File  string   // the configuration that was asked
	Name  string   // the name that was asked for
	Known []string // the names that it has, sorted
}

func (e *UnknownPlatformError) Error() string {
	return notConfigured("platform", e.Name, e.File, e.Known, "[handoff.platform.NAME]")
}

// minRetention leaves who waits for a handoff the time to see how it ended.
const minRetention = Duration(time.Minute)

// check is for the table's own keys.
func (h Handoff) check() *fault {
	if f := checkConcurrent(h.MaxConcurrent); f != nil {
		return f
	}
	if h.Retention < minRetention {
		return &fault{key: "retention", problem: fmt.Sprintf("must be at least %v, not %v", minRetention, h.Retention)}
	}
	return nil
}

// The placeholders of a delivery's argv, and of the session that a delivery is a turn of.
var (
	deliveryPlaceholders = []string{"{{session}}", "{{platform}}", "{{id}}"}
	sessionPlaceholders  = []string{"{{session}}"}
)

// check is for all but what depends on whether a key is written; agents are the names that the file configures.
func (p Platform) check(agents []string) *fault {
	const ways = "command, or session and agent, or external = true"
	turn := p.Session != "" || p.Agent != ""
	var set []string
	if p.Command != nil {
		set = append(set, "command")
	}
	switch {
	case p.Session != "":
		set = append(set, "session")
	case turn:
		set = append(set, "agent")
	}
	if p.External {
		set = append(set, "external")
	}
	switch {
	case len(set) == 0:
		return &fault{problem: "needs " + ways}
	case len(set) > 1:
		return &fault{key: set[1], problem: "cannot stand beside " + set[0] + ": " + ways}
	}
	if f := checkConcurrent(p.MaxConcurrent); f != nil {
		return f
	}
	switch {
	case turn:
		return p.checkTurn(agents)
	case p.External:
		return nil
	case len(p.Command) == 0:
		return &fault{key: "command", problem: `needs a command (as in command = ["/usr/local/bin/to-telegram"])`}
	}
	return checkArgv("command", p.Command, deliveryPlaceholders)
}

func (p Platform) checkTurn(agents []string) *fault {
	switch {
	case p.Session == "":
		return &fault{key: "session", other: "agent", problem: `agent needs a session (as in session = "{{session}}")`}
	case p.Agent == "":
		return &fault{key: "agent", other: "session", problem: `session needs an agent (as in agent = "codex")`}
	case strings.ContainsRune(p.Session, 0):
		return &fault{key: "session", problem: "has a NUL character"}
	}
	if name := unknownPlaceholder(p.Session, sessionPlaceholders); name != "" {
		return &fault{
			key: "session", problem: placeholderProblem(name, sessionPlaceholders),
			nearest: nearestPlaceholder(name, sessionPlaceholders),
		}
	}
	switch {
	case slices.Contains(agents, p.Agent):
		return nil
	case len(agents) == 0:
		return &fault{key: "agent", problem: fmt.Sprintf("%.64q is no agent of this file, which configures none: add [agent.NAME]", p.Agent)}
	}
	return &fault{
		key: "agent", nearest: nearestKey(p.Agent, agents),
		problem: fmt.Sprintf("%.64q is no agent of this file (configured: %s)", p.Agent, strings.Join(agents, ", ")),
	}
}

// handoff reads the table [handoff]: its own keys first, on which its platforms build.
func (d *document) handoff(path []string, value any, into *Handoff) error {
	table, ok := value.(map[string]any)
	if !ok {
		return d.fault(path, "must be a table, not "+kind(value), "")
	}
	own := maps.Clone(table)
	delete(own, "platform")
	if err := d.fill(path, own, into); err != nil {
		return err
	}
	if f := into.check(); f != nil {
		return d.broken(path, f)
	}
	platforms, found := table["platform"]
	if !found {
		return nil
	}
	agents := d.agentNames()
	path = append(slices.Clone(path), "platform")
	return d.named(path, platforms, "platform", func(at []string, name string, table map[string]any) error {
		p := Platform{Timeout: Duration(15 * time.Minute), MaxConcurrent: into.MaxConcurrent}
		if err := d.fill(at, table, &p); err != nil {
			return err
		}
		f := p.check(agents)
		if f == nil && p.External {
			f = idle(table, "timeout", "max_concurrent")
			p.Timeout, p.MaxConcurrent = 0, 0
		}
		if f != nil {
			return d.broken(at, f)
		}
		into.Platforms[name] = p
		return nil
	})
}

// idle is the fault of an external platform that has one of the keys: nobody would heed it.
func idle(table map[string]any, keys ...string) *fault {
	for _, key := range keys {
		if _, written := table[key]; written {
			return &fault{key: key, problem: "has no effect beside external = true"}
		}
	}
	return nil
}

// agentNames are the names of the tables [agent.NAME], which may stand behind what names them, sorted.
func (d *document) agentNames() []string {
	table, _ := d.root["agent"].(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(name string) bool { return !fsstate.PlainName(name) })
}

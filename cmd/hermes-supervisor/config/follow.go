package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Metrics is the table [metrics].
type Metrics struct {
	// Textfile is the file that `run` writes for the textfile collector of Prometheus's node_exporter: an absolute path that
	// ends in .prom, else the collector would not read it. "": none. Expanded.
	Textfile string `toml:"textfile,omitempty"`
}

// The events of Notify.
const (
	EventGaveUp    = "gave-up"
	EventParked    = "parked"
	EventCrashLoop = "crash-loop"
	EventContinued = "continued"
)

// Notify is the table [notify]: whom `run` tells what a person should hear of.
type Notify struct {
	// Command is the argv of a program that reads one event as a JSON object from its stdin, no shell. Empty: nobody is told.
	// Each element is expanded; the program is an absolute path or a name that PATH finds.
	Command []string `toml:"command,omitempty"`
	// Events are those that are told. Default: all.
	Events []string `toml:"events"`
	// Rate is how many are told in a minute, 1 to 60; the next one says what was held back. Default: 6.
	Rate int `toml:"rate"`
	// Timeout ends a command that takes longer. Default: 10s; at most 10m.
	Timeout Duration `toml:"timeout"`
}

func defaultNotify() Notify {
	return Notify{
		Events: []string{EventGaveUp, EventParked, EventCrashLoop, EventContinued},
		Rate:   6, Timeout: Duration(10 * time.Second),
	}
}

// Bounds of [notify].
const (
	maxRate          = 60
	maxNotifyTimeout = Duration(10 * time.Minute) // the others wait
)

// textfileEnd is what the collector looks for.
const textfileEnd = ".prom"

// metrics reads the table [metrics].
func (d *document) metrics(path []string, value any, into *Metrics) error {
	if err := d.fill(path, value, into); err != nil {
		return err
	}
	f := into.check()
	if f == nil && d.around != nil && into.Textfile != "" {
		if into.Textfile, f = d.around.value("textfile", "", into.Textfile); f == nil {
			f = into.checkPath()
		}
	}
	if f != nil {
		return d.broken(path, f)
	}
	return nil
}

func (m Metrics) check() *fault {
	if strings.ContainsRune(m.Textfile, 0) {
		return &fault{key: "textfile", problem: "has a NUL character"}
	}
	return nil
}

func (m Metrics) checkPath() *fault {
	switch {
	case !filepath.IsAbs(m.Textfile):
		return &fault{key: "textfile", problem: fmt.Sprintf("must be an absolute path (~/ and ${NAME} are expanded), not %.80q", m.Textfile)}
	case !strings.HasSuffix(m.Textfile, textfileEnd) || filepath.Base(m.Textfile) == textfileEnd:
		return &fault{key: "textfile", problem: fmt.Sprintf("must end in NAME%s, else the collector does not read it: %.80q", textfileEnd, m.Textfile)}
	}
	return nil
}

// notify reads the table [notify].
func (d *document) notify(path []string, value any, into *Notify) error {
	if err := d.fill(path, value, into); err != nil {
		return err
	}
	f := into.check()
	if f == nil && d.around != nil {
		f = into.resolve(d.around)
	}
	if f != nil {
		return d.broken(path, f)
	}
	return nil
}

func (n Notify) check() *fault {
	if n.Command != nil && len(n.Command) == 0 {
		return &fault{key: "command", problem: `needs a command (as in command = ["/usr/local/bin/tell-me"])`}
	}
	for i, element := range n.Command {
		if strings.ContainsRune(element, 0) || strings.Contains(element, "{{") {
			return &fault{key: "command", problem: fmt.Sprintf("element %d %.60q: has a NUL character, or {{ although there are no placeholders: the event comes by stdin", i+1, element)}
		}
	}
	if len(n.Events) == 0 {
		return &fault{key: "events", problem: "names no event: leave command out to be told nothing"}
	}
	for i, event := range n.Events {
		if f := oneOf("events", event, EventGaveUp, EventParked, EventCrashLoop, EventContinued); f != nil {
			return f
		}
		if slices.Contains(n.Events[:i], event) {
			return &fault{key: "events", problem: fmt.Sprintf("%q is there twice", event)}
		}
	}
	if n.Rate < 1 || n.Rate > maxRate {
		return &fault{key: "rate", problem: fmt.Sprintf("must be 1 to %d, not %d", maxRate, n.Rate)}
	}
	if n.Timeout > maxNotifyTimeout {
		return &fault{key: "timeout", problem: fmt.Sprintf("must be at most %v, not %v", maxNotifyTimeout, n.Timeout)}
	}
	return nil
}

// resolve expands the command.
func (n *Notify) resolve(around *surroundings) *fault {
	n.Command = slices.Clone(n.Command)
	for i, element := range n.Command {
		var f *fault
		if n.Command[i], f = around.value("command", fmt.Sprintf("element %d %.60q: ", i+1, element), element); f != nil {
			return f
		}
	}
	if len(n.Command) == 0 {
		return nil
	}
	if problem := checkProgram(n.Command[0], "(~/ and ${NAME} are expanded) or a name in PATH"); problem != "" {
		return &fault{key: "command", problem: "element 1: " + problem}
	}
	return nil
}

// value expands the value of a key; about begins the problem of one of several.
func (a *surroundings) value(key, about, text string) (string, *fault) {
	value, problem := a.expand(text, 0)
	if problem != "" {
		return "", &fault{key: key, problem: about + problem}
	}
	return value, nil
}

// asWritten is a table's values as they stand in a file that expands to them.
func (m Metrics) asWritten() Metrics {
	m.Textfile = literal(m.Textfile)
	return m
}

func (n Notify) asWritten() Notify {
	n.Command = slices.Clone(n.Command)
	for i, element := range n.Command {
		n.Command[i] = literal(element)
	}
	return n
}

package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

// Config is one hermes.toml, checked, with the defaults filled in.
type Config struct {
	// Path is the file that was looked for, as it was named. It is set also where no file is there and the defaults are
	// in force.
	Path string `toml:"-"`
	// AutoContinue is the table [auto_continue].
	AutoContinue AutoContinue `toml:"auto_continue"`
	// Restart is the table [restart]: what holds for a service that says nothing else.
	Restart Restart `toml:"restart"`
	// Services are the tables [[service]], in the order of the file. No two have the same name.
	Services []Service `toml:"service"`
	// Agents are the tables [agent.NAME], by name; never nil. Names match ^[a-z0-9][a-z0-9_-]{0,63}$.
	Agents map[string]Agent `toml:"agent"`
	// Handoff is the table [handoff], with the platforms that sessions can be handed to.
	Handoff Handoff `toml:"handoff"`
	// Metrics is the table [metrics].
	Metrics Metrics `toml:"metrics"`
	// Notify is the table [notify].
	Notify Notify `toml:"notify"`
}

// AutoContinue says when an interrupted turn is continued without a person. The defaults are Hermes's own.
type AutoContinue struct {
	// Enabled is false where no turn is ever continued without a person. Default: true.
	Enabled bool `toml:"enabled"`
	// Freshness is how long after its last sign of life a turn may still be continued. Default: 15m.
	Freshness Duration `toml:"freshness"`
	// MaxAttempts is how many continuations a turn gets, 0 to 100. Default: 2.
	MaxAttempts int `toml:"max_attempts"`
	// Backoff is the wait before the second continuation; the first starts at once, each further one waits twice as
	// long. Default: 5s.
	Backoff Duration `toml:"backoff"`
	// MaxBackoff is the longest such wait, not below Backoff. Default: 5m.
	MaxBackoff Duration `toml:"max_backoff"`
	// MaxConcurrent is how many continuations `run` has at work at once, 1 to 100. Default: 3.
	MaxConcurrent int `toml:"max_concurrent"`
	// Stagger is the least time between the starts of two of them. Default: 1s.
	Stagger Wait `toml:"stagger"`
}

// Agent is what one agent's name runs, and how its end is told.
//
// The events are Go regular expressions, each matched against one line of output without its line end. They are known
// to compile, and none matches an empty line (it would match every output); "" is none.
type Agent struct {
	// Command is the argv of a first run, required: no shell, one expansion per element, {{prompt}}, {{prompt_file}},
	// {{session}} and {{attempt}} in any element but the program's. Without {{prompt}} and {{prompt_file}} the prompt
	// comes by stdin. Every user of the machine can read a running program's argv: a prompt in {{prompt}} is no secret.
	// {{agent_session}} is one of them too, and {{args}} as an element of its own. The program is an absolute path or a
	// name that PATH finds: a relative path would let the working directory, where agents write, say what runs.
	Command []string `toml:"command"`
	// Resume is the argv of a continuation, by the same rules. Empty: Command. A file that has a command of its own and no
	// resume has none, whatever the preset says: that one belongs to the preset's command.
	Resume []string `toml:"resume"`
	// Env is set for the agent, values as they are (no expansion). It cannot hold the variables that the supervisor sets
	// itself.
	Env map[string]string `toml:"env"`
	// UnsetEnv are names that the agent does not inherit.
	UnsetEnv []string `toml:"unset_env"`
	// BeginEvent, on stdout: the run prints its events, EndEvent or ErrorEvent among them. Exit code 0 without either is a
	// crash from there on, and a failure is no refusal. Without EndEvent it says nothing.
	BeginEvent string `toml:"begin_event"`
	// EndEvent, on stdout: the turn is concluded, whatever the exit code.
	EndEvent string `toml:"end_event"`
	// ErrorEvent, on stdout: the turn is concluded with an error that the agent handled.
	ErrorEvent string `toml:"error_event"`
	// BusyEvent, on stdout or stderr, with a non-zero exit: the agent did not begin, the session is in use elsewhere.
	BusyEvent string `toml:"busy_event"`
	// RateLimitEvent, on stdout or stderr, with a non-zero exit: the provider asks to wait; no crash.
	RateLimitEvent string `toml:"rate_limit_event"`
	// StderrEvents are the keys of those events on stdout or stderr that only stderr is searched for: where the model's
	// answer is on stdout, it could hold them.
	StderrEvents []string `toml:"stderr_events"`
	// Args stand where Command and Resume have the element {{args}}: what every run gets (model, tools, sandbox).
	Args []string `toml:"args"`
	// SessionID says where the agent's own id of a session comes from: SessionChosen, SessionTold, or "" where it has none
	// that is of use. Command and Resume have it as {{agent_session}}; a Resume that has it is used once it is known.
	SessionID string `toml:"session_id"`
	// SessionEvent, on stdout or stderr: its first group is that id, where it is told.
	SessionEvent string `toml:"session_event"`
	// UnknownSessionEvent, on stdout or stderr, and UnknownSessionExit, of a run of Resume that ended without success: the
	// agent does not know the session. It is started afresh, with the original prompt.
	UnknownSessionEvent string `toml:"unknown_session_event"`
	UnknownSessionExit  []int  `toml:"unknown_session_exit"`
	// FreshSession says which id such a fresh start gets, where it is chosen: FreshSame (default) or FreshNew.
	FreshSession string `toml:"fresh_session"`
	// StopSignal is how a shutdown ends the agent, as Service's: TERM (default)…, to StopScope, ScopeGroup by default.
	StopSignal string `toml:"stop_signal"`
	StopScope  string `toml:"stop_scope"`
	// CrashExit are exit codes that are a crash, ConcludedExit those that are not; none is in both.
	CrashExit     []int `toml:"crash_exit"`
	ConcludedExit []int `toml:"concluded_exit"`
	// Unattended says that turns which the agent reports by its hooks may be continued without a person, as those are
	// that were started by `turn run`. Default: false, since somebody may be sitting at it.
	Unattended bool `toml:"unattended"`
	// Hooks is how the agent reports its own turns; nil where it cannot.
	Hooks *Hooks `toml:"hooks"`
	// Wrap is how the agent's own command line is read by `hermes-supervisor NAME …`; nil where it is not.
	Wrap *Wrap `toml:"wrap"`
}

// defaults is the configuration of an empty file.
func defaults(path string) Config {
	return Config{
		Path: path,
		AutoContinue: AutoContinue{
			Enabled:     true,
			Freshness:   Duration(15 * time.Minute),
			MaxAttempts: 2,
			Backoff:     Duration(5 * time.Second),
			MaxBackoff:  Duration(5 * time.Minute),

			MaxConcurrent: 3,
			Stagger:       Wait(time.Second),
		},
		Restart: defaultRestart(),
		Agents:  map[string]Agent{},
		Handoff: defaultHandoff(),
		Notify:  defaultNotify(),
	}
}

// Where the id of an agent's own session comes from, and which one a fresh start gets.
const (
	SessionChosen = "chosen" // we choose a UUID
	SessionTold   = "told"   // the agent tells it
	FreshSame     = "same"
	FreshNew      = "new"
)

// The words of Agent.StderrEvents.
const (
	StderrSession        = "session_event"
	StderrUnknownSession = "unknown_session_event"
	StderrBusy           = "busy_event"
	StderrRateLimit      = "rate_limit_event"
)

// Agent returns what the name runs: as the file says, else as the built-in preset does. The error is an
// *UnknownAgentError.
func (c Config) Agent(name string) (Agent, error) {
	if a, ok := c.Agents[name]; ok {
		return a, nil
	}
	if a, ok := preset(name); ok {
		return a, nil
	}
	return Agent{}, &UnknownAgentError{File: c.Path, Name: name, Known: slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(c.Agents)), agents.Names()...))))}
}

// UnknownAgentError is the answer to an agent's name that the configuration does not have. Exit code 78.
type UnknownAgentError struct {
	File  string   // the configuration that was asked
	Name  string   // the name that was asked for
	Known []string // the names that it has, sorted
}

func (e *UnknownAgentError) Error() string {
	return notConfigured("agent", e.Name, e.File, e.Known, "")
}

// notConfigured is the line about a name that the file does not have; add is the table that would have it.
func notConfigured(what, name, file string, known []string, add string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %.64q: not configured in %s", what, name, cmp.Or(file, "hermes.toml"))
	if near := nearestKey(name, known); near != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", near)
	}
	switch {
	case len(known) > 0:
		fmt.Fprintf(&b, "; configured: %s", strings.Join(known, ", "))
	case add != "":
		b.WriteString(", which configures none: add " + add)
	default:
		b.WriteString(", which configures none")
	}
	return oneLine(b.String(), maxProblem)
}

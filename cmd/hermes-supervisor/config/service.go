package config

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"hermes-supervisor/fsstate"
)

// How the signal of a stop is sent, and where output goes.
const (
	ScopeLeader = "leader" // to the process that was started
	ScopeGroup  = "group"  // to its process group
	OutputFile  = "file"   // to a file that the service is handed: our death neither blocks nor kills it
	OutputPipe  = "pipe"   // to a pipe, for programs that cannot write to a file

	PlannedStop = "hermes-planned-stop" // by the file that Hermes's gateway looks for
	HoldsHermes = "hermes"
)

// Service is a long-lived backend that `run` keeps up, one for each home that Profiles names.
//
// Cwd, EnvFile, the values of Env, the elements of Command, Ready.File and Health.Heartbeat are expanded but for the
// placeholders {{home}} and {{profile}}, which At replaces.
type Service struct {
	// Preset is a built-in service whose keys these are set over: "hermes-gateway" or "hermes-serve", "" for none. To its
	// Env and UnsetEnv is only added.
	Preset string `toml:"preset,omitempty"`
	// Name is required: a plain name (^[a-z0-9][a-z0-9_-]{0,63}$).
	Name string `toml:"name"`
	// Command is the argv, required: no shell, one expansion per element. The program is an absolute path or a name that
	// PATH finds, never a relative path, which would let the working directory say what runs.
	Command []string `toml:"command"`
	// KnownFlags are added to Command where `COMMAND --help` names them, for programs of which not every version has them.
	KnownFlags []string `toml:"known_flags,omitempty"`
	// Cwd is an absolute path, or begins with {{home}}. Default: {{home}}.
	Cwd string `toml:"cwd"`
	// Env is set for the service, over what EnvFile sets. It cannot hold the variables that the supervisor sets itself.
	Env map[string]string `toml:"env"`
	// EnvFile are the absolute paths of files of KEY=VALUE lines, a later one over an earlier one; in the file one string
	// or an array. They have to be as safe from others as the configuration itself.
	EnvFile Paths `toml:"env_file"`
	// FileEnv is what the files of EnvFile set, one map for each; nil for one whose path has a placeholder, which At reads.
	FileEnv []map[string]string `toml:"-"`
	// UnsetEnv are names that the service does not inherit.
	UnsetEnv []string `toml:"unset_env"`
	// SecretEnv is the variable in which each start gets a random secret, kept in a file that only the user can read.
	SecretEnv string `toml:"secret_env,omitempty"`
	// HoldsTurns is the agent whose turns run in the service: they are continued in the next one after it died.
	// HoldsHermes is the only one that is known; "": none.
	HoldsTurns string `toml:"holds_turns,omitempty"`
	// Profiles are the homes that have the service. Default: the root home.
	Profiles Profiles `toml:"profiles"`
	// Autostart: it is started by the first supervisor that sees it. Default: true.
	Autostart bool `toml:"autostart"`
	// BeforeStop is what announces an ordered stop to the service before the signal: PlannedStop, or "" for nothing.
	BeforeStop string `toml:"before_stop,omitempty"`
	// StopSignal is TERM (default), INT, QUIT, HUP, USR1, USR2 or KILL.
	StopSignal string `toml:"stop_signal"`
	// StopScope is ScopeLeader (default) or ScopeGroup.
	StopScope string `toml:"stop_scope"`
	// StopTimeout is how long after StopSignal the whole tree is killed. Default: 10s.
	StopTimeout Duration `toml:"stop_timeout"`
	// Output is OutputFile (default) or OutputPipe.
	Output string `toml:"output"`
	// LogMax is the most archived output that is kept. Default: 64MiB.
	LogMax Size `toml:"log_max"`
	// Restart is [service.restart], with [restart] for what it does not say.
	Restart Restart `toml:"restart"`
	// Limits is [service.limits].
	Limits Limits `toml:"limits"`
	// Ready is [service.ready]; nil: ready when it has started.
	Ready *Ready `toml:"ready"`
	// Health is [service.health]; nil: alive is healthy.
	Health *Health `toml:"health"`
}

// Limits are what each process of a service may use.
type Limits struct {
	Memory    Size `toml:"memory,omitzero"`     // bytes; 0 sets no limit
	OpenFiles int  `toml:"open_files,omitzero"` // descriptors; 0 sets no limit
	Nice      int  `toml:"nice"`                // -20 to 19; 0 leaves the supervisor's own
}

// Paths are files, in the file one string or an array of strings.
type Paths []string

// DefaultService is an empty [[service]] under the given [restart].
func DefaultService(r Restart) Service {
	return Service{
		Cwd: placeHome, Profiles: Profiles{Names: []string{RootProfile}}, Autostart: true, Restart: r,
		StopSignal: "TERM", StopScope: ScopeLeader, StopTimeout: Duration(10 * time.Second),
		Output: OutputFile, LogMax: 64 << 20,
	}
}

// maxOpenFiles is what Linux allows a process to ask for by default (fs.nr_open).
const maxOpenFiles = 1 << 20

// check is for what does not depend on the surroundings; resolve checks the rest.
func (s Service) check() *fault {
	switch {
	case s.Name == "":
		return &fault{key: "name", problem: `needs a name (as in name = "gateway")`}
	case !fsstate.PlainName(s.Name):
		return &fault{key: "name", problem: fmt.Sprintf("%.80q is no service name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)", s.Name)}
	case s.Name == "keepers":
		return &fault{key: "name", problem: `"keepers" is taken: it is where the output of continued turns goes`}
	case len(s.Command) == 0:
		return &fault{key: "command", problem: `needs a command (as in command = ["hermes", "gateway", "run"])`}
	}
	if f := checkEnv(s.Env, s.UnsetEnv); f != nil {
		return f
	}
	if problem := s.Profiles.check(); problem != "" {
		return &fault{key: "profiles", problem: problem}
	}
	if f := s.Restart.check(); f != nil {
		return f.under("restart")
	}
	for _, f := range []*fault{
		oneOf("stop_signal", s.StopSignal, "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"),
		oneOf("stop_scope", s.StopScope, ScopeLeader, ScopeGroup),
		optional("before_stop", s.BeforeStop, PlannedStop),
		optional("holds_turns", s.HoldsTurns, HoldsHermes),
		s.checkLaunch(),
		oneOf("output", s.Output, OutputFile, OutputPipe),
	} {
		if f != nil {
			return f
		}
	}
	if f := s.Limits.check(); f != nil {
		return f.under("limits")
	}
	if s.Ready != nil {
		if f := s.Ready.check(); f != nil {
			return f.under("ready")
		}
	}
	if s.Health != nil {
		if f := s.Health.check(); f != nil {
			return f.under("health")
		}
	}
	return nil
}

// aFlag is one that can be looked for in a help text.
var aFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--?[A-Za-z0-9][A-Za-z0-9-]*$`) })

func (s Service) checkLaunch() *fault {
	for _, flag := range s.KnownFlags {
		if !aFlag().MatchString(flag) {
			return &fault{key: "known_flags", problem: fmt.Sprintf("%.60q is no flag (as in --isolated)", flag)}
		}
	}
	if s.SecretEnv == "" {
		return nil
	}
	if problem := checkVariable(s.SecretEnv); problem != "" {
		return &fault{key: "secret_env", problem: problem}
	}
	if _, set := s.Env[s.SecretEnv]; set {
		return &fault{key: "secret_env", other: "env", problem: fmt.Sprintf("%.60q is set by env", s.SecretEnv)}
	}
	return nil
}

func (l Limits) check() *fault {
	if l.OpenFiles < 0 || l.OpenFiles > maxOpenFiles {
		return &fault{key: "open_files", problem: fmt.Sprintf("must be 1 to %d, not %d", maxOpenFiles, l.OpenFiles)}
	}
	if l.Nice < -20 || l.Nice > 19 {
		return &fault{key: "nice", problem: fmt.Sprintf("must be -20 to 19, not %d", l.Nice)}
	}
	return nil
}

// services reads the tables [[service]].
func (d *document) services(path []string, value any, r Restart) ([]Service, error) {
	tables, ok := value.([]map[string]any)
	if !ok {
		return nil, d.fault(path, "must be tables [[service]], not "+kind(value), "")
	}
	services := make([]Service, 0, len(tables))
	names := make(map[string]bool, len(tables))
	for i, element := range d.elements(path[0], len(tables)) {
		base, f := onPreset(tables[i], r)
		if f != nil {
			return nil, element.broken(path, f)
		}
		s := base
		if err := element.fill(path, tables[i], &s); err != nil {
			return nil, err
		}
		if s.Preset != "" {
			s = s.withPreset(base)
		}
		f = s.check()
		if f == nil && names[s.Name] {
			f = &fault{key: "name", problem: fmt.Sprintf("%q is the name of another service too", s.Name)}
		}
		if f == nil && d.around != nil {
			s, f = s.resolve(d.around)
		}
		if f != nil {
			return nil, element.broken(path, f)
		}
		names[s.Name] = true
		services = append(services, s)
	}
	return slices.Clip(services), nil
}

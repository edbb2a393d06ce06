package supervise

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

// setup is one supervisor and its configuration, as a process of its own is told it.
type setup struct {
	Home          fsstate.Home
	Key           []byte
	Dir           string            // beside the home, for the files of scripts
	Services      map[string]string // their digests
	MaxConcurrent int
	Stagger       time.Duration
	Rescan        time.Duration // 0: as it is
	Foreground    string        // the service that it is for; "": none
	Handoffs      *handing      // nil: nothing is said of them
}

// known is the agent that the configuration names.
const known = "agent"

func (s setup) config() Config {
	return Config{
		Services: func(h fsstate.Home) (specs []service.Spec, err error) {
			for name, digest := range s.Services {
				specs = append(specs, s.spec(h, name, digest))
			}
			return specs, nil
		},
		Turns:         policy.Defaults(),
		Agents:        func(name string) (turn.Agent, bool) { return turn.Agent{}, name == known },
		MaxConcurrent: s.MaxConcurrent, Stagger: s.Stagger, Handoffs: s.Handoffs.config(s.Dir),
	}
}

// spec is a service that notes its starts and its ends in a file.
func (s setup) spec(h fsstate.Home, name, digest string) service.Spec {
	settings := phase.Defaults()
	settings.Delay, settings.StormStarts = time.Millisecond, phase.MaxStormStarts
	return service.Spec{
		Name: name, Command: []string{self(), "child", "record", s.notes(h, name), "say", "up", "hold"}, Autostart: true,
		Settings: settings, Digest: digest,
		StopSignal: syscall.SIGTERM, StopScope: process.ScopeLeader, StopTimeout: 2 * patience,
	}
}

// notes is where a service notes its starts and ends.
func (s setup) notes(h fsstate.Home, name string) string {
	return filepath.Join(s.Dir, name+"@"+h.Profile)
}

func (s setup) supervisor(log io.Writer) *Supervisor {
	return &Supervisor{
		Root: s.Home, Key: s.Key, Host: host, Config: s.config(),
		Keeper:    func(h fsstate.Home, session, _ string) []string { return s.keeper(h, session) },
		Deliverer: s.deliverer, HandoffsOnly: s.Handoffs != nil && s.Handoffs.Only,
		Log: slog.New(slog.NewTextHandler(log, nil)), Say: func(string, ...any) {},
	}
}

// keeper is the command line of a keeper's stand-in.
func (s setup) keeper(h fsstate.Home, session string) []string {
	return []string{self(), "keeper", s.Dir, session, filepath.Join(h.Path, "supervisor", string(fsstate.Turns), fsstate.Name(session)+".json")}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/health"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

// ownService is the one that a command line gives `run`; without argv there is none.
type ownService struct {
	handoffsOnly bool // `handoff watch`: no service and no turn
	argv         []string
	presets      []string // built-in services beside those of the configuration
	restart      string   // policy; "": that of the configuration
	// terminal: this process is in the foreground of its terminal and has nothing else to run, so the service gets it.
	terminal bool
	// withParent: this process ends with the app that has started it.
	withParent bool
}

// servicesOf are the services of one home: those that the configuration gives it, and in the root home the one of the
// command line.
func servicesOf(cfg config.Config, own ownService, home fsstate.Home) ([]service.Spec, error) {
	var specs []service.Spec
	services := cfg.Services
	if len(own.argv) > 0 && home.Path == home.Root {
		services = append(slices.Clone(services), commandLine(cfg, own.restart, own.argv))
	}
	for i, s := range services {
		if !s.Profiles.Has(home.Profile) {
			continue
		}
		if s.Limits != (config.Limits{}) && !limitsSupported() {
			return nil, &config.Error{File: cfg.Path, Key: "service.limits", Problem: fmt.Sprintf("service %s: this system sets no limits on a process", s.Name)}
		}
		at, err := s.At(home.Path, home.Profile)
		if err != nil {
			return nil, err
		}
		spec, err := specOf(at, own.terminal && i == len(cfg.Services))
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Name, err)
		}
		if slices.ContainsFunc(specs, func(o service.Spec) bool { return o.Name == spec.Name }) {
			return nil, &turn.UsageError{Problem: fmt.Sprintf("service %s is in hermes.toml and on the command line", spec.Name)}
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// notPlain is what a program's name may hold and a service's name may not.
var notPlain = func(r rune) rune {
	if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r) {
		return r
	}
	return '-'
}

// commandLine is the service that `run -- ARGV…` means.
func commandLine(cfg config.Config, policy string, argv []string) config.Service {
	s := config.DefaultService(cfg.Restart)
	if policy != "" {
		s.Restart.Policy = policy
	}
	s.Name = strings.Trim(strings.Map(notPlain, strings.ToLower(filepath.Base(argv[0]))), "-_")
	if !fsstate.PlainName(s.Name) {
		s.Name = "service"
	}
	s.Command = argv
	if cwd, err := os.Getwd(); err == nil {
		s.Cwd = cwd
	}
	return s
}

var policies = map[string]phase.Policy{
	config.RestartAlways: phase.Always, config.RestartOnFailure: phase.OnFailure, config.RestartNever: phase.Never,
}

// selfPath is this program, for what it starts of itself.
var selfPath = sync.OnceValues(os.Executable)

// specOf is one configured service as its runner takes it.
func specOf(s config.Service, terminal bool) (service.Spec, error) {
	self, err := selfPath()
	if err != nil {
		return service.Spec{}, err
	}
	scope := process.ScopeLeader
	if s.StopScope == config.ScopeGroup {
		scope = process.ScopeGroup
	}
	spec := service.Spec{
		Name: s.Name, Dir: s.Cwd, Env: s.Env, Unset: s.UnsetEnv, Autostart: s.Autostart,
		Command: limitedArgv(self, limits{memory: int64(s.Limits.Memory), openFiles: s.Limits.OpenFiles, nice: s.Limits.Nice, terminal: terminal}, s.Command),
		Settings: phase.Settings{
			Policy: policies[s.Restart.Policy], Delay: time.Duration(s.Restart.Delay), MaxDelay: time.Duration(s.Restart.MaxDelay),
			ResetAfter: time.Duration(s.Restart.ResetAfter), StormStarts: s.Restart.StormStarts,
			StormWindow: time.Duration(s.Restart.StormWindow), RestartExit: s.Restart.RestartExit, ParkExit: s.Restart.ParkExit,
		},
		KnownFlags: s.KnownFlags, Program: s.Command, SecretVar: s.SecretEnv, HoldsTurns: s.HoldsTurns != "",
		StopSignal: stopSignal(s.StopSignal), StopScope: scope, StopTimeout: time.Duration(s.StopTimeout),
		Terminal: terminal, Pipe: s.Output == config.OutputPipe, LogBound: int64(s.LogMax), Digest: s.Digest(),
	}
	if s.BeforeStop == config.PlannedStop {
		spec.BeforeStop = hermes.PlannedStop{}
	}
	if r := s.Ready; r != nil {
		spec.Ready, spec.ReadyDeadline = &health.Probe{File: r.File, TCP: r.TCP, HTTP: r.HTTP, Status: r.Status}, time.Duration(r.Deadline)
		if r.Output != "" {
			spec.Ready.Output = regexp.MustCompile(r.Output) // the configuration has compiled it
		}
		if r.Match != "" {
			spec.Ready.Match = regexp.MustCompile(r.Match)
		}
		if err := spec.Ready.Validate(); err != nil {
			return spec, fmt.Errorf("ready: %w", err)
		}
	}
	if h := s.Health; h != nil {
		spec.Health = &health.Probe{Heartbeat: h.Heartbeat, MaxAge: time.Duration(h.MaxAge), Optional: h.Optional, TCP: h.TCP, HTTP: h.HTTP, Status: h.Status}
		spec.Interval, spec.Timeout, spec.Failures = time.Duration(h.Interval), time.Duration(h.Timeout), h.Failures
		if err := spec.Health.Validate(); err != nil {
			return spec, fmt.Errorf("health: %w", err)
		}
	}
	return spec, nil
}

// stopSignal is the number of a name that the configuration allows.
func stopSignal(name string) syscall.Signal {
	n, err := signalNumber(name)
	if err != nil {
		return syscall.SIGTERM
	}
	return syscall.Signal(n)
}

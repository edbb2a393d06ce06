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
	profile      string   // of the home in which run is, which has all these; "": the root home
	restart      string   // policy; "": that of the configuration
	// terminal: this process is in the foreground of its terminal and has nothing else to run, so the service gets it.
	terminal bool
	// withParent: this process ends with the app that has started it.
	withParent bool
}

// servicesOf are the services of one home: those that the configuration gives it, and in run's own the one of the command
// line.
func servicesOf(cfg config.Config, own ownService, home fsstate.Home) ([]service.Spec, error) {
	var specs []service.Spec
	services := cfg.Services
	if len(own.argv) > 0 {
		services = append(slices.Clone(services), own.commandLine(cfg))
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
			return nil, &turn.UsageError{Problem: fmt.Sprintf("service %s is on the command line, and there a second time or in hermes.toml", spec.Name)}
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// nothingToRun is the error where a configuration, and the command line, give run nothing to do in that home.
func nothingToRun(cfg config.Config, source config.Source, home fsstate.Home, own ownService) error {
	none, profiles := noService(cfg, home)
	switch {
	case own.handoffsOnly && len(cfg.Handoff.Platforms) == 0:
		return &turn.UsageError{Problem: fmt.Sprintf("nothing to watch: %s has no [handoff.platform.NAME]", source.Path)}
	case !own.handoffsOnly && none != "" && len(cfg.Agents) == 0 && len(cfg.Handoff.Platforms) == 0 && len(own.argv) == 0:
		if profiles != "" {
			profiles = ", or " + profiles + " to a [[service]]"
		}
		return &turn.UsageError{Problem: fmt.Sprintf("nothing to run: %s names %s, no agent and no platform; give --preset hermes-gateway, or a command line after --%s", source.Path, none, profiles)}
	}
	return nil
}

// noService says what a configuration has none of where it gives a home no service, and the key that would give it one that
// it has for others. A root's may be for profiles that appear later.
func noService(cfg config.Config, home fsstate.Home) (none, profiles string) {
	switch {
	case len(cfg.Services) == 0:
		return "no service", ""
	case home.Profile == "" || slices.ContainsFunc(cfg.Services, func(s config.Service) bool { return s.Profiles.Has(home.Profile) }):
		return "", ""
	}
	return "no service of the profile " + home.Profile, fmt.Sprintf("profiles = [%q]", home.Profile)
}

// here is a service of run's own home, which may be a profile's.
func (own ownService) here(s config.Service) config.Service {
	if own.profile != "" {
		s.Profiles = config.Profiles{Names: []string{own.profile}}
	}
	return s
}

// notPlain is what a program's name may hold and a service's name may not.
var notPlain = func(r rune) rune {
	if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r) {
		return r
	}
	return '-'
}

// commandLine is the service that `run -- ARGV…` means.
func (own ownService) commandLine(cfg config.Config) config.Service {
	s := own.here(config.DefaultService(cfg.Restart))
	if own.restart != "" {
		s.Restart.Policy = own.restart
	}
	s.Name = strings.Trim(strings.Map(notPlain, strings.ToLower(filepath.Base(own.argv[0]))), "-_")
	if !fsstate.PlainName(s.Name) {
		s.Name = "service"
	}
	s.Command = own.argv
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

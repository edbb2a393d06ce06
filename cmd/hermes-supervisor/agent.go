package main

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// agent is what the configuration, or else a built-in preset, says that a named agent runs.
func (r *room) agent(name string) (turn.Agent, error) { return r.agentWith(name, nil) }

// agentWith is agent with more arguments than its own.
func (r *room) agentWith(name string, args []string) (turn.Agent, error) {
	c, err := r.config.Agent(name)
	if err != nil {
		return turn.Agent{}, err
	}
	if len(args) > 0 && !c.TakesArgs() {
		return turn.Agent{}, &turn.UsageError{Problem: fmt.Sprintf("agent %s takes no more arguments: there is no {{args}} in its command or its resume. Give --agent or a command line after --, not both", name)}
	}
	literal := make([]string, len(args))
	for i, arg := range args {
		literal[i] = turn.Literal(arg)
	}
	a := turn.Agent{
		Name: name, Command: c.Argv(c.Command, literal...), Resume: c.Argv(c.Resume, literal...), Env: c.Env, Unset: c.UnsetEnv,
		CrashExit: c.CrashExit, ConcludedExit: c.ConcludedExit, Unattended: c.Unattended,
		Own: turn.OwnSession{Chosen: c.SessionID == config.SessionChosen, UnknownExit: c.UnknownSessionExit, NewID: c.FreshSession == config.FreshNew},
		OnStderr: turn.OnStderr{
			Session: slices.Contains(c.StderrEvents, config.StderrSession), UnknownSession: slices.Contains(c.StderrEvents, config.StderrUnknownSession),
			Busy: slices.Contains(c.StderrEvents, config.StderrBusy), RateLimit: slices.Contains(c.StderrEvents, config.StderrRateLimit),
		},
		Stop: stopLadder(c),
	}
	if len(args) > 0 {
		a.Name, a.Kind = "", name // they are in no record, so that run could only continue the turn without them
	}
	for _, p := range []struct {
		pattern string
		into    **regexp.Regexp
	}{
		{c.BeginEvent, &a.Events.Begin},
		{c.EndEvent, &a.Events.End},
		{c.ErrorEvent, &a.Events.Error},
		{c.BusyEvent, &a.Events.Busy},
		{c.RateLimitEvent, &a.Events.RateLimit},
		{c.SessionEvent, &a.Own.Told},
		{c.UnknownSessionEvent, &a.Own.Unknown},
	} {
		if p.pattern == "" {
			continue
		}
		if *p.into, err = regexp.Compile(p.pattern); err != nil {
			return turn.Agent{}, fmt.Errorf("agent %s: %w", name, err)
		}
	}
	if a.Events.End == nil { // without an event of the end, exit code 0 is all that there is
		a.Events.Begin = nil
	}
	return a, nil
}

// named tells whether hermes.toml itself names an agent: only such a one is continued without a person.
func (r *room) named(name string) (turn.Agent, bool) {
	if _, named := r.config.Agents[name]; !named {
		return turn.Agent{}, false
	}
	a, err := r.agent(name)
	return a, err == nil
}

// afterStop is what an agent gets that did not end by its own signal, before SIGKILL.
const afterStop = 2 * time.Second

// stopLadder begins with the agent's own signal; nil where that is the usual one.
func stopLadder(c config.Agent) func(grace time.Duration) process.Ladder {
	first, scope := stopSignal(c.StopSignal), process.ScopeGroup
	if c.StopSignal == "TERM" && c.StopScope == config.ScopeGroup {
		return nil
	}
	if c.StopScope == config.ScopeLeader {
		scope = process.ScopeLeader
	}
	return func(grace time.Duration) process.Ladder {
		return slices.Insert(process.StopLadder(afterStop), 0, process.Step{Signal: first, Scope: scope, Wait: grace})
	}
}

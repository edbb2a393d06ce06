package main

import (
	"fmt"
	"regexp"

	"hermes-supervisor/supervise/turn"
)

// agent is what the configuration says that a named agent runs.
func (r *room) agent(name string) (turn.Agent, error) {
	c, err := r.config.Agent(name)
	if err != nil {
		return turn.Agent{}, err
	}
	a := turn.Agent{
		Name: name, Command: c.Command, Resume: c.Resume, Env: c.Env, Unset: c.UnsetEnv,
		CrashExit: c.CrashExit, ConcludedExit: c.ConcludedExit,
	}
	for _, p := range []struct {
		pattern string
		into    **regexp.Regexp
	}{
		{c.EndEvent, &a.Events.End},
		{c.ErrorEvent, &a.Events.Error},
		{c.BusyEvent, &a.Events.Busy},
		{c.RateLimitEvent, &a.Events.RateLimit},
	} {
		if p.pattern == "" {
			continue
		}
		if *p.into, err = regexp.Compile(p.pattern); err != nil {
			return turn.Agent{}, fmt.Errorf("agent %s: %w", name, err)
		}
	}
	return a, nil
}

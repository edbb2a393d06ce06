package supervise

import (
	"encoding/json"
	"slices"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/service"
)

// Step is what a new configuration means for one service.
type Step string

// The steps of a plan.
const (
	StepStart   Step = "start"   // new: it is run from now on
	StepStop    Step = "stop"    // no longer configured: it is stopped and let go
	StepRestart Step = "restart" // what runs was started with something else
	StepUpdate  Step = "update"  // other settings, which need no restart
	StepKeep    Step = "keep"    // nothing changes
)

// Change is one service's part of a plan.
type Change struct {
	Service string `json:"service"`
	Step    Step   `json:"step"`

	spec service.Spec
}

// Plan says what applying specs means for a home in which known services are run: what each was last launched with is
// in its record. A service that does not run now is started with the new configuration when it starts.
func Plan(specs []service.Spec, records []*fsstate.Service, now map[string]service.Spec) []Change {
	launched := map[string]*fsstate.Service{}
	for _, r := range records {
		launched[r.Service] = r
	}
	var plan []Change
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
		c := Change{Service: spec.Name, Step: StepKeep, spec: spec}
		r := launched[spec.Name]
		old, runs := now[spec.Name]
		switch {
		case !runs && (r == nil || now != nil):
			c.Step = StepStart
		case r != nil && r.Process.Instance != "" && r.Digest != spec.Digest && wantedUp(r):
			c.Step = StepRestart
		case runs && !old.Same(spec):
			c.Step = StepUpdate
		}
		plan = append(plan, c)
	}
	for name := range now {
		if !wanted[name] {
			plan = append(plan, Change{Service: name, Step: StepStop})
		}
	}
	if now == nil {
		for _, r := range records {
			if !wanted[r.Service] && r.Supervisor.Instance != "" {
				plan = append(plan, Change{Service: r.Service, Step: StepStop})
			}
		}
	}
	slices.SortFunc(plan, func(a, b Change) int { return strings.Compare(a.Service, b.Service) })
	return plan
}

// wantedUp tells a service that runs, or is to, from one that somebody stopped or that has ended for good: a new
// configuration starts none of these.
func wantedUp(r *fsstate.Service) bool {
	var s phase.State
	return json.Unmarshal(r.State, &s) == nil && s.Up && s.Phase != phase.Stopped
}

package supervise

import (
	"encoding/json"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"

	"github.com/google/go-cmp/cmp"
)

func TestPlanNamesWhatApplyingAConfigurationDoes(t *testing.T) {
	t.Parallel()
	spec := func(digest string, bound int64) service.Spec {
		return service.Spec{Name: "svc", Digest: digest, LogBound: bound}
	}
	record := func(digest, process, supervisor string) *fsstate.Service {
		return &fsstate.Service{
			Service: "svc", Digest: digest, State: json.RawMessage(`{"phase":"running","up":true}`),
			Process: ident.Ident{Instance: process}, Supervisor: ident.Ident{Instance: supervisor},
		}
	}
	in := func(state string, r *fsstate.Service) *fsstate.Service {
		r.State = json.RawMessage(state)
		return r
	}
	here := func(s service.Spec) map[string]service.Spec { return map[string]service.Spec{"svc": s} }
	nothing := map[string]service.Spec{}
	for _, c := range []struct {
		name   string
		spec   *service.Spec // nil: not configured
		record *fsstate.Service
		now    map[string]service.Spec // nil: as the command line sees it, by the record alone
		want   Step                    // "": no part of the plan
	}{
		{"new here", new(spec("a", 1)), nil, nothing, StepStart},
		{"new here, run by an earlier supervisor", new(spec("a", 1)), record("a", "i", ""), nothing, StepStart},
		{"new here, run by another supervisor with something else", new(spec("b", 1)), record("a", "i", "s"), nothing, StepStart},
		{"the same here", new(spec("a", 1)), record("a", "i", "s"), here(spec("a", 1)), StepKeep},
		{"the same here, without a record yet", new(spec("a", 1)), nil, here(spec("a", 1)), StepKeep},
		{"launched with something else", new(spec("b", 1)), record("a", "i", "s"), here(spec("a", 1)), StepRestart},
		{"given something else before, and not restarted", new(spec("b", 1)), record("a", "i", "s"), here(spec("b", 1)), StepRestart},
		{"something else, and nothing is launched", new(spec("b", 1)), record("a", "", "s"), here(spec("a", 1)), StepUpdate},
		{"something else, without a record yet", new(spec("b", 1)), nil, here(spec("a", 1)), StepUpdate},
		{"what no launch takes over", new(spec("a", 2)), record("a", "i", "s"), here(spec("a", 1)), StepUpdate},
		{"ordered down", new(spec("b", 1)), in(`{"phase":"stopped"}`, record("a", "i", "s")), here(spec("a", 1)), StepUpdate},
		{"being ordered down", new(spec("b", 1)), in(`{"phase":"stopping"}`, record("a", "i", "s")), here(spec("a", 1)), StepUpdate},
		{"ended for good", new(spec("b", 1)), in(`{"phase":"stopped","up":true}`, record("a", "i", "s")), here(spec("a", 1)), StepUpdate},
		{"in back-off", new(spec("b", 1)), in(`{"phase":"waiting","up":true}`, record("a", "i", "s")), here(spec("a", 1)), StepRestart},
		{"no longer configured", nil, record("a", "i", "s"), here(spec("a", 1)), StepStop},
		{"no longer configured, without a record yet", nil, nil, here(spec("a", 1)), StepStop},
		{"another supervisor's, here", nil, record("a", "i", "s"), nothing, ""},

		{"new, by the record", new(spec("a", 1)), nil, nil, StepStart},
		{"the same, by the record", new(spec("a", 1)), record("a", "i", "s"), nil, StepKeep},
		{"what no launch takes over, by the record", new(spec("a", 2)), record("a", "i", "s"), nil, StepKeep},
		{"launched with something else, by the record", new(spec("b", 1)), record("a", "i", "s"), nil, StepRestart},
		{"something else and nothing launched, by the record", new(spec("b", 1)), record("a", "", "s"), nil, StepKeep},
		{"ordered down, by the record", new(spec("b", 1)), in(`{"phase":"stopped"}`, record("a", "i", "s")), nil, StepKeep},
		{"no longer configured, by the record", nil, record("a", "i", "s"), nil, StepStop},
		{"no longer configured, and nobody runs it", nil, record("a", "i", ""), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var specs []service.Spec
			if c.spec != nil {
				specs = append(specs, *c.spec)
			}
			var records []*fsstate.Service
			if c.record != nil {
				records = append(records, c.record)
			}
			var got Step
			for _, change := range Plan(specs, records, c.now) {
				if change.Service != "svc" || got != "" {
					t.Errorf("a plan for one service names %s %s", change.Step, change.Service)
				}
				got = change.Step
			}
			if got != c.want {
				t.Errorf("the plan is %q, not %q", got, c.want)
			}
		})
	}
}

func TestPlanIsInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	specs := []service.Spec{{Name: "d"}, {Name: "b"}, {Name: "c"}}
	now := map[string]service.Spec{"e": {Name: "e"}, "a": {Name: "a"}, "c": {Name: "c"}}
	var got []string
	for _, c := range Plan(specs, nil, now) {
		got = append(got, string(c.Step)+" "+c.Service)
	}
	want := []string{"stop a", "start b", "keep c", "start d", "stop e"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

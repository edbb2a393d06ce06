package doctor

import (
	"context"
	"fmt"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"
)

// lookAtSupervisor: who runs the home, and whether somebody else does too.
func lookAtSupervisor(_ context.Context, e Env) []Finding {
	running := map[string]ident.Ident{} // by instance
	var order []string
	for _, p := range e.used() {
		records, _ := fsstate.ServiceFiles{Store: p.Store}.All() // bad ones are the business of another check
		for _, rec := range records {
			id := rec.Supervisor
			if _, seen := running[id.Instance]; id.Instance == "" || seen {
				continue
			}
			if f := service.JudgeSupervisor(p.Store, id); f.Verdict != ident.Dead {
				running[id.Instance] = id
				order = append(order, id.Instance)
			}
		}
	}
	var found []Finding
	if len(order) > 1 {
		first, second := running[order[0]], running[order[1]]
		found = append(found, problem(fmt.Sprintf("two supervisors have services of this home: pid %d and pid %d", first.PID, second.PID), fmt.Sprintf("kill %d", second.PID)))
	}
	text := "run is down, and nothing waits for it"
	switch {
	case len(order) == 1:
		text = fmt.Sprintf("run is up, pid %d", running[order[0]].PID)
	case len(order) == 0 && len(e.Config.Services)+len(e.Config.Handoff.Platforms) > 0:
		found = append(found, warning("run is down, and hermes.toml has services or platforms for it", e.call("run")))
	}
	return orOK(found, "%s", text)
}

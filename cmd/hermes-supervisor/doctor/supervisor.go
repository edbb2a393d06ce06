package doctor

import (
	"context"
	"errors"
	"fmt"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"
)

// lookAtSupervisor: who runs the home, whether its loop turns, and whether somebody else does too.
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
	var life Life // of one that has no service, no record tells
	if e.HomeErr == nil {
		var err error
		if life, err = e.Run(); err != nil {
			found = append(found, badName(err)...)
		}
	}
	if life.Remedy != "" {
		found = append(found, problem(life.Text, life.Remedy))
	}
	text := "run is down, and nothing waits for it"
	switch {
	case life.Lives:
		text = fmt.Sprintf("run is up, pid %d", life.PID)
	case life.Remedy != "":
	case len(order) == 1:
		text = fmt.Sprintf("run is up, pid %d", running[order[0]].PID)
	case len(order) == 0 && len(e.Config.Services)+len(e.Config.Handoff.Platforms) > 0:
		found = append(found, warning("run is down, and hermes.toml has services or platforms for it", e.call("run")))
	}
	return orOK(found, "%s", text)
}

// badName is what is wrong with the file in which a run names itself; the next one writes it anew.
func badName(err error) []Finding {
	if corrupt, is := errors.AsType[*fsstate.CorruptError](err); is {
		return []Finding{problem(corrupt.Error(), aside(corrupt.Path))}
	}
	return nil // the check of the permissions has said it
}

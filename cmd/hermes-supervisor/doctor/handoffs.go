package doctor

import (
	"context"
	"fmt"
	"time"

	"hermes-supervisor/policy/queue"
)

// failedFor is how long a failure is told, as `status` counts it.
const failedFor = 24 * time.Hour

// lookAtHandoffs: deliveries that failed, and requests that nobody here delivers.
func lookAtHandoffs(_ context.Context, e Env) []Finding {
	var found []Finding
	open := 0
	for _, p := range e.used() {
		views, _ := p.Queue.List(true) // bad records are the business of another check
		for _, v := range views {
			state := queue.State(v.State)
			if state.Open() {
				open++
			}
			text := fmt.Sprintf("%shandoff %s to %s", e.at(p), v.ID, v.Platform)
			switch {
			case state == queue.Failed && v.End != nil && e.Now.Sub(v.End.At) < failedFor:
				found = append(found, warning(fmt.Sprintf("%s failed: %s", text, v.Reason.Text()), e.in(p, "handoff", "retry", v.ID)))
			case state == queue.Pending && v.Reason == queue.ReasonNotServed:
				found = append(found, warning(fmt.Sprintf("%s: %s", text, v.Reason.Text()), e.in(p, "handoff", "cancel", v.ID)))
			case state == queue.Running && v.Reason == queue.ReasonClaimerDied:
				found = append(found, warning(fmt.Sprintf("%s: %s, and run is not there to say so", text, v.Reason.Text()), e.in(p, "run")))
			}
		}
	}
	return orOK(bounded(found), "%s open", count(open, "handoff"))
}

package main

import (
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// handoffCounts are the handoffs that somebody may have to look at, in the JSON of status.
type handoffCounts struct {
	Pending int `json:"pending"`
	Running int `json:"running"`
	Failed  int `json:"failed_last_day"`
}

// add counts those of one home.
func (c *handoffCounts) add(files fsstate.HandoffFiles) (bad []error) {
	ids, err := files.Open()
	if err != nil {
		return []error{err}
	}
	ended, err := files.Ended()
	if err != nil {
		return []error{err}
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	for _, id := range ended {
		if at, err := files.EndedAt(id); err == nil && at.After(yesterday) {
			ids = append(ids, id)
		}
	}
	found, bad := files.All(ids)
	counted := make(map[string]bool, len(found)) // one that ends between the two looks is in both
	for _, h := range found {
		if counted[h.ID] {
			continue
		}
		counted[h.ID] = true
		switch queue.State(h.State) {
		case queue.Pending:
			c.Pending++
		case queue.Running:
			c.Running++
		case queue.Failed:
			c.Failed++
		case queue.Completed:
		}
	}
	return bad
}

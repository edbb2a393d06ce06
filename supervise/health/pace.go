package health

import (
	"context"
	"time"
)

// pace is the time between two looks. It grows by a quarter each time, so that what took long to come is seen late by
// about a fifth of that at most, and what never comes costs little.
type pace struct{ next, most time.Duration }

// wait returns the cause of ctx's end where that comes first.
func (p *pace) wait(ctx context.Context) error {
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(p.next+p.next/4, p.most)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

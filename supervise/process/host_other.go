//go:build !linux

package process

import "context"

// becomeSubreaper does nothing: this system gives orphans to its first process, and nobody can ask for them.
func becomeSubreaper() error { return nil }

// Run waits for the end of ctx: no strangers come to this process here. Children of Start are reaped without it.
func (h *Host) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// childless is never known here: see scan.
func childless() bool { return false }

// expect has a child reaped at its end: a goroutine waits for it, which blocks a thread where it has to.
func (h *Host) expect(c *Child) { go h.reap(c) }

// orphans cannot be told: without a subreaper an orphan is nobody's child here.
func orphans() (children []int, known bool) { return nil, false }

package service

import (
	"testing"

	"hermes-supervisor/policy/phase"
)

func TestLastLineOfAPipeIsKnownAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("warn no-database exit 3")
	spec.Pipe = true
	spec.Settings.Policy = phase.Never
	r := w.run(spec)
	for range 10 {
		s := r.await(phase.Stopped, phase.ReasonCrashed)
		if s.Last.Reason != "no-database" {
			t.Fatalf("last %+v", s.Last)
		}
		r.order(r.Start)
	}
}

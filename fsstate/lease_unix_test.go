//go:build unix

package fsstate

import (
	"errors"
	"testing"
)

func TestAHostileLeaseFileIsRefused(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		if kind == "1 TB sparse file" {
			t.Skip("size is nothing to a lock")
		}
		s := newStore(t)
		outside, untouched := outsideFolder(t)
		hostile[kind].make(t, s.Path(Locks, "handoffs.lock"), outside)
		inTime(t, func() {
			_, held, err := s.TryLease("handoffs")
			if _, unsafe := errors.AsType[*UnsafeError](err); held || !unsafe {
				t.Errorf("held %v, %v", held, err)
			}
		})
		untouched()
	})
}

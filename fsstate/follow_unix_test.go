//go:build unix

package fsstate

import (
	"errors"
	"strings"
	"testing"
)

func TestAJournalThatIsNotOursIsNotRead(t *testing.T) {
	t.Parallel()
	for kind, thing := range hostile {
		if kind == "1 TB sparse file" { // of that, the end is read
			continue
		}
		for _, file := range []string{JournalFile, OldJournalFile} {
			t.Run(kind+" for "+file, func(t *testing.T) {
				t.Parallel()
				s := newStore(t)
				outside, untouched := outsideFolder(t)
				thing.make(t, s.Path("", file), outside)
				inTime(t, func() {
					_, _, err := s.FollowJournal(JournalPosition{}, func(e Event) { t.Errorf("an event: %+v", e) })
					if unsafe, ok := errors.AsType[*UnsafeError](err); !ok || !strings.Contains(unsafe.Problem, thing.problem) {
						t.Errorf("%v", err)
					}
				})
				untouched()
			})
		}
	}
}

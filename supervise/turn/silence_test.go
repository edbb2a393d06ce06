package turn

import (
	"testing"
	"time"
)

// Each look comes when it was asked for, or, where nothing ran meanwhile, much later.
func TestSilenceIsNotCountedWhileNothingRuns(t *testing.T) {
	t.Parallel()
	const limit = 25 * time.Second
	for name, tc := range map[string]struct {
		slept map[int]time.Duration // before which look
		heard time.Duration         // the last sign of life, after the start
		want  time.Duration
	}{
		"awake":                        {nil, 0, limit},
		"heard of late":                {nil, 12 * time.Second, limit + 12*time.Second},
		"an hour in the second wait":   {map[int]time.Duration{2: time.Hour}, 0, 20*time.Second + time.Hour + limit},
		"a busy machine":               {map[int]time.Duration{1: 100 * time.Millisecond}, 0, limit},
		"twice":                        {map[int]time.Duration{1: time.Hour, 2: time.Hour}, 0, 20*time.Second + 2*time.Hour + limit},
		"heard after the sleep's wake": {map[int]time.Duration{1: time.Hour}, time.Hour + 15*time.Second, time.Hour + 15*time.Second + limit},
	} {
		began := time.Now()
		now, heard := began, began
		s := silence{limit: limit, woke: began}
		next := s.wait(heard, now)
		for look := 1; next > 0 && look < 100; look++ {
			now = now.Add(next + tc.slept[look])
			if now.Sub(began) >= tc.heard {
				heard = began.Add(tc.heard)
			}
			next = s.wait(heard, now)
		}
		if got := now.Sub(began); got != tc.want {
			t.Errorf("%s: silent for too long after %s, want %s", name, got, tc.want)
		}
	}
}

package queue

import (
	"math"
	"testing"
	"time"
)

func TestAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tries int
		want  time.Duration
	}{
		{0, 0},
		{1, 0},
		{2, 5 * time.Second},
		{3, 10 * time.Second},
		{4, 20 * time.Second},
		{5, 40 * time.Second},
		{6, time.Minute},
		{7, time.Minute},
		{11, time.Minute},
		{12, time.Minute},
		{64, time.Minute},
		{math.MaxInt, time.Minute},
		{-1, 0}, // of a record that was made up
	} {
		if got := Again(tt.tries); got != tt.want {
			t.Errorf("after %d tries: %s, want %s", tt.tries, got, tt.want)
		}
	}
}

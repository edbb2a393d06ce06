package supervise

import (
	"sync"
	"time"
)

// memo makes one look at the system do for all services that ask within a short time, as at the start.
type memo[T any] struct {
	look func() (T, error)

	mu   sync.Mutex
	at   time.Time
	seen T
	err  error
}

// memoLife is how old a look may be: a launch that it cannot have seen is younger than the supervisor that asks.
const memoLife = 200 * time.Millisecond

func (m *memo[T]) get() (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || time.Since(m.at) > memoLife {
		m.seen, m.err = m.look()
		m.at = time.Now()
	}
	return m.seen, m.err
}

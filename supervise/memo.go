package supervise

import (
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"
)

// tagMemo makes one scan of the process table do for all services that ask within a short time, as at the start.
type tagMemo struct {
	mu   sync.Mutex
	at   time.Time
	tags ident.Tagged
	err  error
}

// tagLife is how old a scan may be: a launch that it cannot have seen is younger than the supervisor that asks.
const tagLife = 200 * time.Millisecond

func (m *tagMemo) scan() (ident.Tagged, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || time.Since(m.at) > tagLife {
		m.tags, m.err = ident.ScanTagged()
		m.at = time.Now()
	}
	return m.tags, m.err
}

// instanceMemo makes one reading of run/ do in the same way for the services of a home.
type instanceMemo struct {
	store *fsstate.Store

	mu    sync.Mutex
	at    time.Time
	names map[string][]string
	err   error
}

func (m *instanceMemo) of(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || time.Since(m.at) > tagLife {
		m.names, m.err = service.Instances(m.store)
		m.at = time.Now()
	}
	return m.names[name], m.err
}

package supervise

import (
	"sync"

	"hermes-supervisor/policy/phase"
)

// startup tells once that everything which was to be started is up, and before that whether each service has been taken, or
// is another supervisor's. Its methods may be called from any goroutine.
type startup struct {
	mu      sync.Mutex
	open    map[string]bool // services that are on their way up, by home and name
	untaken map[string]bool // those of which nobody knows yet whether they are ours
	begun   bool            // everything has been begun
	said    bool
}

// add counts a service in.
func (s *startup) add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.untaken = map[string]bool{}, map[string]bool{}
	}
	s.open[key], s.untaken[key] = true, true
}

// take notes that a service is ours.
func (s *startup) take(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.untaken, key)
}

// taken tells that of every service it is known whether it is ours.
func (s *startup) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.untaken) == 0
}

// drop takes out one that is not run here any more.
func (s *startup) drop(key string) (up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
	delete(s.untaken, key)
	return s.up()
}

// end is that of a startup that was stopped: it says nothing any more.
func (s *startup) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = true
}

// all says that nothing further is going to be begun.
func (s *startup) all() (up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return s.up()
}

// at takes note of a service's phase: one that runs is up, and one that rests is meant to.
func (s *startup) at(key string, p phase.Phase) (up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p {
	case phase.Running, phase.Stopped, phase.Parked:
		delete(s.open, key)
	case phase.Waiting, phase.Starting, phase.Stopping, phase.Killing:
	}
	return s.up()
}

// up is true the first time that nothing is open.
func (s *startup) up() bool {
	if s.said || !s.begun || len(s.open) > 0 {
		return false
	}
	s.said = true
	return true
}

// tellUp calls Ready where everything is up by now. Moved has told of the last service before.
func (l *loop) tellUp(up bool) {
	if up && l.Ready != nil {
		l.Ready()
	}
}

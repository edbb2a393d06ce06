package phase

import "time"

// State is all that a service's record says of its life. The zero State is a
// service that nobody has started or wants up. Times are wall-clock times.
type State struct {
	Phase     Phase       `json:"phase"`
	Up        bool        `json:"up"`                  // what the operator wants; an end, a crash and a Shutdown leave it
	Epoch     int64       `json:"epoch"`               // of the operator's last order
	Launch    int64       `json:"launch"`              // number of the last launch; 0: never launched
	Then      Then        `json:"then,omitempty"`      // what follows once the tree is empty
	Reason    Reason      `json:"reason,omitempty"`    // why it is in this phase
	Held      Reason      `json:"held,omitempty"`      // the reason that ReasonOwnerUnknown has taken the place of
	Streak    int         `json:"streak,omitempty"`    // automatic restarts since the last healthy run, or the last ordered start
	Restarts  int64       `json:"restarts,omitempty"`  // automatic restarts ever
	Recent    []time.Time `json:"recent,omitempty"`    // the last automatic starts, oldest first, at most StormStarts
	StartedAt time.Time   `json:"started_at,omitzero"` // the last launch was forked; zero until then
	ReadyAt   time.Time   `json:"ready_at,omitzero"`   // the last launch became ready; zero until then
	NextAt    time.Time   `json:"next_at,omitzero"`    // Waiting: the automatic start is due; else zero
	Last      *Exit       `json:"last,omitempty"`      // how the last launch that ended did so
}

// Exit is how a launch ended.
type Exit struct {
	Launch   int64     `json:"launch"`           // State.Launch of what ended; set by Next
	Code     int       `json:"code"`             // exit status, 128+Signal with a Signal; -1: it never ran
	Signal   int       `json:"signal,omitempty"` // the signal that ended it; 0: none
	Observed bool      `json:"observed"`         // false: nobody saw it, Code and Signal mean nothing
	At       time.Time `json:"at,omitzero"`      // when, as far as anybody knows; Next takes zero, or a time to come, for now
	Reason   string    `json:"reason,omitempty"` // for people: its last error line, or why the launch failed
}

// Then is what follows once the tree of a service in Stopping or Killing is
// empty. In the other phases it is ThenStop, except for a start that an
// operator ordered while the service was held.
type Then string

// The five. A word of a newer version counts as ThenStop.
const (
	ThenStop    Then = ""        // it stays down
	ThenStart   Then = "start"   // an operator's start: at once, with all counters cleared
	ThenRestart Then = "restart" // an automatic restart: counted, after its back-off
	ThenResume  Then = "resume"  // a start that makes up for a Shutdown: at once, within the storm bound
	ThenPark    Then = "park"    // Parked
)

// held reports whether nobody can tell if the launch lives.
func (s *State) held() bool { return s.Reason == ReasonOwnerUnknown }

// hold keeps the reason that it covers: a stop that goes on later ends for the
// reason it was begun for.
func (s *State) hold() {
	if !s.held() {
		s.Held, s.Reason = s.Reason, ReasonOwnerUnknown
	}
}

func (s *State) release() {
	if s.held() {
		s.Reason = s.Held
	}
	s.Held = ""
}

// Ended reports whether it is down for good without anybody having ordered it: it ended, and its restart policy, or the
// status that it ended with, lets it be.
func (s *State) Ended() bool {
	return s.Last != nil && (s.Phase == Parked || s.Phase == Stopped && s.Reason.ended())
}

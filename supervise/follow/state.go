package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"hermes-supervisor/fsstate"
)

// StateFile is the file below supervisor/ of the root home, and stateVersion its "version".
const (
	StateFile    = "follow.json"
	stateVersion = 1
)

// state is the document of StateFile.
type state struct {
	Version int `json:"version"`
	// Since is when following began: what happened before is neither counted nor told.
	Since time.Time         `json:"since"`
	Homes map[string]*place `json:"homes,omitempty"` // by profile, "" is the root home
	// Pending are the notices that wait for their command, the oldest first. Begun: that of the first has been started, which
	// it is once, as Launch: it outlives our death.
	Pending    []Notice          `json:"pending,omitempty"`
	Begun      bool              `json:"begun,omitempty"`
	Launch     fsstate.Document  `json:"launch,omitempty"`
	Textfile   fsstate.Document  `json:"textfile,omitempty"`   // that was written last
	Sent       []time.Time       `json:"sent,omitempty"`       // what the rate remembers
	Suppressed map[string]uint64 `json:"suppressed,omitempty"` // since the last notice, by event
	Notices    map[string]uint64 `json:"notices,omitempty"`    // all of them, by "event result"
}

// place is one home in it.
type place struct {
	Position fsstate.JournalPosition `json:"position"`
	Tally    Tally                   `json:"tally"`
	Looping  map[string]bool         `json:"looping,omitempty"` // services in a crash loop that was told
}

// maxPending bounds the notices that wait while the command is slow.
const maxPending = 64

// maxState bounds the file, in bytes: some KiB for each of very many homes.
const maxState = 32 << 20

// load reads the state; where there is none, or a broken one, following begins now. A broken one is set aside, and the error
// tells where. A *fsstate.VersionError is that of a newer program, which is left alone.
func load(store *fsstate.Store, now time.Time) (*state, error) {
	fresh := (&state{Version: stateVersion, Since: now.UTC().Truncate(time.Millisecond)}).tidy()
	data, _, err := fsstate.ReadFile(store.Path("", StateFile), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		if _, unsafe := errors.AsType[*fsstate.UnsafeError](err); !unsafe {
			return nil, err
		}
		return fresh, err
	}
	s, err := decode(data)
	if _, corrupt := errors.AsType[*fsstate.CorruptError](err); !corrupt {
		return s, err
	}
	aside, failed := store.Quarantine("", StateFile, now)
	if failed != nil {
		return fresh, errors.Join(err, failed)
	}
	return fresh, fmt.Errorf("%w: set aside as %s", err, aside)
}

func decode(data []byte) (*state, error) {
	if _, err := fsstate.DecodeDocument(data, stateVersion); err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil || s.Since.IsZero() {
		return nil, &fsstate.CorruptError{Problem: "is not what was written"}
	}
	return s.tidy(), nil
}

// tidy makes the maps, and takes out what we cannot have written.
func (s *state) tidy() *state {
	if s.Homes == nil {
		s.Homes = map[string]*place{}
	}
	for profile, p := range s.Homes {
		if p == nil {
			delete(s.Homes, profile)
			continue
		}
		p.Tally.tidy()
		if p.Looping == nil || len(p.Looping) > maxServices {
			p.Looping = map[string]bool{}
		}
	}
	pending := s.Pending
	s.Pending = nil
	for _, n := range pending[:min(len(pending), maxPending)] {
		if n.sound() {
			maps.DeleteFunc(n.Suppressed, func(event string, _ uint64) bool { return !slices.Contains(Events(), event) })
			s.Pending = append(s.Pending, n)
		}
	}
	s.Begun = s.Begun && len(s.Pending) > 0
	s.Sent = s.Sent[:min(len(s.Sent), maxPending)]
	s.Suppressed, s.Notices = only(s.Suppressed, Events()), only(s.Notices, noticeKeys())
	return s
}

func only(all map[string]uint64, known []string) map[string]uint64 {
	to := map[string]uint64{}
	for _, key := range known {
		if n := all[key]; n > 0 {
			to[key] = n
		}
	}
	return to
}

// notAhead brings the beginning back to now, where the clock was set back behind it: what has been counted stays.
func (s *state) notAhead(now time.Time) {
	if s.Since.After(now) {
		s.Since = now
	}
}

// forget takes out profiles that are gone, each an hour after its last event: were it put back earlier, that would be told
// again. One that comes back later is counted anew.
func (s *state) forget(gone []string, now time.Time) (changed bool) {
	for _, profile := range gone {
		if now.Sub(s.Homes[profile].Position.Last) > MaxAge {
			delete(s.Homes, profile)
			changed = true
		}
	}
	return changed
}

// at is the place of a home.
func (s *state) at(profile string) *place {
	if s.Homes[profile] == nil {
		p := &place{Looping: map[string]bool{}}
		p.Tally.tidy()
		s.Homes[profile] = p
	}
	return s.Homes[profile]
}

func (s *state) save(store *fsstate.Store) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return store.Keep("", StateFile, append(data, '\n'))
}

// What can become of a notice.
const (
	Delivered  = "delivered"
	Failed     = "failed"
	Suppressed = "suppressed" // by the rate
	Expired    = "expired"    // it was too old when it could have been told
	Unseen     = "unseen"     // we died while its command ran
)

var results = []string{Delivered, Failed, Suppressed, Expired, Unseen}

func noticeKeys() (all []string) {
	for _, event := range Events() {
		for _, result := range results {
			all = append(all, event+" "+result)
		}
	}
	return all
}

// MaxAge is how old an event may be that is told: what is older was found by a supervisor that had been down.
const MaxAge = time.Hour

// take decides what becomes of a notice that has just been read.
func (s *state) take(n *Notice, most int, now time.Time) {
	if now.Sub(n.Time) > MaxAge {
		s.Notices[n.Event+" "+Expired]++
		return
	}
	allowed := len(s.Pending) < maxPending
	if allowed {
		s.Sent, allowed = allow(s.Sent, most, now)
	}
	if !allowed {
		s.Suppressed[n.Event]++
		s.Notices[n.Event+" "+Suppressed]++
		return
	}
	if len(s.Suppressed) > 0 {
		n.Suppressed, s.Suppressed = s.Suppressed, map[string]uint64{}
	}
	s.Pending = append(s.Pending, *n)
}

// settle takes the first pending notice out: result is what became of it.
func (s *state) settle(result string) {
	s.Notices[s.Pending[0].Event+" "+result]++
	s.Pending, s.Begun, s.Launch = s.Pending[1:], false, nil
}

package turn

import (
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
)

// hermesMarkers are the entries of Hermes's own file that still count: one whose end is in our records has ended,
// even if a writer that takes no lock brought it back. A record that cannot be read may say that it has ended.
// The second result is one error for each file that cannot be read.
func (s *scene) hermesMarkers() ([]hermes.Marker, []error) {
	all, err := s.markers()
	var bad []error
	if err != nil {
		bad = append(bad, err)
	}
	live := make([]hermes.Marker, 0, len(all))
	for _, m := range all {
		switch o, err := s.room.files().Outcome(m.Session, fsstate.HermesID(m.StartedAt)); {
		case err != nil:
			bad = append(bad, err)
		case o == nil:
			live = append(live, m)
		}
	}
	return live, bad
}

// hermesTurn is the turn that Hermes's own file has open for a session, as a turn of ours that no keeper has yet; nil
// where there is none. An unreadable file means no markers, as it does to Hermes.
func (s *scene) hermesTurn(session string) *fsstate.Turn {
	markers, _ := s.hermesMarkers()
	for _, m := range markers {
		if m.Session == session {
			return adopted(m)
		}
	}
	return nil
}

func adopted(m hermes.Marker) *fsstate.Turn {
	return &fsstate.Turn{
		Session: m.Session, Phase: fsstate.PhaseRunning, Prompt: m.Prompt, Agent: "hermes",
		AutoContinue: m.AutoContinue, Attempts: m.Attempts, StartedAt: epoch(m.StartedAt),
		Owner:  ident.Ident{PID: m.WriterPID},
		Origin: &fsstate.Origin{Store: "hermes", StartedAt: m.StartedAt},
	}
}

func epoch(seconds float64) time.Time {
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

// writer judges the writer of a Hermes entry by Hermes's own stamp; an entry without one comes from an older Hermes
// and names nobody, so only Hermes itself can be asked whether it lives.
func (s *scene) writer(session string, startedAt float64) ident.Finding {
	markers, _ := s.markers()
	for _, m := range markers {
		if m.Session == session && m.StartedAt == startedAt {
			v, why := hermes.Writer(m)
			return ident.Finding{Verdict: v, Why: why}
		}
	}
	return ident.Finding{Verdict: ident.Dead, Why: "Hermes's file no longer has the entry"}
}

// newerHermes tells whether Hermes began another turn of the session after this one: the person went on there.
func (s *scene) newerHermes(t *fsstate.Turn) bool {
	markers, _ := s.hermesMarkers()
	for _, m := range markers {
		if m.Session != t.Session {
			continue
		}
		if t.Origin != nil && m.StartedAt > t.Origin.StartedAt || t.Origin == nil && epoch(m.StartedAt).After(t.StartedAt) {
			return true
		}
	}
	return false
}

func onceMarkers(home string) func() ([]hermes.Marker, error) {
	return sync.OnceValues(func() ([]hermes.Marker, error) { return hermes.ReadMarkers(home) })
}

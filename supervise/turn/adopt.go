package turn

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// hermesTurns are the turns that Hermes's own file has open, as turns of ours that no keeper has yet. One whose end is in
// our records is over, even if a writer that takes no lock brought its entry back; while its writer lives it is being
// stopped and still occupies its session. A record that cannot be read or does not verify may say that it has ended: such
// a turn is left out. The second result is one error for each file that cannot be used.
func (s *scene) hermesTurns() ([]*fsstate.Turn, []error) {
	markers, err := s.markers()
	var bad []error
	if err != nil {
		bad = append(bad, err)
	}
	turns := make([]*fsstate.Turn, 0, len(markers))
	for _, m := range markers {
		t, id := adopted(m), fsstate.HermesID(m.StartedAt)
		switch o, err := s.room.files().Outcome(m.Session, id); {
		case err != nil:
			bad = append(bad, err)
			continue
		case o != nil && !o.Verified && s.room.signs():
			bad = append(bad, fmt.Errorf("read %s: the recorded end does not verify", s.room.files().OutcomePath(m.Session, id)))
			continue
		case o != nil:
			if v, _ := hermes.Writer(m); v == ident.Dead {
				continue
			}
			t.Phase = fsstate.PhaseStopping
		}
		turns = append(turns, t)
	}
	return turns, bad
}

// hermesTurn is the one of a session; nil where there is none. An unreadable file means no markers, as it does to Hermes.
func (s *scene) hermesTurn(session string) *fsstate.Turn {
	turns, _ := s.hermesTurns()
	for _, t := range turns {
		if t.Session == session {
			return t
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

// continuationOf tells whether a prompt of Hermes's own file is our continuation of a turn, which the backend that does it
// records as any other: the same turn once more, and no person's word.
func continuationOf(prompt string, t *fsstate.Turn) bool {
	original := policy.Original(prompt)
	return t.Origin != nil && original != prompt && original != "" && strings.HasPrefix(policy.Original(t.Prompt), original)
}

// newerHermes tells whether Hermes began another turn of the session after this one: the person went on there.
func (s *scene) newerHermes(t *fsstate.Turn) bool {
	turns, _ := s.hermesTurns()
	for _, newer := range turns {
		if newer.Session != t.Session || newer.Phase == fsstate.PhaseStopping || continuationOf(newer.Prompt, t) {
			continue
		}
		if t.Origin != nil && newer.Origin.StartedAt > t.Origin.StartedAt || t.Origin == nil && newer.StartedAt.After(t.StartedAt) {
			return true
		}
	}
	return false
}

func onceMarkers(home string) func() ([]hermes.Marker, error) {
	return sync.OnceValues(func() ([]hermes.Marker, error) { return hermes.ReadMarkers(home) })
}

package follow

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// newSession is one over a store, in which the services are to be run; it writes metrics and tells nobody.
func newSession(t *testing.T, store *fsstate.Store, services ...string) *session {
	t.Helper()
	f := &Follower{Host: &process.Host{}, Store: store, Log: slog.New(slog.DiscardHandler), homes: map[string]*served{}, wake: make(chan struct{}, 1)}
	f.config = Config{Textfile: filepath.Join(t.TempDir(), "m.prom")}
	f.Serve(store, services)
	s := &session{Follower: f, said: map[string]string{}, since: time.Now()}
	t.Cleanup(s.close)
	return s
}

// gaveUp journals the end of a turn.
func gaveUp(t *testing.T, store *fsstate.Store, at time.Time) {
	t.Helper()
	if err := store.Journal(fsstate.Event{Time: at, Kind: "ended", Session: "s", Reason: "stale"}); err != nil {
		t.Fatal(err)
	}
}

func (s *session) gaveUp() uint64 { return s.state.at("").Tally.Turns[GaveUp]["stale"] }

func TestAClockThatIsSetBackLosesNoEvent(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	gaveUp(t, store, time.Now().Add(-time.Minute)) // before anybody followed
	s := newSession(t, store)
	s.look(t.Context(), false)
	gaveUp(t, store, time.Now().Add(time.Second))
	s.look(t.Context(), false)
	if n := s.gaveUp(); n != 1 {
		t.Fatalf("%d counted of one", n)
	}
	gaveUp(t, store, time.Now().Add(-time.Hour))
	s.look(t.Context(), false)
	s.close()
	gaveUp(t, store, time.Now().Add(-time.Hour)) // while run is down
	s = newSession(t, store)
	s.look(t.Context(), false)
	if n := s.gaveUp(); n != 3 {
		t.Errorf("%d counted of three", n)
	}
}

func TestAClockThatWasSetBackLosesNoCount(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	text := `{"version":1,"since":"9999-01-01T00:00:00Z","homes":{"":{"tally":{"skipped":7}}}}`
	if err := os.WriteFile(store.Path("", StateFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, store)
	s.look(t.Context(), false)
	if s.state.Since.After(time.Now()) || s.state.at("").Tally.Skipped != 7 {
		t.Errorf("%+v", s.state)
	}
}

// A supervisor may die before it has counted what it did, and the next one looks before each service is run again.
func TestWhatAServiceDidIsCountedBeforeItIsRunAgain(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store, "web")
	for _, service := range []string{"web", "forged"} {
		if err := store.Journal(fsstate.Event{Time: time.Now().Add(time.Second), Kind: "service", Service: service, To: "starting", Reason: "restarted"}); err != nil {
			t.Fatal(err)
		}
	}
	s.look(t.Context(), false)
	if n := s.state.at("").Tally.Restarts; n["web"] != 1 || len(n) != 1 {
		t.Errorf("%v", n)
	}
}

func TestWhatCouldNotBeKeptIsKeptLater(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.look(t.Context(), false)
	if err := os.RemoveAll(store.Path(fsstate.Tmp, "")); err != nil {
		t.Fatal(err)
	}
	gaveUp(t, store, time.Now().Add(time.Second))
	s.look(t.Context(), false)
	if err := os.Mkdir(store.Path(fsstate.Tmp, ""), 0o700); err != nil {
		t.Fatal(err)
	}
	s.look(t.Context(), false)
	s.close()
	if s = newSession(t, store); !s.open(t.Context(), Notify{}) || s.gaveUp() != 1 {
		t.Errorf("%+v", s.state)
	}
}

// TestANoticeThatCannotBeMarkedAsBegunIsNotTold: after our death the next supervisor would tell it again.
func TestANoticeThatCannotBeMarkedAsBegunIsNotTold(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.look(t.Context(), false)
	s.state.Pending = []Notice{{Event: Events()[0], Time: time.Now()}}
	if err := os.RemoveAll(store.Path(fsstate.Tmp, "")); err != nil {
		t.Fatal(err)
	}
	s.begin(t.Context(), Notify{Command: []string{"/bin/true"}, Timeout: time.Second})
	if s.over != nil || s.state.Begun || len(s.state.Pending) != 1 {
		t.Errorf("it was begun: %+v", s.state)
	}
}

func TestADeletedProfileIsForgotten(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	there := filepath.Join(store.Home().Path, "profiles", "there") // not served, as its state cannot be read
	if err := os.MkdirAll(there, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, store)
	s.look(t.Context(), false)
	for _, profile := range []string{"", "there", "gone", "gone-just-now"} {
		s.state.at(profile).Position.Last = time.Now().Add(-2 * MaxAge)
	}
	s.state.at("gone-just-now").Position.Last = time.Now()
	s.ticked = true
	s.look(t.Context(), false)
	s.close()
	if s = newSession(t, store); !s.open(t.Context(), Notify{}) || len(s.state.Homes) != 3 || s.state.Homes["gone"] != nil {
		t.Errorf("%v", s.state.Homes)
	}
}

// The collector takes two files with the same series for an error.
func TestTheFileOfMetricsOfAnEarlierRunIsRemovedWhereTheKeyHasChanged(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	s := newSession(t, store)
	s.Key = []byte("key")
	s.look(t.Context(), false)
	first := s.config.Textfile
	s.close()
	if _, err := os.Stat(first); err != nil {
		t.Fatal(err)
	}
	forger := newSession(t, store) // it cannot seal what it writes
	forger.look(t.Context(), false)
	second := forger.config.Textfile
	forger.close()

	s = newSession(t, store)
	s.Key = []byte("key")
	s.look(t.Context(), false)
	if _, err := os.Stat(second); err != nil {
		t.Errorf("what somebody else wrote there is removed: %v", err)
	}
	third := s.config.Textfile
	s.close()
	s = newSession(t, store)
	s.Key = []byte("key")
	s.look(t.Context(), false)
	if _, err := os.Stat(third); !os.IsNotExist(err) {
		t.Errorf("the old file stays: %v", err)
	}
	if _, err := os.Stat(s.config.Textfile); err != nil {
		t.Error(err)
	}
}

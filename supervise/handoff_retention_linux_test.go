package supervise

import (
	"os"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
)

// handedOver leaves a handoff that ended so long ago.
func (w *world) handedOver(session string, ago time.Duration) (id string) {
	w.t.Helper()
	q := w.queue(w.store)
	id = w.requestIn(q, session, "own")
	if _, err := q.Cancel(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
	at := time.Now().Add(-ago)
	if err := os.Chtimes(w.store.Path(fsstate.Handed, id+".json"), at, at); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func TestHandoffsThatEndedBeforeTheRetentionAreRemoved(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	s := w.supervisor(w.noise)
	l := &loop{ // which the test turns: a rescan comes too seldom, and tells nobody that it has come
		Supervisor: s, self: self, config: s.Config, wake: make(chan struct{}, 1), stir: make(chan struct{}, 1), over: make(chan phase.Exit, 1),
		homes: map[string]*home{}, keepers: map[string]*keeper{}, logs: newLogSweep(s.Log), stopPrinting: func() {},
		turns:      recovery{tried: map[string]attempted{}, gone: make(chan *keeper, 16), failed: map[string]string{}},
		deliveries: deliveries{wake: make(chan struct{}, 1), gone: make(chan *keeper, 16)},
	}
	defer l.close()
	swept := func(when string, retention time.Duration, look func()) {
		t.Helper()
		old, young := w.handedOver("old "+when, retention+time.Minute), w.handedOver("young "+when, retention-time.Minute)
		l.config.Handoffs.Retention = retention
		look()
		q := w.queue(w.store)
		w.until(when+": what ended before the retention is gone", func() bool { return w.state(q, old) == "" })
		if got := w.state(q, young); got != queue.Failed {
			t.Errorf("%s: the younger one is %q", when, got)
		}
		if journal := w.text(w.store.Path("", fsstate.JournalFile)); !strings.Contains(journal, old) {
			t.Errorf("%s: the journal says nothing of the handoff that is gone:\n%s", when, journal)
		}
	}
	swept("at the start", 24*time.Hour, func() {
		if err := l.openHomes(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	rescan := func(last time.Duration) func() {
		return func() {
			l.homes[w.Home.Path].swept = time.Now().Add(-last)
			l.rescan(t.Context())
		}
	}
	swept("at a rescan", 24*time.Hour, rescan(sweepEvery+time.Second))
	swept("at a rescan, for less than an hour", 10*time.Minute, rescan(11*time.Minute))
}

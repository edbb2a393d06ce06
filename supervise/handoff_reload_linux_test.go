package supervise

import (
	"maps"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
)

// In these tests nothing is requested or delivered between the start and the reload: any change in handoffs/, and the end
// of any keeper, would wake the dispatcher too. Nor do they run beside others: a watch that another test's home loses makes
// every supervisor of this process look again.

// rests waits until the looks of the start are over, the last of which comes a multiple of what the first took after it.
// Where that takes longer, the test sees less than it could, and nothing that is wrong.
func (w *world) rests() {
	w.t.Helper()
	if err := process.Pause(w.t.Context(), time.Second); err != nil {
		w.t.Fatal(err)
	}
	w.idles()
}

// What waits for a platform that a reload adds waits for nothing else: neither for a rescan nor for the next request.
func TestAPlatformThatAReloadAddsIsServedAtOnce(t *testing.T) {
	w := newHandingWorld(t)
	with, served := maps.Clone(w.Handoffs.Platforms), w.Handoffs.Platforms
	with["added"] = platform{Mode: "quick"}
	w.Handoffs.Platforms = with
	id := w.request("s", "added")
	w.Handoffs.Platforms = served
	w.serve()
	w.rests()
	if s := w.state(w.queue(w.store), id); s != queue.Pending {
		t.Fatalf("it is %s before there is its platform", s)
	}
	same := w.setup
	w.mu.Lock()
	w.reload = func() (Config, error) { // called by the loop, as is what tells the keepers of the platforms
		same.Handoffs.Platforms = with
		return same.config(), nil
	}
	w.mu.Unlock()
	w.orders <- OrderReload
	w.becomes(id, queue.Completed)
}

func TestALimitOfAPlatformThatAReloadRaisesHoldsAtOnce(t *testing.T) {
	w := newHandingWorld(t)
	w.Handoffs.Platforms["quick"] = platform{Mode: "quick", AtOnce: 1}
	person, err := host.Start(process.Spec{Argv: []string{"sleep", "600"}}) // who runs `handoff deliver`
	if err != nil {
		t.Fatal(err)
	}
	end := func() { _ = person.Signal(syscall.SIGKILL); <-person.Done() }
	t.Cleanup(end)
	claimer, err := ident.Of(person.PID(), ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	q := w.queue(w.store)
	first, second := w.request("first", "quick"), w.request("second", "quick")
	if _, err := q.Claim(t.Context(), first, fsstate.Claim{Claimer: claimer, At: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	w.serve()
	t.Cleanup(end) // else the stop would wait for it
	w.rests()
	if s := w.state(q, second); s != queue.Pending {
		t.Fatalf("the second one is %s", s)
	}
	raised := *w.Handoffs
	raised.Platforms = maps.Clone(raised.Platforms)
	raised.Platforms["quick"] = platform{Mode: "quick", AtOnce: 2}
	w.Handoffs = &raised
	w.configure(nil)
	w.orders <- OrderReload
	w.becomes(second, queue.Completed)
	if h := w.becomes(first, queue.Running); h.Claim.By == handoff.ByRun {
		t.Errorf("the first one is delivered by %+v", h.Claim)
	}
}

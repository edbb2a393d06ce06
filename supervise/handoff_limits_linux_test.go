package supervise

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
)

func TestAtMostMaxConcurrentDeliveriesRun(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Platforms["one"] = platform{Mode: "brief", AtOnce: 1}
	w.Handoffs.Platforms["two"] = platform{Mode: "brief", AtOnce: 2}
	w.Handoffs.Platforms["any"] = platform{Mode: "brief"}
	var ids []string
	for i := range 30 {
		ids = append(ids, w.request(fmt.Sprint("s", i), []string{"one", "two", "any"}[i%3]))
		if i == 14 {
			w.serve()
		}
	}
	for _, id := range ids {
		if h := w.becomes(id, queue.Completed); h.Tries != 1 {
			t.Errorf("%s was claimed %d times", id, h.Tries)
		}
	}
	notes := w.handlerNotes()
	if n := w.handlings("start", ""); n != 30 || len(notes) != 60 {
		t.Errorf("%d starts in %d notes", n, len(notes))
	}
	on := func(platform string) func(handed) bool {
		return func(n handed) bool { return platform == "" || n.platform == platform }
	}
	for platform, limit := range map[string]int{"": 3, "one": 1, "two": 2} {
		if most := atOnce(notes, on(platform)); most > limit {
			t.Errorf("platform %q: %d at once, not %d", platform, most, limit)
		}
	}
	if most := atOnce(notes, on("")); most < 2 {
		t.Errorf("only %d ran at the same time: nothing was tested", most)
	}
}

func TestAPlatformAtItsLimitDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Platforms["desk"] = platform{Mode: "hold", AtOnce: 1}
	first, second := w.request("first", "desk"), w.request("second", "desk")
	third := w.request("third", "desk")
	w.serve()
	w.handling("first")
	w.becomes(w.request("later", "quick"), queue.Completed)
	for _, id := range []string{second, third} {
		if s := w.state(w.queue(w.store), id); s != queue.Pending {
			t.Errorf("%s is %s while its platform is at its limit", id, s)
		}
	}
	w.letGo("first")
	w.becomes(first, queue.Completed)
	w.handling("second") // the end of the first is the next look
	if n := w.handlings("start", "third"); n != 0 {
		t.Error("the third one overtook the second one")
	}
}

func TestLimitsThatAReloadRaisesHoldAtOnce(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.AtOnce = 1
	first := w.request("first", "desk")
	second := w.request("second", "desk")
	w.serve()
	w.handling("first")
	w.until("it is at rest", func() bool {
		h, err := w.queue(w.store).Files.Get(first)
		return err == nil && h.Claim != nil && h.Claim.Handler.PID != 0
	})
	w.idles()
	if s := w.state(w.queue(w.store), second); s != queue.Pending {
		t.Fatalf("the second one is %s", s)
	}
	raised := *w.Handoffs
	raised.AtOnce = 2
	w.Handoffs = &raised
	w.configure(nil)
	w.orders <- OrderReload
	w.within(beforeHeartbeat, "the second one is delivered", func() bool { return w.handlings("start", "second") > 0 })
}

// beforeHeartbeat is before that of a running delivery, which wakes its dispatcher.
const beforeHeartbeat = 8 * time.Second

// idles waits until nothing is left that would wake the supervisor: it has read its configuration again, as it is, often.
func (w *world) idles() {
	w.t.Helper()
	same, read := w.setup, make(chan struct{}, 1)
	w.mu.Lock()
	w.reload = func() (Config, error) { read <- struct{}{}; return same.config(), nil }
	w.mu.Unlock()
	for range 20 {
		w.orders <- OrderReload
		w.await("the configuration is read", read)
	}
}

func TestAHandoffOfAProfileThatAppearsIsDeliveredSoon(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.serve()
	for _, name := range []string{"first", "second"} {
		q := w.opened(w.appear(name))
		w.becomesIn(q, w.requestIn(q, name, "quick"), queue.Completed)
	}
}

func TestAHandoffWaitsForTheEndOfItsSessionsTurn(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	me, err := ident.Self("")
	if err != nil {
		t.Fatal(err)
	}
	w.interrupted("busy", func(t *fsstate.Turn) { t.Keeper = me })
	h, _, err := w.queue(w.store).Request(t.Context(), handoff.Request{Session: "busy", Platform: "quick", AfterTurn: true})
	if err != nil {
		t.Fatal(err)
	}
	w.serve()
	for _, session := range []string{"a", "b"} { // it holds nobody up
		w.becomes(w.request(session, "quick"), queue.Completed)
	}
	if s := w.state(w.queue(w.store), h.ID); s != queue.Pending {
		t.Fatalf("it is %s while the turn is open", s)
	}
	if err := w.store.Remove(fsstate.Turns, "busy.json"); err != nil {
		t.Fatal(err)
	}
	w.becomes(h.ID, queue.Completed)
}

// TestDeliveriesOfADeadSupervisorAreAdopted: they are not started twice, count, and are ended by the stop of the next one.
func TestDeliveriesOfADeadSupervisorAreAdopted(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	first := w.another()
	ids := map[string]string{}
	for _, session := range []string{"a", "b", "c", "d", "e"} {
		ids[session] = w.request(session, "desk")
	}
	w.handling("a", "b", "c")
	w.kill(first)
	seen := w.stranded(w.queue(w.store), "seen", "desk", w.dead())
	w.serve()
	w.becomes(seen, queue.Failed) // so it has looked
	for _, session := range []string{"a", "b", "c"} {
		if h := w.becomes(ids[session], queue.Running); h.Tries != 1 {
			t.Errorf("%s was claimed %d times", session, h.Tries)
		}
	}
	if n := w.handlings("start", ""); n != 3 {
		t.Fatalf("%d were started", n)
	}
	w.letGo("b")
	w.becomes(ids["b"], queue.Completed)
	w.handling("d") // an adopted one's end is noticed as that of a child
	if n := w.handlings("start", ""); n != 4 {
		t.Errorf("%d were started", n)
	}
	w.orders <- OrderStop
	w.await("the supervisor has ended", w.over)
	for _, session := range []string{"a", "c", "d"} {
		if s := w.state(w.queue(w.store), ids[session]); s != queue.Failed {
			t.Errorf("%s is %s after the stop", session, s)
		}
		if err := syscall.Kill(w.handler(session), 0); err == nil {
			t.Errorf("the command of %s lives", session)
		}
	}
	if s := w.state(w.queue(w.store), ids["e"]); s != queue.Pending {
		t.Errorf("the one that waited is %s", s)
	}
}

// TestTwoSupervisorsOfOneHomeKeepItsLimitTogether: one of the two delivers, and the other takes over when that one dies.
func TestTwoSupervisorsOfOneHomeKeepItsLimitTogether(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Platforms["brief"] = platform{Mode: "brief"}
	w.Handoffs.AtOnce = 2
	run := w.another()
	w.becomes(w.request("first", "quick"), queue.Completed) // so it holds the lease
	w.Handoffs.Only = true
	watch := w.another()
	var ids []string
	for i := range 12 {
		ids = append(ids, w.request(fmt.Sprint("s", i), "brief"))
	}
	for _, id := range ids {
		if h := w.becomes(id, queue.Completed); h.Tries != 1 {
			t.Errorf("%s was claimed %d times", id, h.Tries)
		}
	}
	w.request("slow", "desk")
	w.handling("slow")
	w.kill(run)
	w.becomes(w.request("after", "brief"), queue.Completed)
	for i := range 6 {
		ids = append(ids, w.request(fmt.Sprint("t", i), "brief"))
	}
	for _, id := range ids {
		w.becomes(id, queue.Completed)
	}
	if most := atOnce(w.handlerNotes(), func(handed) bool { return true }); most > 2 {
		t.Errorf("%d ran at once", most)
	}
	w.letGo("slow")
	w.kill(watch)
}

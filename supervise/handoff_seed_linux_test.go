package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
)

// The contracts of Hermes's own test of its handoff watcher (tests/gateway/test_handoff_watcher_resilience.py), in the
// terms of this design: one test each, named after it. supervise/handoff has those that need no supervisor.

func TestSlowHandoffDoesNotBlockLaterPolls(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	other := w.opened(w.appear("other"))
	slow := w.request("slow", "desk")
	w.serve()
	w.handling("slow")
	w.becomes(w.request("later", "quick"), queue.Completed)
	w.becomesIn(other, w.requestIn(other, "elsewhere", "quick"), queue.Completed)
	if s := w.state(w.queue(w.store), slow); s != queue.Running {
		t.Errorf("the slow one is %s", s)
	}
	w.letGo("slow")
	w.becomes(slow, queue.Completed)
}

func TestInflightRowIsNotClaimedTwice(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Rescan = 50 * time.Millisecond // every one of these looks could claim it again
	rival := w.another()
	id := w.request("slow", "desk")
	w.handling("slow")
	for _, session := range []string{"a", "b", "c", "d"} { // each of them is several looks
		w.becomes(w.request(session, "quick"), queue.Completed)
	}
	w.letGo("")
	if h := w.becomes(id, queue.Completed); h.Tries != 1 {
		t.Errorf("it was claimed %d times", h.Tries)
	}
	w.becomes(w.request("last", "quick"), queue.Completed) // by the same supervisor, after its end
	if n := w.handlings("start", "slow"); n != 1 {
		t.Errorf("it was delivered %d times", n)
	}
	w.kill(rival)
}

func TestStartupReclaimsRowsStrandedInRunning(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	id := w.stranded(w.queue(w.store), "stuck", "desk", w.dead())
	w.serve()
	w.reclaimed(w.becomes(id, queue.Failed))
	if n := w.handlings("start", ""); n != 0 {
		t.Errorf("it was delivered again: %d", n)
	}
}

// reclaimed checks what is recorded of a handoff whose claimer died: that it may have been delivered, and how to retry.
func (w *world) reclaimed(h *fsstate.Handoff) {
	w.t.Helper()
	if h.End == nil || h.End.Reason != string(queue.ReasonClaimerDied) {
		w.t.Fatalf("it ended with %+v", h.End)
	}
	for _, word := range []string{"/handoff", "hermes-supervisor handoff retry " + h.ID, "may have been delivered"} {
		if !strings.Contains(h.End.Error, word) {
			w.t.Errorf("%q does not say %q", h.End.Error, word)
		}
	}
}

// TestReclaimRunsPerProfileStore is of the root home and two profiles: each is reclaimed once, and says so once.
func TestReclaimRunsPerProfileStore(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	ids := map[fsstate.Home]string{}
	for _, h := range []fsstate.Home{w.Home, w.appear("bala"), w.appear("medicina")} {
		ids[h] = w.stranded(w.opened(h), "stuck", "desk", w.dead())
	}
	w.serve()
	for h, id := range ids {
		w.reclaimed(w.becomesIn(w.opened(h), id, queue.Failed))
	}
	w.request("later", "quick")
	w.until("another look was made", func() bool { return w.handlings("end", "later") == 1 })
	for h, id := range ids {
		journal := filepath.Join(h.Path, "supervisor", "journal.jsonl")
		count := func() int { return strings.Count(w.text(journal), `"`+string(queue.ReasonClaimerDied)+`"`) }
		w.until("it is in the journal", func() bool { return count() > 0 }) // after the state
		if n := count(); n != 1 {
			t.Errorf("%s: reclaimed %d times:\n%s", h.Path, n, w.text(journal))
		}
		w.until("it is said", func() bool { return strings.Contains(w.noise.String(), id) })
		if n := strings.Count(w.noise.String(), id); n != 1 {
			t.Errorf("%s: said %d times", h.Path, n)
		}
	}
}

// TestReclaimToleratesStoreWithoutTheMethod is of homes that an older version made, and of records that nobody can read.
func TestReclaimToleratesStoreWithoutTheMethod(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	old := w.appear("old")
	oldQueue := w.opened(old)
	good := w.stranded(w.queue(w.store), "good", "desk", w.dead())
	var bad []string
	for i, text := range []string{"", `{"version":1,"id":`, `{"version":99}`, `{"version":1,"state":"running"}`, `[]`} {
		id := fsstate.NewHandoffID("bad", "any", "", time.Now().Add(time.Duration(-i)*time.Hour)) // before the good one
		bad = append(bad, id)
		if err := os.WriteFile(w.store.Path(fsstate.Handoffs, id+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []fsstate.Folder{fsstate.Handoffs, fsstate.Handed} {
		if err := os.Remove(filepath.Join(old.Path, "supervisor", string(folder))); err != nil {
			t.Fatal(err)
		}
	}
	w.serve()
	w.reclaimed(w.becomes(good, queue.Failed))
	w.becomes(w.request("later", "quick"), queue.Completed)
	for _, id := range bad {
		if n := strings.Count(w.noise.String(), id); n < 1 || n > 2 { // one that is set aside is named with its new name
			t.Errorf("the broken %s is reported %d times", id, n)
		}
	}
	again := w.opened(old) // makes what is missing, as any command does
	w.becomesIn(again, w.requestIn(again, "old", "quick"), queue.Completed)
	_ = oldQueue
}

func TestReclaimedSessionCanRequestHandoffAgain(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	id := w.stranded(w.queue(w.store), "stuck", "desk", w.dead())
	_, _, err := w.queue(w.store).Request(t.Context(), handoff.Request{Session: "stuck", Platform: "quick"})
	if err == nil {
		t.Fatal("a second handoff of the session was taken")
	}
	w.serve()
	w.becomes(id, queue.Failed)
	w.becomes(w.request("stuck", "quick"), queue.Completed)
	if _, err := w.queue(w.store).Retry(t.Context(), id); err != nil { // the command that the error names
		t.Fatal(err)
	}
	w.handling("stuck")
	w.letGo("")
	if h := w.becomes(id, queue.Completed); h.Tries != 2 {
		t.Errorf("claimed %d times", h.Tries)
	}
}

// Beyond Hermes's contracts.

// TestALiveClaimerElsewhereKeepsItsHandoff is of a claimer in another process, which is even stopped: Hermes would fail
// its handoff at the start of a second gateway. When it dies, that is settled at once.
func TestALiveClaimerElsewhereKeepsItsHandoff(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	child, err := host.Start(process.Spec{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Signal(syscall.SIGKILL); <-child.Done() }()
	claimer, err := ident.Of(child.PID(), ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	id := w.stranded(w.queue(w.store), "held", "desk", claimer)
	w.serve()
	for _, session := range []string{"a", "b", "c"} { // several looks
		w.becomes(w.request(session, "quick"), queue.Completed)
	}
	if s := w.state(w.queue(w.store), id); s != queue.Running {
		t.Fatalf("it is %s while its claimer lives", s)
	}
	if err := child.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.reclaimed(w.becomes(id, queue.Failed)) // soon: long before a rescan
}

// TestAHandlerThatOutlivesItsKeeperHoldsBackTheReclaim kills the keeper of a delivery, and later the command.
func TestAHandlerThatOutlivesItsKeeperHoldsBackTheReclaim(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.serve()
	id := w.request("slow", "desk")
	w.handling("slow")
	h := w.becomes(id, queue.Running)
	if err := syscall.Kill(h.Claim.Claimer.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"a", "b", "c", "d", "e"} {
		w.becomes(w.request(session, "quick"), queue.Completed)
	}
	if s := w.state(w.queue(w.store), id); s != queue.Running {
		t.Fatalf("it is %s while its command runs", s)
	}
	w.until("only its command is left, so nothing else wakes anybody", func() bool { return len(w.alive()) == 1 })
	w.letGo("slow")
	w.reclaimed(w.becomes(id, queue.Failed)) // soon: long before a rescan
	if n := w.handlings("start", "slow"); n != 1 {
		t.Errorf("delivered %d times", n)
	}
}

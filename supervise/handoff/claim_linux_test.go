package handoff

import (
	"context"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// openTurn leaves an open turn of a session on disk, whose keeper is us.
func (h *home) openTurn(session string) fsstate.TurnFiles {
	h.Helper()
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		h.Fatal(err)
	}
	files := fsstate.TurnFiles{Store: h.queue.Files.Store, Key: testKey}
	now := time.Now().UTC()
	if err := files.Put(&fsstate.Turn{
		Session: session, Phase: fsstate.PhaseRunning, Prompt: "a prompt", StartedAt: now, LaunchedAt: now, Keeper: self, Owner: self, Verified: true,
	}); err != nil {
		h.Fatal(err)
	}
	return files
}

func TestHandoffIsNotClaimedWhileATurnOfItsSessionIsOpen(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "exit", "0")
	turns := h.openTurn(theSession)
	if _, _, err := h.queue.Request(t.Context(), Request{Session: theSession, Platform: "chat"}); err == nil {
		t.Fatal("it was accepted while a turn is open")
	}
	hd, _, err := h.queue.Request(t.Context(), Request{Session: theSession, Platform: "chat", AfterTurn: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := h.keep(hd.ID).wait(); r.Refused != queue.ReasonTurnOpen {
		t.Errorf("keeper: %+v", r)
	}
	h.wantState(hd.ID, queue.Pending)
	if err := turns.Delete(theSession); err != nil {
		t.Fatal(err)
	}
	h.keep(hd.ID).want(queue.Completed)
	h.ran(1)
}

// A turn begins under its session's lock: whoever holds that, keeps both a request and a claim waiting for what it does.
func TestTurnThatBeginsMeanwhileIsSeenByRequestAndClaim(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"request", "claim"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			id := ""
			if what == "claim" {
				id = h.request("own")
			}
			unlock, err := h.queue.Files.Store.Lock(t.Context(), fsstate.Name(theSession), "turn run")
			if err != nil {
				t.Fatal(err)
			}
			answer := make(chan error, 1)
			go func() {
				var err error
				if what == "claim" {
					_, err = h.queue.Claim(context.Background(), id, fsstate.Claim{Claimer: h.dead(), External: true}, nil)
				} else {
					_, _, err = h.queue.Request(context.Background(), Request{Session: theSession, Platform: "own"})
				}
				answer <- err
			}()
			select {
			case err := <-answer:
				t.Fatalf("%s did not wait for the lock of the session: %v", what, err)
			case <-time.After(100 * time.Millisecond):
			}
			h.openTurn(theSession)
			unlock()
			if err := <-answer; err == nil {
				t.Errorf("%s beside a turn that has begun", what)
			}
			if id != "" {
				h.wantState(id, queue.Pending)
			}
		})
	}
}

// Between its two writes a retried handoff lies in both folders: what a dispatcher sees of it then must not be removed.
func TestDispatcherLeavesAHandoffAloneThatIsBeingRetried(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := h.request("own")
	claim := h.dead()
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: claim, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.queue.Fail(t.Context(), id, claim.Instance, "why"); err != nil {
		t.Fatal(err)
	}
	unlock, err := h.queue.Files.Store.Lock(t.Context(), fsstate.HandoffLock(id), "handoff retry")
	if err != nil {
		t.Fatal(err)
	}
	hd := h.get(id)
	hd.State = string(queue.Pending)
	if err := h.queue.Files.Put(hd); err != nil { // the first half of Reopen
		t.Fatal(err)
	}
	d := &Desk{Queue: h.queue}
	defer d.Close()
	if p := d.Look(t.Context(), time.Now(), 3); p.Next.IsZero() {
		t.Error("the dispatcher sees no reason to look again")
	}
	if err := h.queue.Files.Store.Remove(fsstate.Handed, id+".json"); err != nil { // and the second
		t.Fatal(err)
	}
	unlock()
	h.wantState(id, queue.Pending)
	if p := d.Look(t.Context(), time.Now(), 3); !p.Busy {
		t.Error("the dispatcher does not see it")
	}
}

func TestWhatAnEndHasLeftOfAnOpenRecordIsRemoved(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := h.request("own")
	claim := h.dead()
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: claim, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	running := h.get(id)
	if _, err := h.queue.Complete(t.Context(), id, claim.Instance); err != nil {
		t.Fatal(err)
	}
	if err := h.queue.Files.Put(running); err != nil { // as a power loss may bring it back
		t.Fatal(err)
	}
	h.wantState(id, queue.Completed)
	d := &Desk{Queue: h.queue}
	defer d.Close()
	if p := d.Look(t.Context(), time.Now(), 3); len(p.Start) > 0 {
		t.Errorf("a dispatcher starts %+v", p.Start)
	}
	if ids, err := h.queue.Files.Open(); err != nil || len(ids) > 0 {
		t.Errorf("open records %v, %v", ids, err)
	}
	h.wantState(id, queue.Completed)
}

package handoff

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// reclaim is one look of a dispatcher's at the home, and what Reclaim says.
func (h *home) reclaim(id string) error {
	h.Helper()
	_, err := h.queue.Reclaim(h.Context(), id)
	return err
}

// kept checks that neither Reclaim nor a dispatcher takes a handoff away.
func (h *home) kept(id string, reason queue.Reason) {
	h.Helper()
	before := h.state()
	h.refused(h.reclaim(id), reason)
	d := &Desk{Queue: h.queue}
	defer d.Close()
	if p := d.Look(h.Context(), time.Now(), 3); len(p.Start) > 0 {
		h.Errorf("a dispatcher starts %+v", p.Start)
	}
	after := h.state()
	for name := range before {
		if !strings.Contains(name, "lease") && before[name] != after[name] {
			h.Errorf("%s was changed:\n%s\n%s", name, before[name], after[name])
		}
	}
}

// takenBack lets a dispatcher look at the home once, which must settle a delivery that nobody carries on.
func (h *home) takenBack(id string) {
	h.Helper()
	d := &Desk{Queue: h.queue}
	defer d.Close()
	d.Look(h.Context(), time.Now(), 3)
	h.wantFailed(id, queue.ReasonClaimerDied, mayBe)
	if left := h.runFiles(); len(left) > 0 {
		h.Errorf("run/ still holds %v", left)
	}
	other := h.request("chat") // the session can be handed over again
	if _, err := h.queue.Cancel(h.Context(), other); err != nil {
		h.Fatal(err)
	}
}

func TestRunningHandoffOfALivingClaimerIsNotReclaimed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("say", "here", "await", "./go")
	h.said("here")
	h.recorded(id)
	h.kept(id, queue.ReasonRunning)
	k.freeze()
	h.kept(id, queue.ReasonRunning)
	k.signal(syscall.SIGCONT)
	h.touch("go")
	k.want(queue.Completed)
	h.ran(1)
}

func TestRunningHandoffOfAStoppedClaimerIsNotReclaimedAlthoughItsHandlerIsGone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("say", "here", "await", "never")
	pid := h.said("here")
	h.recorded(id)
	k.freeze()
	h.killPID(pid)
	h.kept(id, queue.ReasonRunning)
	k.signal(syscall.SIGCONT)
	k.want(queue.Failed)
	h.wantFailed(id, queue.ReasonHandlerFailed)
	h.ran(1)
}

func TestDeadClaimersHandoffIsReclaimedAsSoonAsItsHandlerIsGone(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"as it is":                          {},
		"without stdin":                     {"strip", "stdin,stderr"},
		"without environment":               {"strip", "env"},
		"without stdin and environment":     {"strip", "stdin,stderr,env"},
		"stopped":                           {"say", "stop me"},
		"without stdin, with its stderr":    {"strip", "stdin,env"},
		"without environment, with its tag": {"strip", "stdin,stderr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			id, k := h.delivery(append(slices.Clone(steps), "note", "./log", "say", "here", "await", "never")...)
			pid := h.said("here")
			h.recorded(id)
			k.kill()
			if len(steps) > 0 && steps[0] == "say" {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
			h.kept(id, queue.ReasonRunning)
			h.killPID(pid)
			h.takenBack(id)
			h.ran(1)
		})
	}
}

func TestDeadClaimersHandoffIsNotReclaimedWhileADescendantOfItsHandlerLives(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"all", "stdin", "tag"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			id, k := h.delivery("leave", what, "[", "note", "./log", "say", "child", "await", "never", "]", "await", "never")
			child, handler := h.said("child"), h.started(1)
			h.recorded(id)
			k.kill()
			h.killPID(handler)
			h.kept(id, queue.ReasonRunning)
			h.killPID(child)
			h.takenBack(id)
			h.ran(1)
		})
	}
}

func TestReclaimTouchesRunningHandoffsOnly(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "exit", "0")
	h.platform("broken", "exit", "1")
	at := func(session, platform string) string {
		hd, _, err := h.queue.Request(t.Context(), Request{Session: session, Platform: platform})
		if err != nil {
			t.Fatal(err)
		}
		return hd.ID
	}
	done, failed, pending, running := at("done", "chat"), at("failed", "broken"), at("pending", "own"), at("running", "own")
	h.keep(done).want(queue.Completed)
	h.keep(failed).want(queue.Failed)
	if _, err := h.queue.Claim(t.Context(), running, fsstate.Claim{Claimer: h.dead(), External: true}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.queue.Request(t.Context(), Request{Session: "running", Platform: "chat"}); err == nil {
		t.Fatal("a running handoff does not keep its session")
	}
	records := func() map[string]string {
		all := h.state()
		for name := range all {
			if !strings.Contains(name, "/hand") || strings.Contains(name, running) {
				delete(all, name)
			}
		}
		return all
	}
	before := records()
	for _, id := range []string{done, failed, pending} {
		h.refused(h.reclaim(id), queue.ReasonNotClaimed)
	}
	d := &Desk{Queue: h.queue}
	defer d.Close()
	d.Look(t.Context(), time.Now(), 0)
	h.wantFailed(running, queue.ReasonClaimerDied, mayBe)
	after := records()
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("records %v, then %v", before, after)
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed: %s", name, after[name])
		}
	}
	h.wantState(done, queue.Completed)
	h.wantState(failed, queue.Failed)
	h.wantState(pending, queue.Pending)
	again := at("running", "chat")
	h.keep(again).want(queue.Completed)
}

func TestOldClaimCanNeitherCompleteNorFail(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := h.request("own")
	first := h.dead()
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: first, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	stale := func(reason queue.Reason) {
		t.Helper()
		before := h.wantState(id, queue.State(h.get(id).State))
		_, err := h.queue.Complete(t.Context(), id, first.Instance)
		h.refused(err, reason)
		h.refused(h.queue.Heartbeat(id, first.Instance), queue.ReasonOtherClaim)
		h.wantState(id, queue.State(before.State))
	}
	if err := h.reclaim(id); err != nil {
		t.Fatal(err)
	}
	stale(queue.ReasonFinished)
	if _, err := h.queue.Fail(t.Context(), id, "", "none"); err == nil {
		t.Error("it was failed without a claim")
	}
	if _, err := h.queue.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	stale(queue.ReasonNotClaimed)
	second, err := ident.Self(ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: second, External: true}, nil); err != nil {
		t.Fatal(err)
	}
	stale(queue.ReasonOtherClaim)
	_, err = h.queue.Fail(t.Context(), id, first.Instance, "stale")
	h.refused(err, queue.ReasonOtherClaim)
	for range 2 { // the answer to the first may be lost
		if _, err := h.queue.Complete(t.Context(), id, second.Instance); err != nil {
			t.Fatal(err)
		}
	}
	stale(queue.ReasonOtherClaim)
	if hd := h.wantState(id, queue.Completed); hd.Tries != 2 {
		t.Errorf("%d tries", hd.Tries)
	}
}

func TestClaimOfAProgramOfItsOwnIsJudgedByItsPid(t *testing.T) {
	t.Parallel()
	alive, err := ident.Self(ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*ident.Ident)) ident.Ident { id := alive; f(&id); return id }
	for name, tc := range map[string]struct {
		claimer func(h *home) ident.Ident
		want    queue.Reason // of the refusal; "": it is taken back
	}{
		"alive":    {func(*home) ident.Ident { return alive }, queue.ReasonRunning},
		"dead":     {func(h *home) ident.Ident { return h.dead() }, ""},
		"recycled": {func(*home) ident.Ident { return change(func(id *ident.Ident) { id.Start-- }) }, ""},
		"another boot": {func(*home) ident.Ident {
			return change(func(id *ident.Ident) { id.BootID = "0d1f3ad5-0000-4000-8000-000000000000" })
		}, ""},
		"another pid namespace": {func(*home) ident.Ident { return change(func(id *ident.Ident) { id.PIDNS++ }) }, queue.ReasonClaimerUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.platform("chat", "exit", "0")
			id := h.request("own")
			if _, err := h.queue.Claim(t.Context(), id, fsstate.Claim{Claimer: tc.claimer(h), External: true}, nil); err != nil {
				t.Fatal(err)
			}
			if tc.want != "" {
				h.kept(id, tc.want)
				return
			}
			h.takenBack(id)
		})
	}
}

func TestForgedHandoffIsNeitherDeliveredNorReclaimedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "exit", "0")
	forge := fsstate.HandoffFiles{Store: h.queue.Files.Store, Key: []byte("the key of somebody else")}
	now := time.Now()
	var forged []string
	for _, state := range []queue.State{queue.Pending, queue.Running} {
		hd := &fsstate.Handoff{
			ID: fsstate.NewHandoffID(theSession, "chat", "", now), Session: theSession, Platform: "chat", State: string(state), RequestedAt: now, Verified: true,
		}
		if state == queue.Running {
			hd.Claim = &fsstate.Claim{Claimer: h.dead()}
			f, err := h.queue.Files.Store.NewWitness(hd.Claim.Claimer.Instance, nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
		if err := forge.Put(hd); err != nil {
			t.Fatal(err)
		}
		forged = append(forged, hd.ID)
	}
	if r := h.keep(forged[0]).wait(); r.Refused != queue.ReasonUnverified {
		t.Errorf("keeper: %+v", r)
	}
	_, err := h.queue.Claim(t.Context(), forged[0], fsstate.Claim{Claimer: h.dead()}, nil)
	h.refused(err, queue.ReasonUnverified)
	if _, err := h.queue.ClaimOldest(t.Context(), "chat", fsstate.Claim{Claimer: h.dead()}); err == nil {
		t.Error("a forged handoff was claimed")
	}
	h.refused(h.reclaim(forged[1]), queue.ReasonUnverified)
	d := &Desk{Queue: h.queue}
	defer d.Close()
	if p := d.Look(t.Context(), time.Now(), 3); len(p.Start) > 0 {
		t.Errorf("a dispatcher starts %+v", p.Start)
	}
	h.wantState(forged[0], queue.Pending)
	h.wantState(forged[1], queue.Running)
	if left := h.runFiles(); len(left) != 1 {
		t.Errorf("what a forged record names was removed: %v", left)
	}
	id := h.request("chat")
	h.keep(id).want(queue.Completed)
	h.ran(1)
}

func TestBrokenHandoffIsSetAsideAndBlocksNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "exit", "0")
	id := fsstate.NewHandoffID(theSession, "chat", "", time.Now())
	path := h.queue.Files.Store.Path(fsstate.Handoffs, id+".json")
	if err := os.WriteFile(path, []byte(`{"version":1,"id":"`), 0o600); err != nil {
		t.Fatal(err)
	}
	good := h.request("chat")
	d := &Desk{Queue: h.queue}
	defer d.Close()
	if p := d.Look(t.Context(), time.Now(), 3); len(p.Start) != 1 || p.Start[0].ID != good {
		t.Errorf("a dispatcher starts %+v", p.Start)
	}
	h.keep(good).want(queue.Completed)
}

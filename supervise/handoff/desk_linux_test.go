package handoff

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/turn"
)

// deskHome is a home, and the desk of its dispatcher.
type deskHome struct {
	*Desk

	t *testing.T
}

func newDeskHome(t *testing.T) *deskHome {
	t.Helper()
	dir := t.TempDir()
	store, err := fsstate.Open(fsstate.Home{Path: dir, Root: dir}, fsstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("a key for the tests")
	h := &deskHome{t: t, Desk: &Desk{Queue: &Queue{
		Files: fsstate.HandoffFiles{Store: store, Key: key},
		Room:  &turn.Room{Store: store, Key: key, Settings: policy.Defaults()},
		Platform: func(name string) (Platform, error) {
			if name == "unknown" {
				return Platform{}, errors.New("no such platform")
			}
			return Platform{Command: []string{"true"}, External: name == "own"}, nil
		},
	}}}
	t.Cleanup(func() { h.Close(); _ = store.Close() })
	return h
}

// leave leaves a handoff, younger than those before it.
func (h *deskHome) leave(session string, s queue.State, claimer ident.Ident) (id string) {
	h.t.Helper()
	now := time.Now().UTC()
	one := &fsstate.Handoff{
		ID: fsstate.NewHandoffID(session, "any", "", now), Session: session, Platform: "any", State: string(s), RequestedAt: now, Verified: true,
	}
	if s != queue.Pending {
		one.Claim, one.Tries = &fsstate.Claim{Claimer: claimer, At: now}, 1
	}
	put := h.Queue.Files.Put
	if !s.Open() {
		one.End, put = &fsstate.HandoffEnd{Reason: string(queue.ReasonDelivered), At: now}, h.Queue.Files.Settle
	}
	if err := put(one); err != nil {
		h.t.Fatal(err)
	}
	return one.ID
}

// me is this process, deadMe another one that had its pid.
func (h *deskHome) me() ident.Ident {
	h.t.Helper()
	id, err := ident.Self(ident.NewInstance())
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *deskHome) deadMe() ident.Ident {
	h.t.Helper()
	id := h.me()
	id.Start--
	return id
}

func (h *deskHome) get(id string) *fsstate.Handoff {
	h.t.Helper()
	one, err := h.Queue.Files.Get(id)
	if err != nil {
		h.t.Fatal(err)
	}
	return one
}

// raw is the file of a handoff, open or ended.
func (h *deskHome) raw(id string) string {
	for _, folder := range []fsstate.Folder{fsstate.Handoffs, fsstate.Handed} {
		if text, err := os.ReadFile(h.Queue.Files.Store.Path(folder, id+".json")); err == nil {
			return string(text)
		}
	}
	return ""
}

func (h *deskHome) starts(p Plan) string {
	var sessions strings.Builder
	for _, s := range p.Start {
		sessions.WriteString(s.Session + " ")
	}
	return sessions.String()
}

// TestDeskLooksAgainWhileAHandlerOutlivesItsKeeper: no handle tells of the end of the last process of a delivery.
func TestDeskLooksAgainWhileAHandlerOutlivesItsKeeper(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	claimer := h.deadMe()
	held, err := h.Queue.Files.Store.NewWitness(claimer.Instance, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := h.leave("slow", queue.Running, claimer)
	began := time.Now()
	if p := h.Look(t.Context(), began, 3); p.Next.IsZero() || time.Until(p.Next) > treeLook {
		t.Errorf("the next look is at %s", p.Next)
	}
	if s := h.get(id).State; s != string(queue.Running) {
		t.Fatalf("it is %s", s)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	h.Look(t.Context(), began.Add(time.Hour), 3)
	if s := h.get(id).State; s != string(queue.Failed) {
		t.Errorf("it is %s after the end of its handler", s)
	}
}

// TestReclaimStaleRunningHandoffsFlipsOnlyRunningRows is the contract of that name in Hermes's test of its handoff
// watcher: only what is running changes, here of those only what nobody delivers any more.
func TestReclaimStaleRunningHandoffsFlipsOnlyRunningRows(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	dead := h.leave("dead", queue.Running, h.deadMe())
	others := map[string]string{}
	for _, id := range []string{
		h.leave("queued", queue.Pending, ident.Ident{}), h.leave("done", queue.Completed, h.deadMe()),
		h.leave("failed", queue.Failed, h.deadMe()), h.leave("held", queue.Running, h.me()),
	} {
		others[id] = h.raw(id)
	}
	p := h.Look(t.Context(), time.Now(), 3)
	if one := h.get(dead); one.State != string(queue.Failed) || one.End.Reason != string(queue.ReasonClaimerDied) {
		t.Errorf("the dead one is %s with %+v", one.State, one.End)
	}
	for id, before := range others {
		if after := h.raw(id); after != before || before == "" {
			t.Errorf("%s was changed from\n%s\nto\n%s", id, before, after)
		}
	}
	if got := h.starts(p); got != "queued " {
		t.Errorf("due are %q", got)
	}
	if len(p.Watch) != 1 || p.Watch[0].Claim.Claimer.PID != os.Getpid() {
		t.Errorf("watched are %+v", p.Watch)
	}
}

func TestDeskBeginsTheOldestAndPassesOverWhatIsHeld(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	now := time.Now()
	for i, session := range []string{"zeta", "held", "alpha", "mid", "beta"} {
		one := &fsstate.Handoff{
			ID: fsstate.NewHandoffID(session, "any", "", now.Add(time.Duration(i)*time.Second)), Session: session, Platform: "any",
			State: string(queue.Pending), Verified: session != "held",
		}
		if session == "alpha" {
			one.Platform = "unknown"
		}
		if err := h.Queue.Files.Put(one); err != nil {
			t.Fatal(err)
		}
	}
	p := h.Look(t.Context(), now, 2)
	if got := h.starts(p); got != "zeta mid " {
		t.Errorf("due are %q", got)
	}
	for _, s := range p.Start {
		h.Started(s.ID)
	}
	if got := h.starts(h.Look(t.Context(), now, 2)); got != "" {
		t.Errorf("at the limit, due are %q", got)
	}
	if got := h.starts(h.Look(t.Context(), now, 4)); got != "beta " {
		t.Errorf("with a higher limit, due are %q", got)
	}
}

// TestDeskSeesAChangeThatHasTheTimeOfTheOneBefore is of a claim within the same tick of the file system's clock.
func TestDeskSeesAChangeThatHasTheTimeOfTheOneBefore(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	id := h.leave("quick", queue.Pending, ident.Ident{})
	h.Look(t.Context(), time.Now(), 1)
	at, err := h.Queue.Files.Stamp(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Queue.Claim(t.Context(), id, fsstate.Claim{Claimer: h.me()}, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Queue.Files.Heartbeat(id, at); err != nil {
		t.Fatal(err)
	}
	if p := h.Look(t.Context(), time.Now().Add(time.Hour), 1); len(p.Watch) != 1 || len(p.Start) != 0 {
		t.Errorf("it is taken for one that waits: %+v", p)
	}
}

// TestDeskWithAnOldCopyDoesNotCountWhatHasEnded: between two looks at a folder of many, the ended ones make room.
func TestDeskWithAnOldCopyDoesNotCountWhatHasEnded(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	claimer := h.deadMe()
	held := h.leave("first", queue.Running, h.me())
	for i := range 3 {
		h.leave(fmt.Sprint("s", i), queue.Pending, ident.Ident{})
	}
	now := time.Now()
	if got := h.starts(h.Look(t.Context(), now, 1)); got != "" {
		t.Fatalf("at the limit, due are %q", got)
	}
	if _, err := h.Queue.Complete(t.Context(), held, h.get(held).Claim.Claimer.Instance); err != nil {
		t.Fatal(err)
	}
	h.entries[held].claim.Claimer = claimer // and its keeper has ended
	h.took = time.Hour                      // so the copy stays as it is
	p := h.Look(t.Context(), now, 1)
	if got := h.starts(p); got != "s0 " {
		t.Errorf("due are %q", got)
	}
	if p.Next.IsZero() {
		t.Error("the folder is not looked at again")
	}
}

// TestDeskBeginsNothingByAnOldCopyWhenItTakesOver is of a dispatcher that waits for the lease while another one works.
func TestDeskBeginsNothingByAnOldCopyWhenItTakesOver(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	ids := []string{h.leave("a", queue.Pending, ident.Ident{}), h.leave("b", queue.Pending, ident.Ident{}), h.leave("c", queue.Pending, ident.Ident{})}
	release, held, err := h.Queue.Files.Store.TryLease(leaseName)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	now := time.Now()
	if p := h.Look(t.Context(), now, 2); len(p.Start) > 0 {
		t.Fatalf("beside another dispatcher: %+v", p)
	}
	h.took = time.Hour // as if that look had been a long one
	for _, id := range ids[:2] {
		if _, err := h.Queue.Claim(t.Context(), id, fsstate.Claim{Claimer: h.me()}, nil); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if got := h.starts(h.Look(t.Context(), now, 2)); got != "" {
		t.Errorf("two run, and due are %q", got)
	}
}

func TestDeskLooksAgainWhenAKeeperWasRefused(t *testing.T) {
	t.Parallel()
	h := newDeskHome(t)
	id := h.leave("a", queue.Pending, ident.Ident{})
	h.leave("b", queue.Pending, ident.Ident{})
	now := time.Now()
	if got := h.starts(h.Look(t.Context(), now, 1)); got != "a " {
		t.Fatalf("due are %q", got)
	}
	h.Started(id)
	h.took = time.Hour
	if _, err := h.Queue.Claim(t.Context(), id, fsstate.Claim{Claimer: h.me()}, nil); err != nil { // by somebody else
		t.Fatal(err)
	}
	h.Ended(id, true, now)
	if got := h.starts(h.Look(t.Context(), now, 1)); got != "" {
		t.Errorf("one runs, and due are %q", got)
	}
}

package fsstate

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"
)

// handoffTransitions are the durable changes of handoffs. What is in handed/ has ended, so a state that Get gives is one
// of both folders.
var handoffTransitions = []transition{
	{
		name:  "request a handoff",
		steps: []func(w *world) error{requested},
		seen:  handoffSeen("-", "pending 0"),
	},
	{
		name:    "claim a handoff",
		prepare: requested,
		steps:   []func(w *world) error{claimed(1)},
		seen:    handoffSeen("pending 0", "running 1"),
	},
	{
		name: "complete a handoff", quiet: true,
		prepare: after(requested, claimed(1)),
		steps:   []func(w *world) error{settledAs("completed", 1)},
		seen:    handoffSeen("running 1", "completed 1"),
	},
	{
		name: "cancel a handoff that waits", quiet: true,
		prepare: requested,
		steps:   []func(w *world) error{settledAs("failed", 0)},
		seen:    handoffSeen("pending 0", "failed 0"),
	},
	{
		name: "complete a handoff, which only the dispatcher finds", quiet: true, repeated: true,
		prepare: after(requested, claimed(1)),
		steps:   []func(w *world) error{settledOrTidied},
		seen:    handoffSeen("running 1", "completed 1"),
	},
	{
		name: "retry a handoff", repeated: true, // who finds it failed again retries it again
		prepare: after(requested, claimed(1), settledAs("failed", 1)),
		steps:   []func(w *world) error{retried},
		seen:    handoffSeen("failed 1", "pending 1"),
	},
	{
		name: "retry a handoff, then claim it", spare: 1,
		prepare: after(requested, claimed(1), settledAs("failed", 1)),
		steps:   []func(w *world) error{retried, claimed(2)},
		seen:    handoffSeen("failed 1", "pending 1", "running 2"),
	},
	{
		name: "fail a handoff, then drop it", quiet: true,
		prepare: after(requested, claimed(1)),
		steps:   []func(w *world) error{settledUnlessGone, dropped},
		seen:    handoffSeen("running 1", "failed 1", "-"),
	},
	{
		name: "a whole handoff with one retry", long: true, quiet: true, spare: 1,
		steps: []func(w *world) error{
			requested, claimed(1), settledAs("failed", 1), retried, claimed(2), settledAs("completed", 2),
		},
		seen: handoffSeen("-", "pending 0", "running 1", "failed 1", "pending 1", "running 2", "completed 2"),
	},
}

// settledUnlessGone: a sweep that tries again after a death may find nothing.
func settledUnlessGone(w *world) error {
	if got, err := handoffState(w); err != nil || got == "-" {
		return err
	}
	return settledAs("failed", 1)(w)
}

// What the model has to find: the handoff files with one rule left out each.

// examined is one of the transitions with other steps; what is found must contain the words.
func examined(t *testing.T, name string, tr trouble, want string, steps ...func(w *world) error) {
	t.Helper()
	e := newExam(t, transitionNamed(t, name), nil)
	e.steps = steps
	found(t, e, func() error {
		if tr.name == powerLoss.name {
			return e.cut()
		}
		return e.fault(tr)
	}, want)
}

func TestTheModelFindsAnOpenRecordThatGoesBeforeItsEnd(t *testing.T) {
	t.Parallel()
	examined(t, "complete a handoff", powerLoss, neitherOldNorNew, func(w *world) error {
		if err := w.store.Remove(Handoffs, handoffID+".json"); err != nil {
			return err
		}
		return w.handoffs().write(Handed, handoffOf("completed", 1))
	})
}

func TestTheModelFindsAnEndThatGoesBeforeItIsOpenAgain(t *testing.T) {
	t.Parallel()
	examined(t, "retry a handoff", powerLoss, neitherOldNorNew, func(w *world) error {
		h, err := w.handoffs().Get(handoffID)
		if err != nil {
			return err
		}
		if err := w.store.Remove(Handed, handoffID+".json"); err != nil {
			return err
		}
		h.State = "pending"
		return w.handoffs().Put(h)
	})
}

func TestTheModelFindsAnOpenRecordThatComesBackAfterTheDrop(t *testing.T) {
	t.Parallel()
	examined(t, "fail a handoff, then drop it", powerLoss, lostAcknowledged, settledUnlessGone, func(w *world) error {
		return w.store.Remove(Handed, handoffID+".json")
	})
}

// The keeper was killed between the rename and the sync of handed/; the dispatcher saw the end and removed the open
// record: a power loss took both.
func TestAHandoffIsNotLostBetweenAnEndThatIsNotDurableAndItsTidying(t *testing.T) {
	t.Parallel()
	lives(t, "complete a handoff, which only the dispatcher finds", killed)
	examined(t, "complete a handoff, which only the dispatcher finds", killed, neitherOldNorNew, func(w *world) error {
		got, err := handoffState(w)
		if err == nil && got == "completed 1" {
			return w.store.Discard(Handoffs, handoffID+".json")
		}
		return errors.Join(err, w.handoffs().Settle(handoffOf("completed", 1)))
	})
}

// The first try was told of an error after the rename; the second found it done, and said so at once.
func TestARequestOrEndThatIsFoundDoneIsDurable(t *testing.T) {
	t.Parallel()
	unconfirmed := func(done string, act func(w *world) error) func(w *world) error {
		return func(w *world) error {
			if got, err := handoffState(w); err != nil || got == done {
				return err
			}
			return act(w)
		}
	}
	for _, tr := range []trouble{killed, {name: "EIO", err: syscall.EIO}} {
		lives(t, "request a handoff", tr)
		lives(t, "complete a handoff", tr)
		examined(t, "request a handoff", tr, lostAcknowledged, unconfirmed("pending 0", requested))
		examined(t, "complete a handoff", tr, lostAcknowledged, unconfirmed("completed 1", settledAs("completed", 1)))
	}
}

// Whoever retried it was killed before the removal of its end was durable. It was claimed and delivered, and the old
// failure came back, which says that nothing was delivered.
func TestTheOldFailureOfARetriedHandoffDoesNotComeBackUnderItsClaim(t *testing.T) {
	t.Parallel()
	lives(t, "retry a handoff, then claim it", killed)
	examined(t, "retry a handoff, then claim it", killed, lostAcknowledged, retried, func(w *world) error {
		return w.handoffs().write(Handoffs, handoffOf("running", 2))
	})
}

// A dispatcher that saw the end before the retry, and tidies after it, must not remove what is open again.
func TestTidyingRemovesNothingThatHasNoEnd(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w := &world{store: s}
	if err := after(requested, claimed(1), settledAs("failed", 1), retried)(w); err != nil {
		t.Fatal(err)
	}
	if err := w.handoffs().Tidy(handoffID); err != nil {
		t.Fatal(err)
	}
	if got, err := handoffState(w); got != "pending 1" || err != nil {
		t.Errorf("the retried handoff is %s, %v", got, err)
	}
	if err := s.Write(Handed, handoffID+".json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.handoffs().Tidy(handoffID); err != nil {
		t.Fatal(err)
	}
	if ids, err := w.handoffs().Open(); len(ids) != 0 || err != nil {
		t.Errorf("what has an end stays open: %v, %v", ids, err)
	}
}

// An ordinary write costs one sync of a file and one of a folder, and nobody waits for the open record to be gone.
func TestAHandoffCostsOneSyncOfEachKindAStep(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var ops []string
	s.disk = hookDisk{s.disk, func(op, _ string) error {
		if op == "sync" || op == "sync folder" {
			ops = append(ops, op)
		}
		return nil
	}}
	w := &world{store: s}
	for i, step := range []func(w *world) error{requested, claimed(1), settledAs("completed", 1)} {
		ops = nil
		if err := step(w); err != nil || !slices.Equal(ops, []string{"sync", "sync folder"}) {
			t.Errorf("step %d: %q, %v", i+1, ops, err)
		}
	}
}

// What Drop leaves is nothing, also where a power loss has brought the open record back.
func TestADroppedHandoffIsGoneFromBothFolders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w := &world{store: s}
	if err := after(requested, claimed(1), settledAs("completed", 1))(w); err != nil {
		t.Fatal(err)
	}
	if err := w.handoffs().Put(handoffOf("running", 1)); err != nil {
		t.Fatal(err)
	}
	if got, err := handoffState(w); got != "completed 1" || err != nil {
		t.Errorf("beside its old open record it is %s, %v", got, err)
	}
	if at, err := w.handoffs().EndedAt(handoffID); err != nil || time.Since(at) > time.Minute {
		t.Errorf("ended at %v, %v", at, err)
	}
	for range 2 { // the second is no error
		if err := dropped(w); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := handoffState(w); got != "-" || err != nil {
		t.Errorf("after the drop it is %s, %v", got, err)
	}
}

// Nothing has changed for anybody before the end is gone, and then the open record is there.
func TestARetriedHandoffIsDurablyOpenBeforeItsEndGoes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w := &world{store: s}
	if err := after(requested, claimed(1), settledAs("failed", 1))(w); err != nil {
		t.Fatal(err)
	}
	var ops []string
	s.disk = hookDisk{s.disk, func(op, name string) error {
		if op == "rename" {
			name = "…"
		}
		if op == "rename" || op == "sync folder" || op == "remove" {
			ops = append(ops, op+" "+name)
			if got, err := handoffState(w); got != "failed 1" && len(ops) < 4 || err != nil {
				t.Errorf("before %q it is %s, %v", ops, got, err)
			}
		}
		return nil
	}}
	if err := retried(w); err != nil {
		t.Fatal(err)
	}
	want := []string{"rename …", "sync folder handoffs", "remove handed/" + handoffID + ".json", "sync folder handed"}
	if !slices.Equal(ops, want) {
		t.Errorf("%q, want %q", ops, want)
	}
}

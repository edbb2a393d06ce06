package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

func TestInterruptedTurnsGoOnTheOldestFirstAndNotAllAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MaxConcurrent = 2
	want := w.backlog("zeta", "alpha", "mid", "beta", "last")
	w.run()
	for i, session := range want {
		started := min(i+w.MaxConcurrent, len(want))
		w.within(soon, fmt.Sprintf("%d have been started", started), func() bool { return len(w.kept("start")) >= started })
		if n := len(w.alive()); n > w.MaxConcurrent { // also those that have not noted it yet
			t.Errorf("%d run at once", n)
		}
		w.release(session, "conclude")
		w.until(session+" has ended", func() bool { return slices.Contains(w.kept("end"), session) })
	}
	// Of two that are started in one look, either may be the first to note it.
	got := w.kept("start")
	slices.Sort(got[:w.MaxConcurrent])
	slices.Sort(want[:w.MaxConcurrent])
	if !slices.Equal(got, want) {
		t.Errorf("started were %q, not %q", got, want)
	}
}

func TestInterruptedTurnsAreStartedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Stagger = 200 * time.Millisecond
	want := w.backlog("zeta", "alpha", "mid", "beta")
	w.run()
	w.within(soon, "all have been started", func() bool { return len(w.kept("start")) == len(want) })
	notes := w.keeperNotes()
	slices.SortStableFunc(notes, func(a, b keeperNote) int { return a.at.Compare(b.at) })
	last := time.Time{}
	for i, n := range notes {
		if n.session != want[i] || n.at.Sub(last) < w.Stagger-2*tick {
			t.Errorf("start %d is that of %s, %s after the one before", i, n.session, n.at.Sub(last))
		}
		last = n.at
	}
}

// backlog leaves interrupted turns, the oldest first.
func (w *world) backlog(sessions ...string) []string {
	w.t.Helper()
	began := time.Now().UTC().Add(-time.Minute)
	for i, session := range slices.Backward(sessions) { // what is written last is no younger
		w.interrupted(session, func(t *fsstate.Turn) { t.StartedAt = began.Add(time.Duration(i) * time.Second) })
	}
	return sessions
}

func TestATurnThatIsNotToGoOnIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := func(t *fsstate.Turn) { t.StartedAt = t.StartedAt.Add(-time.Minute) }
	left := map[string]string{}
	for session, change := range map[string]func(*fsstate.Turn){
		"unnamed":    func(t *fsstate.Turn) { t.Agent = "stranger" },
		"used-up":    func(t *fsstate.Turn) { t.Agent, t.Attempts = "stranger", 99 }, // a keeper would only retire it
		"no-agent":   func(t *fsstate.Turn) { t.Agent = "" },
		"hosted":     func(t *fsstate.Turn) { t.Source = "cron" },
		"being-kept": func(t *fsstate.Turn) { t.Keeper, _ = ident.Self("") },
		"stopping":   func(t *fsstate.Turn) { t.Phase = fsstate.PhaseStopping },
	} {
		w.interrupted(session, old, change)
		left[session] = w.text(w.store.Path(fsstate.Turns, session+".json"))
	}
	w.leave([]byte("another key"), "forged", old)
	left["forged"] = w.text(w.store.Path(fsstate.Turns, "forged.json"))
	w.interrupted("young")
	w.run()
	w.within(soon, "the youngest goes on", func() bool { return slices.Contains(w.kept("start"), "young") })
	if got := w.kept("start"); len(got) != 1 { // they would have been first
		t.Errorf("started were %q", got)
	}
	for session, before := range left {
		if after := w.text(w.store.Path(fsstate.Turns, session+".json")); after != before || before == "" {
			t.Errorf("%s was changed from\n%s\nto\n%s", session, before, after)
		}
	}
}

func TestATurnThatAppearsIsContinuedSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.interrupted("late")
	w.within(soon, "it goes on", func() bool { return slices.Contains(w.kept("start"), "late") })
}

func TestATurnThatStaysAsItIsWaitsForTheNextRescan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Rescan = 2 * time.Second
	w.interrupted("stuck")
	w.release("stuck", "") // its keeper ends at once, and does nothing
	w.another()
	w.until("its keeper has ended", func() bool { return len(w.kept("end")) == 1 })
	w.interrupted("other") // wakes the supervisor
	w.until("another one goes on", func() bool { return slices.Contains(w.kept("start"), "other") })
	w.until("it is tried again", func() bool { return w.tries("stuck") > 1 })
	var first time.Time
	for _, n := range w.keeperNotes() {
		switch {
		case n.session != "stuck" || n.word != "start":
		case first.IsZero():
			first = n.at
		default:
			if waited := n.at.Sub(first); waited < w.Rescan-2*tick-slack {
				t.Errorf("it was tried again after %s", waited)
			}
			return
		}
	}
}

// slack is what may lie between the moment from which the supervisor counts and the fork.
const slack = time.Second / 2

func TestAnOrderedStopEndsTheKeepersThatRunStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.interrupted("ours")
	persons, before := w.keeps("persons", ""), w.keeps("before", turn.ByRun)
	w.run()
	w.until("ours has been started", func() bool { return slices.Contains(w.kept("start"), "ours") })
	w.orders <- OrderStop
	w.until("both are told to end", func() bool { return len(w.kept("term")) == 2 })
	select {
	case <-w.over:
		t.Error("it did not wait for its keepers")
	default:
	}
	for _, session := range []string{"before", "ours"} {
		w.release(session, "conclude")
		w.until(session+" has ended", func() bool { return slices.Contains(w.kept("end"), session) })
	}
	w.await("the supervisor has ended", w.over)
	for _, n := range w.keeperNotes() {
		if n.word == "end" && w.ended.Before(n.at) {
			t.Errorf("it ended %s before the keeper of %s", n.at.Sub(w.ended), n.session)
		}
	}
	select {
	case <-persons.Done():
		t.Errorf("a person's keeper was ended: %v", persons.Exit())
	default:
	}
	w.release("persons", "")
	w.await("a person's keeper ends by itself", persons.Done())
	w.await("the earlier one has ended", before.Done())
	told := slices.Sorted(slices.Values(w.kept("term")))
	if want := []string{"before", "ours"}; !slices.Equal(told, want) {
		t.Errorf("SIGTERM went to %q, not to %q", told, want)
	}
}

func TestTheTurnOfAKeeperThatIsKilledGoesOnSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	persons := w.keeps("persons", "")
	w.run()
	w.until("it is kept", func() bool { return slices.Equal(w.kept("start"), []string{"persons"}) })
	if err := persons.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.within(soon, "it goes on", func() bool { return w.tries("persons") == 2 })
	if n := len(w.kept("term")); n != 0 {
		t.Errorf("SIGTERM was sent %d times", n)
	}
}

// interrupted leaves an open turn whose keeper and owner are dead, and whose agent is configured.
func (w *world) interrupted(session string, changes ...func(*fsstate.Turn)) {
	w.t.Helper()
	w.leave(w.Key, session, changes...)
}

// leave does so with a key.
func (w *world) leave(key []byte, session string, changes ...func(*fsstate.Turn)) {
	w.t.Helper()
	dead, err := ident.Self(ident.NewInstance())
	if err != nil {
		w.t.Fatal(err)
	}
	dead.Start-- // this pid, another process
	owner := dead
	owner.Instance = ident.NewInstance()
	t := &fsstate.Turn{
		Session: session, Phase: fsstate.PhaseRunning, Prompt: "go on", Agent: known, AutoContinue: true,
		StartedAt: time.Now().UTC(), Keeper: dead, Owner: owner, Verified: true,
	}
	for _, change := range changes {
		change(t)
	}
	if err := (fsstate.TurnFiles{Store: w.store, Key: key}).Put(t); err != nil {
		w.t.Fatal(err)
	}
}

// keeps starts a keeper beside the supervisor, with a turn that is its own.
func (w *world) keeps(session, by string) *process.Child {
	w.t.Helper()
	child, err := host.Start(process.Spec{Argv: w.keeper(w.Home, session), Stderr: os.Stderr})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = child.Signal(syscall.SIGKILL); <-child.Done() })
	id, err := ident.Of(child.PID(), ident.NewInstance())
	if err != nil {
		w.t.Fatal(err)
	}
	w.interrupted(session, func(t *fsstate.Turn) { t.Keeper, t.ContinuedBy = id, by })
	w.until(session+" is kept", func() bool { return slices.Contains(w.kept("start"), session) })
	return child
}

// release lets a keeper end, and its turn as well where the word is "conclude".
func (w *world) release(session, word string) {
	w.t.Helper()
	file := filepath.Join(w.Dir, "end-"+session)
	if err := os.WriteFile(file+".new", []byte(word), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		w.t.Fatal(err)
	}
}

// keeperNote is one line of what the keepers note.
type keeperNote struct {
	word, session string
	at            time.Time
}

func (w *world) keeperNotes() (notes []keeperNote) {
	for line := range strings.Lines(w.text(keeperLog(w.Dir))) {
		var n keeperNote
		var at int64
		if _, err := fmt.Sscan(line, &n.word, &n.session, &at); err == nil {
			n.at = time.Unix(0, at)
			notes = append(notes, n)
		}
	}
	return notes
}

// kept are the sessions of which a keeper has noted a word, in that order.
func (w *world) kept(word string) (sessions []string) {
	for _, n := range w.keeperNotes() {
		if n.word == word {
			sessions = append(sessions, n.session)
		}
	}
	return sessions
}

// tries counts the keepers of a session.
func (w *world) tries(session string) (n int) {
	for _, one := range w.kept("start") {
		if one == session {
			n++
		}
	}
	return n
}

package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// flip is true in most draws: a turn is continued only where some fifteen
// facts agree, and an even coin would hardly ever get there.
func flip(t *rapid.T, name string, usual bool) bool {
	if rapid.IntRange(0, 9).Draw(t, name) == 0 {
		return !usual
	}
	return usual
}

func drawLife(t *rapid.T, name string) Life {
	return rapid.SampledFrom([]Life{LifeDead, LifeDead, LifeDead, LifeDead, LifeDead, LifeDead, LifeAlive, LifeUnknown, -1, 3}).Draw(t, name)
}

func drawTime(t *rapid.T, name string) time.Time {
	if flip(t, name+" given", true) {
		return noon.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Minute)).Draw(t, name)))
	}
	return rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0), noon}).Draw(t, name+" odd")
}

func drawFacts(t *rapid.T) Facts {
	return Facts{
		Now: noon,
		Settings: Settings{
			Enabled:     flip(t, "enabled", true),
			Freshness:   time.Duration(rapid.Int64Range(-1, int64(2*time.Hour)).Draw(t, "window")),
			MaxAttempts: rapid.IntRange(-1, 5).Draw(t, "max attempts"),
		},
		By:            By(rapid.IntRange(-1, 2).Draw(t, "by")),
		Paused:        flip(t, "paused", false),
		PausedUntil:   rapid.SampledFrom([]time.Time{{}, {}, {}, noon.Add(-1), noon, noon.Add(1)}).Draw(t, "paused until"),
		Store:         rapid.SampledFrom([]string{StoreOwn, StoreHermes, ""}).Draw(t, "store"),
		Phase:         rapid.SampledFrom([]string{PhaseRunning, PhaseRunning, PhaseRunning, PhaseIntended, PhaseIntended, PhaseStopping, PhaseConcluded, "", "odd"}).Draw(t, "phase"),
		Source:        rapid.SampledFrom([]string{"", "cli", "telegram", "cron", "bot_room"}).Draw(t, "source"),
		AutoContinue:  flip(t, "auto continue", true),
		Attempts:      rapid.IntRange(-2, 4).Draw(t, "attempts"),
		Reported:      flip(t, "reported", false),
		Unattended:    rapid.Bool().Draw(t, "unattended"),
		Verified:      flip(t, "verified", true),
		AgentKnown:    flip(t, "agent known", true),
		LastProof:     drawTime(t, "last proof"),
		Drained:       rapid.Bool().Draw(t, "drained"),
		OtherBoot:     rapid.Bool().Draw(t, "other boot"),
		BootedAt:      drawTime(t, "booted at"),
		Keeper:        drawLife(t, "keeper"),
		Owner:         drawLife(t, "owner"),
		OwnerWhy:      rapid.SampledFrom([]string{"", "witness is held"}).Draw(t, "owner why"),
		LeaseHeld:     flip(t, "lease held", false),
		LeaseOwner:    drawLife(t, "lease owner"),
		NewerPrompt:   flip(t, "newer prompt", false),
		StopRequested: flip(t, "stop requested", false),
		RetryAt:       rapid.SampledFrom([]time.Time{{}, noon.Add(-1), noon, noon.Add(1), noon.Add(time.Hour)}).Draw(t, "retry at"),
		EndUnobserved: rapid.Bool().Draw(t, "end unobserved"),
	}
}

func known(r Reason) bool {
	_, ok := r.wording()
	return ok
}

func TestDecideAndExplainAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		before := f
		want := Decide(f)
		checks, got := Explain(f)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Decide and Explain differ (-Decide +Explain):\n%s", diff)
		}
		if diff := cmp.Diff(before, f); diff != "" {
			t.Fatalf("the facts were changed:\n%s", diff)
		}
		decided := -1
		for i, c := range checks {
			if c.Rule == "" || c.Fact == "" {
				t.Fatalf("rule %d has no words: %+v", i, c)
			}
			if c.Decided && decided >= 0 {
				t.Fatalf("rules %d and %d both decided", decided, i)
			}
			if c.Decided {
				decided = i
			}
			if decided < 0 && !c.Holds {
				t.Fatalf("rule %q does not hold and did not decide", c.Rule)
			}
		}
		if decided < 0 || checks[decided].Holds != (got.Action == Continue) {
			t.Fatalf("%v was decided by rule %d of %+v", got.Action, decided, checks)
		}
		if !known(got.Reason) {
			t.Fatalf("reason %q is none", got.Reason)
		}
	})
}

// What must hold whatever the facts are.
func TestDecideNeverContinuesBesideWhatMayLive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		d := Decide(f)
		runs := d.Action == Continue || d.Action == Wait
		retires := d.Action == End
		person := f.By == Person
		for _, broken := range []struct {
			name string
			is   bool
		}{
			{"owner may live", f.Owner != LifeDead && (runs || retires)},
			{"keeper may live", f.Keeper != LifeDead && (runs || retires)},
			{"lease may be held", f.LeaseHeld && f.LeaseOwner != LifeDead && (runs || retires)},
			{"a future proof", Proof(f).After(f.Now) && (runs || retires)},
			{"no proof", Proof(f).IsZero() && (runs || retires)},
			{"a stop was asked for", (f.StopRequested || f.Phase == PhaseStopping) && (runs || retires)},
			{"the end is on disk", f.Phase == PhaseConcluded && d.Action != Conclude},
			{"a newer prompt", f.NewerPrompt && (runs || retires)},
			{"paused", f.Paused && f.PausedUntil.IsZero() && (runs || retires)},
			{"unverified", f.Store == StoreOwn && !f.Verified && (runs || retires)},
			{"switched off", !f.Settings.Enabled && !person && (runs || retires)},
			{"no consent", !f.AutoContinue && !person && (runs || retires)},
			{"attempts beyond the limit", runs && d.Attempt > f.Settings.MaxAttempts},
			{"an attempt that is not the next", runs && d.Attempt != max(f.Attempts, 0)+1},
			{"an attempt where nothing runs", !runs && d.Attempt != 0},
			{"a wait for what is over", d.Action == Wait && !d.At.After(f.Now)},
			{"continued inside the back-off", d.Action == Continue && f.RetryAt.After(f.Now)},
			{"concluded without an end", d.Action == Conclude && f.Phase != PhaseConcluded && f.Phase != PhaseStopping && !f.StopRequested},
		} {
			if broken.is {
				t.Fatalf("%s: %+v for %+v", broken.name, d, f)
			}
		}
	})
}

// A person is never held back by more than nobody is.
func TestDecideGivesAPersonAtLeastWhatRunGets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.By = Auto
		auto := Decide(f)
		f.By = Person
		if person := Decide(f); auto.Action != Keep && person != auto {
			t.Fatalf("run gets %+v, a person %+v", auto, person)
		}
	})
}

// Without this the invariants above could hold because nothing is ever drawn
// that reaches them.
func TestDrawnFactsReachEveryDecision(t *testing.T) {
	t.Parallel()
	seen := map[Reason]bool{}
	example := rapid.Custom(drawFacts)
	for seed := range 4_000 {
		seen[Decide(example.Example(seed)).Reason] = true
	}
	for _, r := range Reasons()[:indexOf(ReasonEndUnobserved)+1] {
		if !seen[r] {
			t.Errorf("no draw was decided by %q", r)
		}
	}
}

func indexOf(want Reason) int {
	for i, r := range Reasons() {
		if r == want {
			return i
		}
	}
	return -1
}

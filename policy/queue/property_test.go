package queue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hermes-supervisor/policy"
)

// queued is one handoff of a session: what its record says, and what is true of its delivery.
type queued struct {
	state   State
	claim   int // the last one; 0: none yet
	claimer policy.Life
	asked   bool // its end
	asTurn  bool
	ended   []State // how it has ended before
}

// session is the handoffs of one, and what people and programs do to them.
type session struct {
	all     []*queued
	claims  int
	turn    bool
	claimed map[int]*queued // every claim that ever won
	did     map[string]int
}

func (s *session) open() (open []*queued) {
	for _, q := range s.all {
		if q.state.Open() {
			open = append(open, q)
		}
	}
	return open
}

// request is a new one, admitted or not.
func (s *session) request(t *rapid.T) {
	f := RequestFacts{
		Known: rapid.IntRange(0, 3).Draw(t, "known") > 0, OtherOpen: len(s.open()) > 0, TurnOpen: s.turn,
		AfterTurn: rapid.Bool().Draw(t, "after turn"),
	}
	if got, _ := Admit(f); got == Record {
		s.all = append(s.all, &queued{state: Pending, asTurn: rapid.Bool().Draw(t, "as turn")})
		s.did["request"]++
	}
}

var lives = []policy.Life{policy.LifeAlive, policy.LifeAlive, policy.LifeDead, policy.LifeUnknown}

// usual is what mostly comes next: drawn blindly, few would ever be claimed.
var usual = map[State][]Event{
	Pending: {Claim}, Running: {Complete, Fail, Cancel, Reclaim}, Completed: {Complete, Retry}, Failed: {Retry, Retry, Fail},
}

// event does one thing to one handoff, and checks what must always hold.
func (s *session) event(t *rapid.T) {
	q := rapid.SampledFrom(s.all).Draw(t, "handoff")
	e := rapid.SampledFrom(Events()).Draw(t, "event")
	if rapid.Bool().Draw(t, "usual") {
		e = rapid.SampledFrom(usual[q.state]).Draw(t, "usual event")
	}
	by := rapid.SampledFrom([]int{q.claim, q.claim, q.claim - 1, 0, s.claims}).Draw(t, "claim")
	f := Facts{
		State: q.state, Verified: rapid.IntRange(0, 7).Draw(t, "verified") > 0, Claimer: q.claimer, SameClaim: by > 0 && by == q.claim,
		CancelAsked: q.asked, AsTurn: q.asTurn, Served: rapid.IntRange(0, 7).Draw(t, "served") > 0, TurnOpen: s.turn,
		OtherOpen: slices.ContainsFunc(s.open(), func(o *queued) bool { return o != q }),
	}
	before := q.state
	step := Next(f, e)
	if step.Reason == "" || !step.To.Known() {
		t.Fatalf("%s of %+v: %+v", e, f, step)
	}
	if problem := unfounded(f, e, step); problem != "" {
		t.Fatalf("%s of %+v: %s: %s", e, f, step, problem)
	}
	if step.Refused {
		s.did["refused "+string(step.Reason)]++
		return
	}
	q.state, q.asked = step.To, q.asked && e != Claim && e != Retry || step.Reason == ReasonCancelAsked
	if before != step.To {
		s.did[fmt.Sprintf("%s to %s", before, step.To)]++
		if !step.To.Open() {
			q.ended = append(q.ended, step.To)
		}
	}
	if before == Pending && step.To == Running {
		s.claims++
		q.claim, q.claimer = s.claims, policy.LifeAlive
		s.claimed[q.claim] = q
	}
}

// unfounded says what a step has done without a reason to.
func unfounded(f Facts, e Event, s Step) string {
	dead := f.Claimer == policy.LifeDead
	may := f.SameClaim && (e == Complete || e == Fail) || dead && (e == Cancel || e == Reclaim)
	switch left := f.State != s.To; {
	case s.Refused && left:
		return "refused, and changed"
	case f.State == Completed && left:
		return "what was delivered did not stay so"
	case f.State == Running && left && !may:
		return "taken from a claimer that may live"
	case left && s.To == Running && (f.State != Pending || e != Claim || !f.Verified || !f.Served || f.TurnOpen):
		return "begun without leave"
	case left && s.To == Completed && (e != Complete || !f.SameClaim):
		return "delivered by nobody"
	case left && s.To == Pending && f.State == Failed && (e != Retry || f.OtherOpen || !f.Verified):
		return "opened beside another, or by nobody who may"
	case left && s.To == Pending && f.State == Running && (!f.AsTurn || f.CancelAsked):
		return "a delivery that is no turn would begin again"
	}
	return ""
}

// drawLives kills claimers, and hides and shows them; who is dead stays so.
func (s *session) drawLives(t *rapid.T) {
	for _, q := range s.all {
		if q.state == Running && q.claimer != policy.LifeDead {
			q.claimer = rapid.SampledFrom(lives).Draw(t, "life")
		}
	}
}

func wander(t *rapid.T, steps int) *session {
	s := &session{claimed: map[int]*queued{}, did: map[string]int{}}
	for range steps {
		s.drawLives(t)
		s.turn = rapid.IntRange(0, 3).Draw(t, "turn") == 0
		if len(s.all) == 0 || rapid.IntRange(0, 5).Draw(t, "request") == 0 {
			s.request(t)
		} else {
			s.event(t)
		}
		if open := s.open(); len(open) > 1 {
			t.Fatalf("%d handoffs of one session are open", len(open))
		}
		for i, q := range s.all {
			if at := slices.Index(q.ended, Completed); at >= 0 && (at != len(q.ended)-1 || q.state != Completed) {
				t.Fatalf("handoff %d was delivered and is %s after %s", i, q.state, q.ended)
			}
			if s.claimed[q.claim] != q && q.claim > 0 {
				t.Fatalf("claim %d has two handoffs", q.claim)
			}
		}
	}
	return s
}

func TestASessionIsHandedOverByOneAtATime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { wander(t, rapid.IntRange(1, 60).Draw(t, "steps")) })
}

// A property that is never put to the test proves nothing.
func TestTheRandomSessionsTryEverything(t *testing.T) {
	t.Parallel()
	did := map[string]int{}
	sessions := rapid.Custom(func(t *rapid.T) *session { return wander(t, 40) })
	for seed := range 500 {
		for what, n := range sessions.Example(seed).did {
			did[what] += n
		}
	}
	for _, what := range []string{
		"request", "pending to running", "pending to failed", "running to completed", "running to failed", "running to pending",
		"failed to pending", "refused running", "refused finished", "refused not-claimed", "refused other-claim",
		"refused claimer-unknown", "refused turn-open", "refused not-served", "refused unverified", "refused open", "refused delivered",
	} {
		if did[what] < 20 {
			t.Errorf("%q happened %d times", what, did[what])
		}
		delete(did, what)
	}
	if len(did) > 0 {
		t.Errorf("and unexpectedly %v", did)
	}
}

func TestDueFillsTheLimitsAndNeverExceedsThem(t *testing.T) {
	t.Parallel()
	platforms := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOfN(rapid.SampledFrom(platforms), 0, 30).Draw(t, "waiting")
		running := rapid.MapOf(rapid.SampledFrom(append([]string{"elsewhere"}, platforms...)), rapid.IntRange(0, 4)).Draw(t, "running")
		l := Limits{
			Home:     rapid.IntRange(0, 10).Draw(t, "home"),
			Platform: rapid.MapOf(rapid.SampledFrom(platforms), rapid.IntRange(0, 4)).Draw(t, "platform"),
		}
		holds := rapid.SliceOfN(rapid.Bool(), len(waiting), len(waiting)).Draw(t, "held")
		due := Due(waiting, running, l, func(i int) bool { return holds[i] })

		at, all := map[string]int{}, 0
		for platform, n := range running {
			at[platform] = n
			all += n
		}
		before := all
		chosen := map[int]bool{}
		for n, i := range due {
			if i < 0 || i >= len(waiting) || holds[i] || n > 0 && i <= due[n-1] {
				t.Fatalf("%v: out of order, twice, held, or not waiting", due)
			}
			chosen[i] = true
			at[waiting[i]]++
			all++
			if limit := l.Platform[waiting[i]]; limit > 0 && at[waiting[i]] > limit {
				t.Fatalf("%v: %d at platform %s", due, at[waiting[i]], waiting[i])
			}
		}
		if len(due) > 0 && all > max(l.Home, before) {
			t.Fatalf("%v: %d run at home", due, all)
		}
		for i, platform := range waiting {
			limit := l.Platform[platform]
			if !chosen[i] && !holds[i] && all < l.Home && (limit <= 0 || at[platform] < limit) {
				t.Fatalf("%v: %d is left out, and nothing holds it back", due, i)
			}
			// An older one of the same platform is never passed over for a younger one.
			for j := range i {
				if chosen[i] && !chosen[j] && !holds[j] && waiting[j] == platform {
					t.Fatalf("%v: %d comes before %d", due, i, j)
				}
			}
		}
	})
}

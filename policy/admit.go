package policy

import "time"

// AdmitFacts are everything that the admission of a `turn run` may depend on.
type AdmitFacts struct {
	Now      time.Time
	Settings Settings

	Exists bool   // the session has a record; without one only StopRequested, HasPrompt and a life known to be ALIVE count
	Phase  string // of the record
	Keeper Life   // of the record, another process than the one that asks
	Owner  Life   // of the record, witness and tag scan included

	HasPrompt  bool // the command gives a prompt
	SamePrompt bool // and it is the record's
	HasID      bool // the command gives an id
	SameID     bool // and it is the record's

	Verified bool // the record's seal holds, whoever gave the prompt

	ReceiptPending bool // the end is on disk, its receipt is not
	ReceiptRunning bool // somebody runs that receipt now

	// Turn are the facts of the record for Decide. Now, Settings, Phase, Keeper
	// and Owner above replace those in it, and By is always Person.
	Turn          Facts
	StopRequested bool // a stop request came before this keeper (in either place)
}

// Admission is what a `turn run` does.
type Admission int

// The zero value runs nothing and changes nothing. Those that start something
// are Start, ContinueTurn, Replace, FinishThenStart, GiveUpThenStart and
// RetireThenStart.
const (
	Refuse          Admission = iota // nothing is written: exit 75
	Start                            // no turn is open: begin the prompt
	ContinueTurn                     // go on with the dead turn, waiting out a back-off
	Replace                          // the dead turn to ended/, then begin the prompt
	Finish                           // the end is on disk: receipt, then the recorded code; runs nothing
	FinishThenStart                  // receipt of the concluded turn, then begin the prompt
	GiveUp                           // the dead turn to ended/: exit 76
	GiveUpThenStart                  // the stale turn to ended/, then begin the person's own prompt
	Nothing                          // no turn and no prompt: usage
	Stopped                          // a stop request came first, nothing may start, a record stays for its conclusion: exit 130
	Retire                           // the stopped turn is gone: conclude it as interrupted
	RetireThenStart                  // the same, then begin the prompt
)

var admissionTexts = [...]string{
	Refuse: "refuse", Start: "start", ContinueTurn: "continue", Replace: "replace",
	Finish: "finish", FinishThenStart: "finish-then-start", GiveUp: "give-up", GiveUpThenStart: "give-up-then-start",
	Nothing: "nothing", Stopped: "stopped", Retire: "retire", RetireThenStart: "retire-then-start",
}

// String returns the admission in lower case with hyphens, e.g. "give-up".
func (a Admission) String() string {
	if a < 0 || int(a) >= len(admissionTexts) {
		return "unknown"
	}
	return admissionTexts[a]
}

// Starts reports whether an agent runs after this admission.
func (a Admission) Starts() bool {
	switch a {
	case Start, ContinueTurn, Replace, FinishThenStart, GiveUpThenStart, RetireThenStart:
		return true
	case Refuse, Finish, GiveUp, Nothing, Stopped, Retire:
		return false
	default:
		return false
	}
}

// Admit decides what a `turn run` does about the turn that it finds. Whatever
// may live is looked at first; a stop request lets nothing start.
func Admit(a AdmitFacts) (Admission, Reason) {
	admission, reason := admit(&a)
	if admission.Starts() && a.stopAsked() {
		return Stopped, ReasonStopRequested
	}
	return admission, reason
}

func admit(a *AdmitFacts) (Admission, Reason) {
	if reason, lives := a.occupied(); lives {
		return Refuse, reason
	}
	if !a.Exists {
		if a.HasPrompt {
			return Start, ReasonOwnPrompt
		}
		return Nothing, ReasonNoPrompt
	}
	if a.ReceiptRunning {
		return Refuse, ReasonReceiptRunning
	}
	switch a.Phase {
	case PhaseConcluded:
		return admitConcluded(a)
	case PhaseStopping:
		return admitStopping(a)
	case PhaseIntended, PhaseRunning:
		return admitDead(a)
	default:
		return Refuse, ReasonPhaseUnknown
	}
}

// occupied: a stopped keeper can wake up, and a descendant of the agent can
// still write, so only two proven deaths free a session that has a record.
// Without one nobody was asked, and only what was seen to live counts.
func (a *AdmitFacts) occupied() (Reason, bool) {
	for _, p := range []struct {
		life           Life
		alive, unknown Reason
	}{
		{a.Keeper, ReasonKeeperAlive, ReasonKeeperUnknown},
		{a.Owner, ReasonOwnerAlive, ReasonOwnerUnknown},
	} {
		if !a.Exists && p.life != LifeAlive {
			continue
		}
		if d, speaks := speakLife(p.life, p.alive, p.unknown); speaks {
			return d.Reason, true
		}
	}
	return "", false
}

// otherID: the command names another request than the record.
func (a *AdmitFacts) otherID() bool { return a.HasID && !a.SameID }

// otherRequest: an id that is the record's settles it, whatever the prompt.
func (a *AdmitFacts) otherRequest() bool {
	return a.otherID() || (a.HasPrompt && !a.SamePrompt && !a.SameID)
}

// admitConcluded never starts work again whose end is on disk.
func admitConcluded(a *AdmitFacts) (Admission, Reason) {
	if !a.Verified {
		return Refuse, ReasonUnverified // an end that anyone may have written must not make a prompt vanish
	}
	reason := ReasonConcluded
	if a.ReceiptPending {
		reason = ReasonReceiptPending
	}
	switch {
	case !a.otherRequest():
		return Finish, reason
	case a.HasPrompt:
		return FinishThenStart, reason
	default:
		return Nothing, ReasonNoPrompt
	}
}

// admitStopping: with an id, the request that was interrupted stays
// interrupted, as it would had its keeper lived long enough to say so.
func admitStopping(a *AdmitFacts) (Admission, Reason) {
	if a.HasPrompt && !a.SameID {
		return RetireThenStart, ReasonInterrupted
	}
	return Retire, ReasonInterrupted
}

// admitDead: the turn was cut and nothing of it lives.
func admitDead(a *AdmitFacts) (Admission, Reason) {
	if a.stopAsked() {
		return Stopped, ReasonStopRequested
	}
	if a.otherRequest() {
		if !a.HasPrompt {
			return Nothing, ReasonNoPrompt
		}
		return Replace, ReasonOtherPrompt
	}
	d := Decide(a.turn())
	switch d.Action {
	case Continue, Wait:
		return ContinueTurn, d.Reason
	case End:
		// Too old to go on unasked, but this person asks. What was tried too
		// often is not tried again on the same words.
		if d.Reason == ReasonStale && a.HasPrompt {
			return GiveUpThenStart, d.Reason
		}
		return GiveUp, d.Reason
	default:
		return Refuse, d.Reason
	}
}

func (a *AdmitFacts) stopAsked() bool { return a.StopRequested || a.Turn.StopRequested }

// turn is the dead turn as Decide sees it. One fact must not be given twice
// with two answers, so those of the admission win.
func (a *AdmitFacts) turn() Facts {
	f := a.Turn
	f.Now, f.Settings, f.By = a.Now, a.Settings, Person
	f.Phase, f.Keeper, f.Owner = a.Phase, a.Keeper, a.Owner
	return f
}

package policy

import (
	"slices"
	"time"
)

// Life is what is known about another process. Only LifeDead permits a
// continuation; a value outside the three counts as LifeUnknown.
type Life int

// The three answers. The zero value is the one that permits nothing.
const (
	LifeUnknown Life = iota // nobody can tell: acts as alive
	LifeAlive               // the process, or a descendant of it, lives (a stopped one too)
	LifeDead                // proven gone
)

// String returns "unknown", "alive" or "dead".
func (l Life) String() string {
	switch l {
	case LifeAlive:
		return "alive"
	case LifeDead:
		return "dead"
	default:
		return "unknown"
	}
}

// By is who asks for the continuation.
type By int

// Auto is bound by the switches that a person sets; Person is that person.
const (
	Auto   By = iota // the keeper or run, with nobody watching
	Person           // turn run given again, or turn resume
)

// The phases of a marker, in order of life.
const (
	PhaseIntended  = "intended"  // the launch is on disk, the process may not be
	PhaseRunning   = "running"   // pid and start are recorded
	PhaseStopping  = "stopping"  // somebody asked for the interrupt, the tree may still live
	PhaseConcluded = "concluded" // the end is on disk, receipt or removal may be outstanding
)

// The two stores that a marker can come from.
const (
	StoreOwn    = "own"    // supervisor/turns: records carry an HMAC
	StoreHermes = "hermes" // desktop/interrupted_turns.json: has none
)

// hosted are the sources whose own driver brings a turn back: continuing it
// here too would run it twice (Hermes's own test: hosted room marker is left
// to the driver; NousResearch/hermes-agent#88440 for cron).
var hosted = []string{"bot_room", "cron", "kanban", "subagent", "tool"}

// Settings are what a person may tune. They come from hermes.toml and flags.
type Settings struct {
	Enabled     bool          // false: nothing is continued without a person
	Freshness   time.Duration // oldest proof of life that is still continued; 0 or less: nothing is fresh
	MaxAttempts int           // continuations of one prompt; 0 or less: none
	Backoff     time.Duration // wait before the second continuation; 0 or less: none
	MaxBackoff  time.Duration // ceiling of the doubling; below Backoff: no doubling
}

// Defaults returns Hermes's own settings: enabled, fresh for 15 minutes, two
// attempts; and our back-off from 5 seconds to 5 minutes.
func Defaults() Settings {
	return Settings{
		Enabled:     true,
		Freshness:   15 * time.Minute,
		MaxAttempts: 2,
		Backoff:     5 * time.Second,
		MaxBackoff:  5 * time.Minute,
	}
}

// Facts are everything that a decision about one marker may depend on.
type Facts struct {
	Now      time.Time // the time of the decision; zero: no age can be told, nothing continues
	Settings Settings
	By       By

	Paused      bool      // the home is paused, for persons too
	PausedUntil time.Time // end of the pause; zero with Paused: until unpaused; set, it counts without Paused

	Store        string // StoreOwn or StoreHermes; anything else is treated as StoreOwn
	Phase        string // PhaseIntended and so on; may be empty for StoreHermes, whose markers have none
	Agent        string // the agent's name; empty: a command line of its own
	Source       string // who drives the session; empty: a person
	AutoContinue bool   // the marker's own consent
	Attempts     int    // continuations charged so far; below 0 counts as 0
	Reported     bool   // reported by hooks, not run by a keeper
	Unattended   bool   // reported turns of this agent may be continued without a person
	Verified     bool   // the record's HMAC holds (StoreOwn)
	AgentKnown   bool   // configuration names the agent

	LastProof time.Time // last proof of life: owner seen alive, heartbeat, observed death; zero: none
	Drained   bool      // an ordered shutdown left the turn behind
	OtherBoot bool      // the record was made before the last boot
	BootedAt  time.Time // when this boot began, by the wall clock of Now

	Keeper     Life   // a keeper other than the one that asks; LifeDead where there never was one
	Owner      Life   // the process doing the turn, witness and tag scan included
	OwnerWhy   string // how that is known, one phrase for people
	LeaseHeld  bool   // Hermes's runtime/active_sessions.json names this session
	LeaseOwner Life   // the process that holds the lease; ignored unless LeaseHeld

	NewerPrompt   bool      // a person's newer prompt is waiting
	StopRequested bool      // somebody asked for a stop of this session before this decision
	RetryAt       time.Time // end of the back-off or rate limit in force; zero: none
	Cause         Reason    // why the last run ended, where its keeper saw it
	Stalled       bool      // its keeper is ending the run, which showed no sign of life
	EndUnobserved bool      // nobody saw how the last run ended
}

// now is the wall clock: the times it meets were written by other processes,
// and a monotonic reading of ours would outvote a clock that was set since.
func (f *Facts) now() time.Time { return f.Now.Round(0) }

// phase is the marker's phase. Hermes's markers are written for the length of
// the run and know no other one.
func (f *Facts) phase() string {
	if f.Phase == "" && f.Store == StoreHermes {
		return PhaseRunning
	}
	return f.Phase
}

// attempts counts what was charged. A record that says less than nothing must
// not buy extra runs.
func (f *Facts) attempts() int { return max(f.Attempts, 0) }

// retryAt is the end of the wait in force. One that is longer after the last
// proof of life than any that is ever ordered ends where that would.
func (f *Facts) retryAt() time.Time {
	if latest := f.LastProof.Add(LongestWait(f.Settings)); !f.LastProof.IsZero() && f.RetryAt.After(latest) {
		return latest
	}
	return f.RetryAt
}

// paused: a pause with an end is over when the end has come, whoever forgot to
// take the flag away.
func (f *Facts) paused() bool {
	if f.PausedUntil.IsZero() {
		return f.Paused
	}
	return f.now().Before(f.PausedUntil)
}

// stopAsked: the phase is the durable half of an interrupt, the request the
// half that may be on disk before any keeper has read it (Hermes's own
// test: interrupt racing the marker write; NousResearch/hermes-agent#72231).
func (f *Facts) stopAsked() bool { return f.StopRequested || f.phase() == PhaseStopping }

func (f *Facts) hosted() bool { return slices.Contains(hosted, f.Source) }

// person: anything but a person is bound by the switches.
func (f *Facts) person() bool { return f.By == Person }

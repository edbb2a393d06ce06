package follow

import (
	"maps"
	"slices"
	"sync"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
)

// Outcomes of a turn.
const (
	Concluded   = "concluded"   // the agent came to an end, with success or an error of its own
	Interrupted = "interrupted" // somebody asked for the end
	GaveUp      = "gave-up"     // moved to ended/: exhausted, stale, …
	Cleared     = "cleared"
	Superseded  = "superseded" // by another prompt
	Refused     = "refused"    // by its agent, before it began
)

// other stands for a word that this version does not know: whoever can write the journal must not make labels.
const other = "other"

// Tally is what has been counted of one home since it is followed.
type Tally struct {
	Turns         map[string]map[string]uint64 `json:"turns,omitempty"` // that have ended, by outcome and reason
	Continuations uint64                       `json:"continuations,omitempty"`
	Recovery      Histogram                    `json:"recovery"`
	Restarts      map[string]uint64            `json:"restarts,omitempty"` // automatic ones, by service
	Handoffs      map[string]map[string]uint64 `json:"handoffs,omitempty"` // changes, by the state after it and reason
	LockWaits     uint64                       `json:"lock_waits,omitempty"`
	LockMillis    uint64                       `json:"lock_ms,omitempty"`
	Skipped       uint64                       `json:"skipped,omitempty"` // lines that are no events
}

// count adds one event. Of services only those that are known are counted.
func (t *Tally) count(e fsstate.Event, known func(service string) bool) {
	if e.LockMillis > 0 {
		t.LockWaits++
		t.LockMillis += uint64(min(e.LockMillis, maxMillis))
	}
	switch e.Kind {
	case "service":
		if e.To == phase.Starting.String() && e.Reason == string(phase.ReasonRestarted) && known(e.Service) {
			if t.Restarts == nil {
				t.Restarts = map[string]uint64{}
			}
			t.Restarts[e.Service]++
		}
	case "handoff":
		if e.From == e.To { // somebody has asked for its end
			return
		}
		add(&t.Handoffs, word(e.To, handoffStates), word(e.Reason, words().handoff))
	case kindLaunched:
		if continuation(e) {
			t.Continuations++
			t.Recovery.observe(min(e.Millis, maxMillis))
		}
	default:
		if outcome := outcomeOf(e); outcome != "" {
			add(&t.Turns, outcome, word(e.Reason, words().turn))
		}
	}
}

// maxMillis keeps forged events from overflowing a sum: a month.
const maxMillis = 31 * 24 * 3600 * 1000

const kindLaunched = "launched"

// continuation tells whether an event is the start of one. The same attempt once more, in a fresh session, is none.
func continuation(e fsstate.Event) bool {
	return e.Kind == kindLaunched && e.Attempt > 0 && e.Millis > 0 && e.Session != ""
}

// outcomeOf is the outcome of the turn that an event ends; "" where it ends none.
func outcomeOf(e fsstate.Event) string {
	if e.Session == "" {
		return ""
	}
	switch e.Kind {
	case "removed":
		switch policy.Reason(e.Reason) {
		case policy.ReasonInterrupted, policy.ReasonStopRequested, policy.ReasonInterruptSignal:
			return Interrupted
		default:
			return Concluded
		}
	case "interrupted":
		return Interrupted
	case "cleared":
		return Cleared
	case "superseded":
		return Superseded
	case "refused":
		return Refused
	case "ended":
		switch policy.Reason(e.Reason) {
		case policy.ReasonCleared:
			return Cleared
		case policy.ReasonOtherPrompt, policy.ReasonNewerPrompt:
			return Superseded
		default:
			return GaveUp
		}
	}
	return ""
}

func add(to *map[string]map[string]uint64, first, second string) {
	if *to == nil {
		*to = map[string]map[string]uint64{}
	}
	if (*to)[first] == nil {
		(*to)[first] = map[string]uint64{}
	}
	(*to)[first][second]++
}

// The closed lists that labels come from.
var (
	outcomes      = []string{Concluded, Interrupted, GaveUp, Cleared, Superseded, Refused}
	turnPhases    = []string{fsstate.PhaseIntended, fsstate.PhaseRunning, fsstate.PhaseStopping, fsstate.PhaseConcluded}
	handoffStates = []string{string(queue.Pending), string(queue.Running), string(queue.Completed), string(queue.Failed)}
)

type reasons struct{ turn, handoff []string }

// words are those of policy; made when they are first needed, since every start of the program would pay for them.
var words = sync.OnceValue(func() reasons {
	return reasons{turn: texts(policy.Reasons()), handoff: texts(queue.Reasons())}
})

func texts[T ~string](from []T) []string {
	to := make([]string, len(from))
	for i, r := range from {
		to[i] = string(r)
	}
	return to
}

func word(text string, known []string) string {
	if slices.Contains(known, text) {
		return text
	}
	return other
}

// servicePhases are those of a service, in their order.
func servicePhases() []string {
	all := make([]string, 0, phase.Parked+1)
	for p := phase.Stopped; p <= phase.Parked; p++ {
		all = append(all, p.String())
	}
	return all
}

// tidy takes out of a tally that was read what no version of ours counts.
func (t *Tally) tidy() {
	t.Turns = tidied(t.Turns, outcomes, words().turn)
	t.Handoffs = tidied(t.Handoffs, handoffStates, words().handoff)
	maps.DeleteFunc(t.Restarts, func(service string, _ uint64) bool { return !fsstate.PlainName(service) })
	if len(t.Restarts) > maxServices {
		t.Restarts = nil
	}
	t.Recovery.tidy()
}

// maxServices bounds what is remembered of the services of one home.
const maxServices = 10_000

func tidied(all map[string]map[string]uint64, first, second []string) map[string]map[string]uint64 {
	to := map[string]map[string]uint64{}
	for a, below := range all {
		for b, n := range below {
			a, b := word(a, first), word(b, second)
			if to[a] == nil {
				to[a] = map[string]uint64{}
			}
			to[a][b] += n
		}
	}
	return to
}

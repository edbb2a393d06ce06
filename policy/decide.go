package policy

import "time"

// Action is what is to be done about a marker.
type Action int

// The zero value leaves everything as it is.
const (
	Keep     Action = iota // leave the marker alone and say nothing
	Wait                   // until Decision.At, then decide again
	Continue               // charge Decision.Attempt on disk, then run the agent with the note
	End                    // move the marker to ended/ and report it
	Conclude               // the end is on disk or was asked for: finish receipt and removal under their lock, run nothing
)

// String returns "keep", "wait", "continue", "end" or "conclude".
func (a Action) String() string {
	switch a {
	case Keep:
		return "keep"
	case Wait:
		return "wait"
	case Continue:
		return "continue"
	case End:
		return "end"
	case Conclude:
		return "conclude"
	default:
		return "unknown"
	}
}

// MarshalText returns the text of String.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Decision is what to do and why.
type Decision struct {
	Action  Action
	Reason  Reason
	Attempt int       // number of the continuation, for Wait and Continue; else 0
	At      time.Time // when time alone changes the answer (Wait, a pause with an end, a proof from the future); else zero
}

// Check is one rule of a decision, for people.
type Check struct {
	Rule    string // what has to hold, e.g. "attempts are left"
	Fact    string // how it is, in words, e.g. "attempts 1 of 2"
	Holds   bool   // the rule does not stand in the way of a continuation
	Decided bool   // the rule that made the decision: the first that does not hold, or else the last
}

// Decide applies the rules in their order; the first that speaks decides.
func Decide(f Facts) Decision {
	for i := range rules {
		if d, speaks := rules[i].speak(&f); speaks {
			return d
		}
	}
	return Decision{}
}

// Explain returns every rule with its fact, those behind the deciding one too,
// and what Decide returns for the same facts.
func Explain(f Facts) ([]Check, Decision) {
	var decision Decision
	decided := false
	checks := make([]Check, len(rules))
	for i := range rules {
		d, speaks := rules[i].speak(&f)
		decides := speaks && !decided
		checks[i] = Check{
			Rule:    rules[i].name,
			Fact:    rules[i].fact(&f),
			Holds:   !speaks || (decides && d.Action == Continue),
			Decided: decides,
		}
		if decides {
			decision, decided = d, true
		}
	}
	return checks, decision
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

// waitingJSON is what an open turn waits for by an order of its keeper's, in the JSON of turns.
type waitingJSON struct {
	Reason  policy.Reason `json:"reason"`
	Text    string        `json:"text"`
	Cause   policy.Reason `json:"cause,omitempty"` // why the last run ended
	Attempt int           `json:"attempt"`         // number of the continuation that follows
	NextTry time.Time     `json:"next_try,omitzero"`
	HeldBy  policy.Reason `json:"held_by,omitempty"` // what would keep that try from being made, if it stands then as it does now
}

func waitingJSONOf(w *policy.Waiting) *waitingJSON {
	if w == nil {
		return nil
	}
	return &waitingJSON{Reason: w.Reason, Text: w.Reason.Text(), Cause: w.Cause, Attempt: w.Attempt, NextTry: w.At, HeldBy: w.Held}
}

// waitingText says in a few words what a turn waits for, and until when.
func waitingText(w policy.Waiting, now time.Time) string {
	text := string(w.Reason)
	if w.Cause != "" && w.Cause != w.Reason {
		text += " after " + string(w.Cause)
	}
	if w.Reason == policy.ReasonStalled { // whether an attempt is left its keeper alone knows
		text += fmt.Sprintf(": it is being ended, then attempt %d if one is left", w.Attempt)
	} else {
		text += fmt.Sprintf(": attempt %d in %s", w.Attempt, span(w.At.Sub(now)))
	}
	if w.Held != "" {
		text += fmt.Sprintf(", unless it is held back still: %s", w.Held)
	}
	return text
}

// standsAs is a turn's phase in the short tables, or the word for what it waits for.
func standsAs(v turn.View) string {
	if v.Waiting != nil {
		return string(v.Waiting.Reason)
	}
	return v.Turn.Phase
}

// whyTurn is why a turn stands as it does, in one line.
func whyTurn(v turn.View, now time.Time) string {
	if v.Waiting != nil {
		return waitingText(*v.Waiting, now)
	}
	switch d := v.Decision; {
	case d.Reason == policy.ReasonKeeperAlive:
		return "at work"
	case !d.At.IsZero():
		return fmt.Sprintf("%s: until %s", d.Reason, d.At.Local().Format(time.DateTime))
	default:
		return d.Reason.Text()
	}
}

// givenUp is a turn that somebody may want back, in the JSON of status.
type givenUp struct {
	Session string        `json:"session"`
	Profile string        `json:"profile,omitempty"`
	Home    string        `json:"home"`
	Reason  policy.Reason `json:"reason"`
	At      time.Time     `json:"at"`
}

// addGivenUp adds the turns of a home that were given up, unless their session has another one open.
func (s *overview) addGivenUp(r *turn.Room, open []turn.View) {
	given, bad := r.GivenUp()
	s.bad = append(s.bad, bad...)
	home := r.Store.Home()
	for _, t := range given {
		if slices.ContainsFunc(open, func(v turn.View) bool { return v.Turn.Session == t.Session }) {
			continue
		}
		s.gaveUp = append(s.gaveUp, givenUp{t.Session, home.Profile, home.Path, policy.Reason(t.Ended.Reason), t.Ended.At})
	}
}

// maxNamed is how many of them a line names.
const maxNamed = 5

// givenUpLine names them, and the command that brings one back; "" where there are none.
func givenUpLine(all []givenUp) string {
	if len(all) == 0 {
		return ""
	}
	names := make([]string, 0, maxNamed)
	for _, g := range all[:min(len(all), maxNamed)] {
		name := label(g.Session)
		if g.Profile != "" {
			name += " in profile " + g.Profile
		}
		names = append(names, name)
	}
	if n := len(all) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("given up: %s; see `hermes-supervisor explain KEY`, and `hermes-supervisor turn resume KEY` to go on", strings.Join(names, ", "))
}

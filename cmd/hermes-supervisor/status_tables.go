package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

// down tells a service that should be up and is not, or that nobody keeps up.
func (s serviceJSON) down() bool {
	return s.Up && (s.Phase != phase.Running.String() || s.Supervisor == nil)
}

// name is a service as commands take it.
func (s serviceJSON) name() string {
	if s.Profile == "" {
		return s.Service
	}
	return s.Service + "@" + s.Profile
}

// why is how a service stands and what comes next, in one line.
func (s serviceJSON) why(now time.Time) string {
	last := ""
	if s.Last != nil {
		last = exitText(s.Last)
	}
	switch {
	case s.Phase == phase.Waiting.String() && s.Supervisor != nil && !s.NextStart.IsZero():
		text := fmt.Sprintf("restarts in %s (%s", span(s.NextStart.Sub(now)), s.Reason)
		if s.Recent != nil && s.Reason == phase.ReasonCrashLoop {
			text += fmt.Sprintf(": %d in %s", s.Recent.Starts, span(now.Sub(s.Recent.Since)))
		}
		if last != "" {
			text += "; " + last
		}
		return text + ")"
	case s.Failing != nil:
		return fmt.Sprintf("health check failed %d of %d times: %s", s.Failing.Checks, s.Failing.Of, s.Failing.Why)
	case s.Phase == phase.Parked.String() && last != "":
		return fmt.Sprintf("%s (%s)", last, s.Text)
	}
	return s.Text
}

// printOverview prints services, open turns and open handoffs, a table each.
func (a *app) printOverview(now overview) error {
	running := now.running
	for _, s := range now.services {
		running = running || s.Supervisor != nil
		if s.down() {
			a.code = exitFailed
		}
	}
	problems := make([]string, 0, len(now.bad))
	for _, err := range now.bad {
		a.code = exitState
		problems = append(problems, problem(err))
	}
	if a.json {
		return a.printJSON(map[string]any{
			"running": running, "services": orEmpty(now.services), "turns": now.turnsJSON(), "given_up": orEmpty(now.gaveUp), "open_handoffs": now.handoffsJSON(),
			"handoffs": now.counts, "errors": problems,
		})
	}
	for _, line := range problems {
		a.say("%s", line)
	}
	if !running && !now.closed {
		a.say("run is down; this is what the files show")
	}
	if line := givenUpLine(now.gaveUp); line != "" {
		a.say("%s", line)
	}
	if c := now.counts; c != (handoffCounts{}) {
		a.say("handoffs: %d pending, %d running, %d failed in the last day; see `hermes-supervisor handoff list --all`", c.Pending, c.Running, c.Failed)
	}
	return a.printTables(now, time.Now())
}

func (a *app) printTables(now overview, at time.Time) error {
	rows := make([][]any, 0, len(now.services))
	for _, s := range now.services {
		rows = append(rows, []any{s.Service, s.Profile, s.Phase, pidText(s.PID), s.Since, s.Restarts, s.why(at)})
	}
	if err := a.table([]string{"SERVICE", "PROFILE", "PHASE", "PID", "SINCE", "RESTARTS", "WHY"}, rows); err != nil {
		return err
	}
	person := process.IsTerminal(a.stdout)
	further := func(kind string, header []string, rows [][]any) error {
		if len(rows) == 0 {
			return nil
		}
		if person {
			fmt.Fprintln(a.stdout)
		} else {
			for i := range rows { // no service can have such a name
				rows[i] = append([]any{kind}, rows[i]...)
			}
		}
		return a.table(header, rows)
	}
	rows = nil
	for _, v := range now.turns {
		rows = append(rows, []any{v.Turn.Session, profileOf(v.Home), v.Turn.Agent, standsAs(v), v.Turn.Attempts, v.Turn.LastSeen, whyTurn(v, at)})
	}
	if err := further("turn:", []string{"TURN", "PROFILE", "AGENT", "STATE", "ATTEMPTS", "LAST SEEN", "WHY"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, v := range now.handoffs {
		rows = append(rows, []any{v.Session, v.Home.Profile, v.Platform, v.State, v.Tries, v.RequestedAt, whyOf(v)})
	}
	return further("handoff:", []string{"HANDOFF", "PROFILE", "PLATFORM", "STATE", "TRIES", "REQUESTED", "WHY"}, rows)
}

func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}

func (s overview) turnsJSON() []turnJSON {
	turns := make([]turnJSON, 0, len(s.turns))
	for _, v := range s.turns {
		turns = append(turns, jsonOf(v))
	}
	return turns
}

func (s overview) handoffsJSON() []handoffJSON {
	handoffs := make([]handoffJSON, 0, len(s.handoffs))
	for _, v := range s.handoffs {
		handoffs = append(handoffs, handoffJSONOf(v))
	}
	return handoffs
}

// seen is what an overview has to change in to be printed again: a heartbeat alone is no news.
func (s overview) seen() string {
	turns, handoffs := s.turnsJSON(), s.handoffsJSON()
	for i := range turns {
		turns[i].LastSeen, turns[i].Why = time.Time{}, ""
	}
	for i := range handoffs {
		handoffs[i].LastSeen = time.Time{}
	}
	text, _ := json.Marshal([]any{s.running, s.services, turns, s.gaveUp, handoffs, s.counts, fmt.Sprint(s.bad)}) // of texts, numbers and times only
	return string(text)
}

// lookEvery is how often what is watched is looked at.
const lookEvery = 500 * time.Millisecond

// watchLines prints how things stand again whenever that has changed, until ctx ends. What cannot be read from the first
// is an error; later it is said once, and looked at again: a file may be in the midst of being written.
func (a *app) watchLines(ctx context.Context) error {
	last, failed := "", ""
	for {
		now, err := a.look(true) //nolint:contextcheck // it waits for little, and not for long
		switch {
		case err != nil && last == "":
			return err
		case err != nil:
			if text := err.Error(); text != failed {
				failed = text
				a.report(err)
			}
		default:
			failed = ""
			if err := a.printChange(now, &last); err != nil {
				return err
			}
		}
		if err := process.Pause(ctx, lookEvery); err != nil {
			return nil //nolint:nilerr // the end of watching
		}
	}
}

// printChange prints how things stand if that has changed since last, which it sets.
func (a *app) printChange(now overview, last *string) error {
	seen := now.seen()
	if seen == *last {
		return nil
	}
	if *last != "" && !a.json {
		fmt.Fprintln(a.stdout)
	}
	*last = seen
	return a.printOverview(now)
}

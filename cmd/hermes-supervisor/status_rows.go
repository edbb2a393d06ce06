package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/watch"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// What a row of `status --watch` is kept by: its kind, its home and its name.
func (s serviceJSON) id() string      { return "service\x00" + s.Home + "\x00" + s.Service }
func turnID(v turn.View) string       { return "turn\x00" + v.Home + "\x00" + v.Turn.Session }
func handoffID(v handoff.View) string { return "handoff\x00" + v.Home.Path + "\x00" + v.ID }
func at(name, profile string) string  { return strings.TrimSuffix(name+"@"+profile, "@") }

// since is how long something has been so; the clock may have been set back since.
func since(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(now.Round(0).Sub(t))
}

func (o overview) serviceTable() watch.Table {
	t := watch.Table{
		Name:  "services",
		Empty: "No service is configured: [[service]] in hermes.toml, or run -- COMMAND, keeps one up.",
		Columns: []watch.Column{
			{Title: "SERVICE"},
			{Title: "PHASE", Tint: true},
			{Title: "PID", Rank: 4, Right: true},
			{Title: "SINCE", Rank: 3, Right: true},
			{Title: "RESTARTS", Rank: 5, Right: true},
			{Title: "WHY", Rank: 2, Rest: true},
		},
	}
	if o.closed {
		t.Empty = "" // nobody knows
	}
	for _, s := range o.services {
		t.Rows = append(t.Rows, watch.Row{
			ID: s.id(), Name: s.name(), Orders: true, Mood: s.mood(),
			Cells: func(now time.Time) []string {
				return []string{s.name(), s.Phase, pidText(s.PID), since(s.Since, now), strconv.FormatInt(s.Restarts, 10), s.why(now)}
			},
		})
	}
	return t
}

// mood is how a service's phase is to be taken.
func (s serviceJSON) mood() watch.Mood {
	switch {
	case s.Phase == phase.Parked.String(), s.Reason == phase.ReasonCrashLoop, s.Reason == phase.ReasonOwnerUnknown, s.Up && s.Supervisor == nil:
		return watch.Bad
	case s.Phase == phase.Running.String() && s.Failing == nil:
		return watch.Good
	case s.Phase == phase.Stopped.String() && !s.Up:
		return watch.Faint
	case s.Phase == phase.Stopped.String():
		return watch.Bad
	}
	return watch.Busy
}

// explain prints what there is to say of a service.
func (s serviceJSON) explain(to io.Writer, now time.Time) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("service", "%s", s.name())
	line("home", "%s", s.Home)
	wanted := "down"
	if s.Up {
		wanted = "up"
	}
	line("phase", "%s, wanted %s", s.Phase, wanted)
	why := s.why(now)
	line("why", "%s", why)
	if !strings.Contains(why, s.Text) {
		line("", "%s", s.Text)
	}
	if s.Remedy != "" {
		line("to change it", "%s", strings.ReplaceAll(s.Remedy, "NAME", s.name()))
	}
	line("process", "%s: pid %s", s.Alive, pidText(s.PID))
	if !s.Since.IsZero() {
		line("since", "%s (%s)", s.Since.Local().Format(time.DateTime), age(now.Sub(s.Since)))
	}
	line("restarts", "%d", s.Restarts)
	if s.Last != nil {
		line("last end", "%s (%s)", exitText(s.Last), age(now.Sub(s.Last.At)))
	}
	switch {
	case !s.Configured:
		line("configured", "no: hermes.toml does not name it")
	case s.Changed:
		line("configured", "otherwise than it was started: `apply` restarts it")
	}
	if s.Supervisor == nil {
		line("run", "is down")
	} else {
		line("run", "pid %d on %s", s.Supervisor.PID, s.Supervisor.Host)
	}
	_ = w.Flush() // to memory
}

func (o overview) turnTable() watch.Table {
	t := watch.Table{Name: "turns", Columns: []watch.Column{
		{Title: "TURN"},
		{Title: "AGENT", Rank: 4},
		{Title: "STATE", Tint: true},
		{Title: "ATTEMPTS", Rank: 5, Right: true},
		{Title: "SEEN", Rank: 3, Right: true},
		{Title: "WHY", Rank: 2, Rest: true},
	}}
	for _, v := range o.turns {
		name := at(printable(v.Turn.Session), profileOf(v.Home))
		t.Rows = append(t.Rows, watch.Row{
			ID: turnID(v), Name: name, Mood: turnMood(v),
			Cells: func(now time.Time) []string {
				return []string{name, printable(v.Turn.Agent), standsAs(v), strconv.Itoa(v.Turn.Attempts), since(v.Turn.LastSeen, now), whyTurn(v, now)}
			},
		})
	}
	return t
}

func turnMood(v turn.View) watch.Mood {
	switch {
	case v.Waiting != nil && v.Waiting.Reason == policy.ReasonStalled:
		return watch.Bad
	case v.Waiting != nil, v.Decision.Action == policy.Continue, v.Decision.Action == policy.Wait, v.Decision.Reason == policy.ReasonBeingStopped:
		return watch.Busy
	case v.Decision.Reason == policy.ReasonKeeperAlive, v.Owner.Verdict == ident.Alive:
		return watch.Good
	case v.Keeper.Verdict == ident.Unknown, v.Owner.Verdict == ident.Unknown:
		return watch.Bad
	}
	return watch.Plain
}

func (o overview) handoffTable() watch.Table {
	t := watch.Table{Name: "handoffs", Columns: []watch.Column{
		{Title: "HANDOFF"},
		{Title: "TO", Rank: 3},
		{Title: "STATE", Tint: true},
		{Title: "TRIES", Rank: 5, Right: true},
		{Title: "ASKED", Rank: 4, Right: true},
		{Title: "WHY", Rank: 2, Rest: true},
	}}
	for _, v := range o.handoffs {
		name, mood := at(printable(v.Session), v.Home.Profile), watch.Busy
		if v.State == string(queue.Running) {
			mood = watch.Good
		}
		t.Rows = append(t.Rows, watch.Row{
			ID: handoffID(v), Name: name, Mood: mood,
			Cells: func(now time.Time) []string {
				return []string{name, printable(v.Platform), v.State, strconv.Itoa(v.Tries), since(v.RequestedAt, now), whyOf(v)}
			},
		})
	}
	return t
}

// summary counts everything by how it stands, in one line.
func (o overview) summary() string {
	phases, states := make([]string, 0, len(o.services)), make([]string, 0, len(o.turns))
	for _, s := range o.services {
		phases = append(phases, s.Phase)
	}
	for _, v := range o.turns {
		states = append(states, standsAs(v))
	}
	text := counted("service", phases) + "   " + counted("open turn", states)
	var handoffs []string
	for _, c := range []struct {
		n    int
		word string
	}{{o.counts.Pending, "pending"}, {o.counts.Running, "running"}, {o.counts.Failed, "failed in the last day"}} {
		if c.n > 0 {
			handoffs = append(handoffs, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(handoffs) > 0 {
		text += "   handoffs: " + strings.Join(handoffs, ", ")
	}
	if n := len(o.bad); n > 0 {
		text = fmt.Sprintf("%s cannot be read (%s)   ", count(n, "file"), problem(o.bad[0])) + text
	}
	return text
}

// counted is how many things there are, and how many of each word.
func counted(thing string, words []string) string {
	slices.Sort(words)
	var parts []string
	for i := 0; i < len(words); {
		n := 1
		for i+n < len(words) && words[i+n] == words[i] {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, words[i]))
		i += n
	}
	if len(parts) == 0 {
		return count(0, thing)
	}
	return count(len(words), thing) + ": " + strings.Join(parts, ", ")
}

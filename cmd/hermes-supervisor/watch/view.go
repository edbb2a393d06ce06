package watch

import (
	"fmt"
	"slices"
	"strings"
)

const (
	gutter  = 2  // columns before a row, where the choice is marked
	between = 2  // columns between two columns
	roomy   = 12 // lines from which on there are a summary and empty lines
)

// View is the screen: exactly height lines of at most width columns, with their colours. Where it scrolled to is kept
// for the next one.
func (m *Model) View(width, height int) []string {
	width, height = max(width, 1), max(height, 1)
	lines := make([]string, 0, height)
	body := height
	if height >= 3 {
		lines = append(lines, m.head(width))
		body -= 2
		if height >= roomy && m.pane == nil {
			lines = append(lines, m.styled(cut(clean(m.state.Summary), width), Faint), "")
			body -= 2
		}
	}
	if m.pane != nil {
		lines = append(lines, m.paneView(width, body)...)
	} else {
		lines = append(lines, m.sections(width, body, height >= roomy)...)
	}
	foot := 0
	if height >= 3 {
		foot = 1
	}
	for len(lines) < height-foot {
		lines = append(lines, "")
	}
	if foot == 1 {
		lines = append(lines, m.foot(width))
	}
	return lines[:height]
}

// head is the first line: what is looked at, and how it is.
func (m *Model) head(width int) string {
	text, mood := m.state.Note, Good
	if m.state.Bad {
		mood = Bad
	}
	if m.fault != "" {
		text, mood = "not up to date", Bad
	}
	note := cut(clean(text), width)
	left := width - widthOf(note) - between
	if left < 12 {
		return m.styled(note, mood)
	}
	return m.bold(fit(clean(m.state.Title), left, false)) + strings.Repeat(" ", between) + m.styled(note, mood)
}

// hints are what the last line tells, the most useful first.
var hints = []string{"? keys", "q quit", "e explain", "r restart", "s stop", "S start", "l log", "j/k choose"}

// foot is the last line: a question, an answer, or the keys.
func (m *Model) foot(width int) string {
	switch {
	case m.ask != nil:
		return m.reversed(cut(clean(fmt.Sprintf("%s %s? y/n", m.ask.Order, m.ask.Row.Name)), width))
	case m.said != "":
		return m.styled(cut(clean(m.said), width), m.saidMood)
	case m.fault != "":
		return m.styled(cut(clean(m.fault), width), Bad)
	case m.pane != nil:
		return m.styled(cut("j/k scroll  any other key: back", width), Faint)
	}
	line := ""
	for _, hint := range hints {
		if line != "" {
			hint = "  " + hint
		}
		if widthOf(line)+widthOf(hint) > width {
			break
		}
		line += hint
	}
	return m.styled(line, Faint)
}

func (m *Model) paneView(width, height int) []string {
	if height < 2 {
		lines, _, _ := m.pane.view(width, height)
		return lines
	}
	lines, from, of := m.pane.view(width, height-1)
	title := clean(m.pane.title)
	if of > len(lines) {
		title += fmt.Sprintf("  %d-%d of %d", from+1, from+len(lines), of)
	}
	return append([]string{m.bold(cut(title, width))}, lines...)
}

// part is one section and the lines that it gets.
type part struct {
	table int // -1: the events
	want  int
	lines int
}

// parts divides the lines among the sections. Each begins with its title and two rows; where that is too much, events
// and then the last tables go, never the one with the choice. What is left goes to the tables, to the first of them more
// than to the others, and then to the events.
func (m *Model) parts(height int, gaps bool) []part {
	var all []part
	for t, table := range m.state.Tables {
		switch n := len(table.Rows); {
		case n > 0:
			all = append(all, part{table: t, want: n + 1})
		case table.Empty != "":
			all = append(all, part{table: t, want: 1})
		}
	}
	if n := len(m.state.Events); n > 0 {
		all = append(all, part{table: -1, want: n + 1})
	}
	gap := 0
	if gaps {
		gap = 1
	}
	var left int
	for {
		left = height + gap
		for i := range all {
			all[i].lines = min(all[i].want, 3)
			left -= all[i].lines + gap
		}
		if left >= 0 || len(all) <= 1 {
			break
		}
		all = m.dropLast(all)
	}
	if len(all) == 1 {
		all[0].lines = min(all[0].want, height)
		return all
	}
	events := len(all)
	if events > 0 && all[events-1].table < 0 {
		events--
	}
	left = share(all[:events], left)
	share(all[events:], left)
	return all
}

// share gives what is left of the lines to those that want more, and returns what nobody wants.
func share(all []part, left int) int {
	for given := true; given && left > 0; {
		given = false
		for i := range all {
			most := 1
			if i == 0 {
				most = 3
			}
			if n := min(most, all[i].want-all[i].lines, left); n > 0 {
				all[i].lines, left, given = all[i].lines+n, left-n, true
			}
		}
	}
	return left
}

func (m *Model) dropLast(all []part) []part {
	for i := range slices.Backward(all) {
		if m.chosen == "" || all[i].table != m.table {
			return append(all[:i:i], all[i+1:]...)
		}
	}
	return all[:1]
}

func (m *Model) sections(width, height int, gaps bool) (lines []string) {
	for i, p := range m.parts(height, gaps) {
		if i > 0 && gaps {
			lines = append(lines, "")
		}
		switch {
		case p.table < 0:
			lines = append(lines, m.events(width, p.lines)...)
		case len(m.state.Tables[p.table].Rows) == 0:
			lines = append(lines, m.styled(cut(clean(m.state.Tables[p.table].Empty), width), Faint))
		default:
			lines = append(lines, m.tableView(p.table, width, p.lines)...)
		}
	}
	return lines
}

// events are the last that fit.
func (m *Model) events(width, height int) []string {
	lines := []string{m.bold(cut("EVENTS", width))}
	shown := m.state.Events[len(m.state.Events)-max(min(height-1, len(m.state.Events)), 0):]
	for _, e := range shown {
		lines = append(lines, cut(strings.Repeat(" ", gutter)+clean(e), width))
	}
	return lines[:min(len(lines), height)]
}

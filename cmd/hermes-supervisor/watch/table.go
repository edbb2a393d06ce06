package watch

import (
	"fmt"
	"strings"
)

// tableView is one table in so many lines: its header and a window of its rows, in which the choice is.
func (m *Model) tableView(t, width, height int) []string {
	table := m.state.Tables[t]
	rows := max(height-1, 0)
	if height == 1 { // a row says more than a header
		rows = 1
	}
	top := m.top[table.Name]
	if t == m.table && m.chosen != "" {
		m.page = rows
		top = min(max(top, m.row-rows+1), m.row)
	}
	top = min(max(top, 0), max(len(table.Rows)-rows, 0))
	m.top[table.Name] = top
	shown := table.Rows[top:min(top+rows, len(table.Rows))]

	cells := make([][]string, len(table.Rows)) // all: columns must not jump where one scrolls
	for i, row := range table.Rows {
		cells[i] = row.Cells(m.now)
		for c := range cells[i] {
			cells[i][c] = clean(cells[i][c])
		}
	}
	widths := layOut(table.Columns, cells, width-gutter)
	var lines []string
	if height > 1 {
		header := m.header(table, widths)
		if len(shown) < len(table.Rows) {
			where := fmt.Sprintf("%d-%d of %d", top+1, top+len(shown), len(table.Rows))
			if room := width - widthOf(where) - between; room > widthOf(table.Columns[0].Title)+gutter {
				header = fit(prefix(header, room), room, false) + strings.Repeat(" ", between) + where
			}
		}
		lines = append(lines, m.bold(cut(header, width)))
	}
	for i, row := range shown {
		lines = append(lines, m.rowView(table.Columns, widths, row, cells[top+i], t == m.table && top+i == m.row && m.chosen != "", width))
	}
	return lines
}

func (m *Model) header(table Table, widths []int) string {
	titles := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		titles[i] = c.Title
	}
	var b strings.Builder
	m.cells(&b, table.Columns, widths, titles, Plain)
	return strings.TrimRight(strings.Repeat(" ", gutter)+b.String(), " ")
}

func (m *Model) rowView(columns []Column, widths []int, row Row, cells []string, chosen bool, width int) string {
	var b strings.Builder
	if chosen {
		b.WriteString("> ")
		m.cells(&b, columns, widths, cells, Plain)
		return m.reversed(fit(cut(b.String(), width), width, false))
	}
	if width <= gutter {
		return ""
	}
	b.WriteString(strings.Repeat(" ", gutter))
	m.cells(&b, columns, widths, cells, row.Mood)
	return strings.TrimRight(b.String(), " ")
}

// cells writes the columns that have a width.
func (m *Model) cells(b *strings.Builder, columns []Column, widths []int, cells []string, mood Mood) {
	first := true
	for i, c := range columns {
		if widths[i] == 0 || i >= len(cells) {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", between))
		}
		first = false
		text := fit(cells[i], widths[i], c.Right)
		if c.Tint {
			text = m.styled(text, mood)
		}
		b.WriteString(text)
	}
}

const (
	leastRest = 16 // columns of a Rest column, below which it would say nothing
	mostOther = 32 // of any other
)

// layOut gives each column its width; 0: it is left out. The first column gives way last.
func layOut(columns []Column, cells [][]string, width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		w := widthOf(c.Title)
		for _, row := range cells {
			if i < len(row) {
				w = max(w, widthOf(row[i]))
			}
		}
		if !c.Rest {
			w = min(w, mostOther)
		}
		widths[i] = w
	}
	need := func() (n int) {
		for i, w := range widths {
			if columns[i].Rest {
				w = min(w, leastRest)
			}
			if w > 0 {
				n += w + between
			}
		}
		return n - between
	}
	for need() > width {
		worst := -1
		for i, c := range columns {
			if widths[i] > 0 && c.Rank > 0 && (worst < 0 || c.Rank > columns[worst].Rank) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		widths[worst] = 0
	}
	left := width
	for i, w := range widths {
		if w > 0 && !columns[i].Rest {
			left -= w + between
		}
	}
	for i, c := range columns {
		if c.Rest && widths[i] > 0 {
			widths[i] = max(left, 0)
		}
	}
	if over := need() - width; over > 0 && len(widths) > 0 { // what stays is too wide
		widths[0] = max(widths[0]-over, min(widths[0], 4))
	}
	for over := need() - width; over > 0; over = need() - width {
		last := len(widths) - 1
		for last > 0 && widths[last] == 0 {
			last--
		}
		if last <= 0 {
			widths[0] = max(width, 0)
			break
		}
		widths[last] = max(widths[last]-over, 0)
	}
	return widths
}

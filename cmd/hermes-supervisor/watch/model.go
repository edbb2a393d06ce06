package watch

import (
	"time"
)

// Op is what Update asks of whoever runs the model.
type Op int

// The operations.
const (
	Nothing Op = iota
	Quit
	Suspend // give the terminal back until the shell's fg
	Redraw  // write everything anew
	Give    // the order Action.Order for Action.Row
	Explain // show why Action.Row stands as it does, by Show
	Log     // show the last output of Action.Row, by Show
)

// Action is what a key means.
type Action struct {
	Op    Op
	Order string // "start", "stop" or "restart"
	Row   Row
}

// Model is all that the screen depends on but its size.
type Model struct {
	Colour bool

	state State
	fault string // why the state is not that of now; "": it is
	now   time.Time

	chosen   string // ID of the chosen row; "": there are none
	table    int    // where it was last seen
	row      int
	top      map[string]int // first row that is shown, by table
	page     int            // rows that are shown of the chosen one's table
	ask      *Action        // an order that wants a yes
	pasted   bool           // what comes was pasted, and orders nothing
	said     string         // the answer to the last key
	saidMood Mood
	pane     *pane // over the tables; nil: none
}

// New is a model that shows nothing yet.
func New(colour bool) *Model { return &Model{Colour: colour, top: map[string]int{}} }

// Set shows another state; the selection stays on its row, wherever that is now, and where that is gone on the one in
// its place.
func (m *Model) Set(s State) {
	m.state, m.fault = s, ""
	for t := range s.Tables {
		for r := range s.Tables[t].Rows {
			if s.Tables[t].Rows[r].ID == m.chosen {
				m.table, m.row = t, r
				return
			}
		}
	}
	m.choose(m.table, m.row)
}

// Fail says why the state that is shown is an old one, until the next Set.
func (m *Model) Fail(why string) { m.fault = why }

// Tick sets the time that ages are told by.
func (m *Model) Tick(now time.Time) { m.now = now }

// Tell shows one line at the bottom, until the next key.
func (m *Model) Tell(text string, mood Mood) { m.said, m.saidMood = text, mood }

// Show opens a pane over the tables.
func (m *Model) Show(title string, lines []string) {
	m.pane = &pane{title: title, lines: lines}
	m.said = ""
}

// ShowEnd is Show for what is read from its end.
func (m *Model) ShowEnd(title string, lines []string) {
	m.Show(title, lines)
	m.pane.top = 1 << 30 // View finds the end
}

// choose selects a row, or the nearest one there is.
func (m *Model) choose(table, row int) {
	m.chosen, m.table, m.row = "", 0, 0
	tables := m.state.Tables
	if table >= len(tables) {
		table = len(tables) - 1
	}
	for _, t := range nearest(table, len(tables)) {
		if n := len(tables[t].Rows); n > 0 {
			row = min(max(row, 0), n-1)
			m.chosen, m.table, m.row = tables[t].Rows[row].ID, t, row
			return
		}
	}
}

// nearest are the numbers below n, those near to one first.
func nearest(to, n int) []int {
	order := make([]int, 0, n)
	for d := range n {
		if to-d >= 0 && to-d < n {
			order = append(order, to-d)
		}
		if d > 0 && to+d < n {
			order = append(order, to+d)
		}
	}
	return order
}

// selected is the chosen row, if there is one.
func (m *Model) selected() (Row, bool) {
	if m.chosen == "" {
		return Row{}, false
	}
	return m.state.Tables[m.table].Rows[m.row], true
}

// Update takes one key.
func (m *Model) Update(k Key) Action {
	switch k {
	case KeyCtrlC:
		return Action{Op: Quit}
	case KeyCtrlZ:
		return Action{Op: Suspend}
	case KeyCtrlL:
		return Action{Op: Redraw}
	case KeyPasteBegin:
		m.pasted = true
		m.Tell("what is pasted orders nothing", Faint)
		return Action{}
	case KeyPasteEnd:
		m.pasted = false
		return Action{}
	default:
	}
	if m.pasted {
		return Action{}
	}
	if m.ask != nil {
		return m.answer(k)
	}
	m.said = ""
	if m.pane != nil {
		if m.pane.update(k) {
			m.pane = nil
		}
		return Action{}
	}
	if m.move(k) {
		return Action{}
	}
	return m.order(k)
}

// Asks tells whether the next key answers a question.
func (m *Model) Asks() bool { return m.ask != nil }

// answer takes the yes or no to an order.
func (m *Model) answer(k Key) Action {
	asked := *m.ask
	m.ask = nil
	if k.isRune("yY") {
		return asked
	}
	m.Tell("nothing was ordered", Faint)
	return Action{}
}

// move takes the keys that move the selection.
func (m *Model) move(k Key) bool {
	switch k {
	case KeyUp, "k":
		m.step(-1)
	case KeyDown, "j":
		m.step(1)
	case KeyPageUp, "b":
		m.choose(m.table, m.row-max(m.page, 1))
	case KeyPageDown, " ":
		m.choose(m.table, m.row+max(m.page, 1))
	case KeyHome, "g":
		m.choose(m.table, 0)
	case KeyEnd, "G":
		m.choose(m.table, 1<<30)
	case KeyTab, KeyBackTab:
		m.nextTable(k == KeyBackTab)
	default:
		return false
	}
	return true
}

// step goes one row on, into the next table at the end of one.
func (m *Model) step(by int) {
	if m.chosen == "" {
		return
	}
	if row := m.row + by; row >= 0 && row < len(m.state.Tables[m.table].Rows) {
		m.choose(m.table, row)
		return
	}
	for t := m.table + by; t >= 0 && t < len(m.state.Tables); t += by {
		if n := len(m.state.Tables[t].Rows); n > 0 {
			m.choose(t, (n-1)*max(-by, 0))
			return
		}
	}
}

func (m *Model) nextTable(back bool) {
	n := len(m.state.Tables)
	for d := 1; d < n; d++ {
		t := (m.table + d) % n
		if back {
			t = (m.table - d + n) % n
		}
		if len(m.state.Tables[t].Rows) > 0 {
			m.choose(t, 0)
			return
		}
	}
}

// orderOf is what a key orders; "": nothing.
func orderOf(k Key) string {
	switch k {
	case "r":
		return "restart"
	case "s":
		return "stop"
	case "S":
		return "start"
	default:
		return ""
	}
}

// order takes the keys that do something about the chosen row.
func (m *Model) order(k Key) Action {
	row, there := m.selected()
	order := orderOf(k)
	switch {
	case k.isRune("qQ"):
		return Action{Op: Quit}
	case k.isRune("?h"):
		m.Show("keys", help)
	case order == "" && !k.isRune("elL") && k != KeyEnter:
		if k != KeyEscape && k != KeyUnknown {
			m.Tell("? tells the keys", Faint)
		}
	case !there:
		m.Tell("there is nothing to choose", Faint)
	case k == "e" || k == KeyEnter:
		return Action{Op: Explain, Row: row}
	case !row.Orders:
		m.Tell("that is for services; e explains "+row.Name, Faint)
	case k.isRune("lL"):
		return Action{Op: Log, Row: row}
	case order == "start":
		return Action{Op: Give, Order: order, Row: row}
	default:
		m.ask = &Action{Op: Give, Order: order, Row: row}
	}
	return Action{}
}

var help = []string{
	"j k, arrows    choose a line",
	"Tab            the next table",
	"space b g G    a page on or back, the first, the last",
	"",
	"e, Enter       explain it: why it stands so, and what would change it",
	"r              restart a service (asks)",
	"s              stop a service, also for the next run (asks)",
	"S              start a service",
	"l              the last lines of a service's output",
	"",
	"Ctrl-L         draw anew",
	"Ctrl-Z         back to the shell, where there is one; fg comes back",
	"q, Ctrl-C      quit",
}

package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func chosen(m *Model) string {
	row, _ := m.selected()
	return row.ID
}

func TestSelectionHoldsOnToItsRow(t *testing.T) {
	t.Parallel()
	s := sample(6)
	m := shown(s)
	m.Update("j")
	m.Update("j")
	if got := chosen(m); got != "worker-002" {
		t.Fatalf("chosen %q", got)
	}
	other := sample(6)
	rows := other.Tables[0].Rows
	other.Tables[0].Rows = append([]Row{serviceRow("a-new", Good, "running", "1", "")}, rows...)
	m.Set(other)
	if got := chosen(m); got != "worker-002" {
		t.Errorf("after a row came before it: chosen %q", got)
	}
	other = sample(6)
	other.Tables[0].Rows = slices.Delete(other.Tables[0].Rows, 2, 3)
	m.Set(other)
	if got := chosen(m); got != "worker-004" { // it stood at the fourth place by then
		t.Errorf("after it went: chosen %q", got)
	}
	m.Set(State{})
	if got := chosen(m); got != "" {
		t.Errorf("of nothing, %q is chosen", got)
	}
	m.Update("j")
	m.Set(s)
	if got := chosen(m); got != "worker-000" {
		t.Errorf("when something came again: chosen %q", got)
	}
}

func TestKeysMean(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		keys  []Key
		op    Op
		order string
		on    string
	}{
		{"quit", []Key{"q"}, Quit, "", ""},
		{"interrupt", []Key{KeyCtrlC}, Quit, "", ""},
		{"interrupt while asked", []Key{"r", KeyCtrlC}, Quit, "", ""},
		{"a restart is asked for", []Key{"r"}, Nothing, "", ""},
		{"restart", []Key{"j", "r", "y"}, Give, "restart", "worker-001"},
		{"not restarted", []Key{"r", "n"}, Nothing, "", ""},
		{"another key is no yes", []Key{"r", KeyEnter}, Nothing, "", ""},
		{"stop", []Key{"s", "Y"}, Give, "stop", "worker-000"},
		{"start is not asked for", []Key{"S"}, Give, "start", "worker-000"},
		{"explain", []Key{"e"}, Explain, "", "worker-000"},
		{"explain a turn", []Key{KeyTab, "e"}, Explain, "", "t0"},
		{"a turn is not restarted", []Key{KeyTab, "r", "y"}, Nothing, "", ""},
		{"log", []Key{"l"}, Log, "", "worker-000"},
		{"a turn has no log", []Key{KeyTab, "l"}, Nothing, "", ""},
		{"the end of the tables", []Key{KeyTab, KeyTab, "G", "j", "e"}, Explain, "", "h0"},
		{"round the tables", []Key{KeyTab, KeyTab, KeyTab, "e"}, Explain, "", "worker-000"},
		{"back over the edge", []Key{"G", "j", "k", "e"}, Explain, "", "worker-002"},
		{"a pane is closed first", []Key{"?", "q"}, Nothing, "", ""},
		{"a key for the pane orders nothing", []Key{"?", "r", "y"}, Nothing, "", ""},
		{"unknown", []Key{KeyUnknown}, Nothing, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := shown(sample(3))
			var got Action
			for _, k := range tc.keys {
				got = m.Update(k)
			}
			if got.Op != tc.op || got.Order != tc.order || got.Row.ID != tc.on {
				t.Errorf("%v: %v %q on %q, not %v %q on %q", tc.keys, got.Op, got.Order, got.Row.ID, tc.op, tc.order, tc.on)
			}
		})
	}
}

func TestKeysOfBytes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sent string
		last bool
		want []Key
		rest string
	}{
		{"jk", false, []Key{"j", "k"}, ""},
		{"\x1b[A\x1b[B\x1bOA", false, []Key{KeyUp, KeyDown, KeyUp}, ""},
		{"\x1b[5~\x1b[6~\x1b[H\x1b[4~", false, []Key{KeyPageUp, KeyPageDown, KeyHome, KeyEnd}, ""},
		{"\x1b", false, nil, "\x1b"},
		{"\x1b", true, []Key{KeyEscape}, ""},
		{"\x1b[", false, nil, "\x1b["},
		{"\x1b[1;5", false, nil, "\x1b[1;5"},
		{"\x1b[1;5", true, []Key{KeyUnknown}, ""},
		{"\x1b[1;5Aj", false, []Key{KeyUnknown, "j"}, ""},
		{"\x1bj", false, []Key{KeyEscape, "j"}, ""},
		{"\x03\x1a\x0c\r\t", false, []Key{KeyCtrlC, KeyCtrlZ, KeyCtrlL, KeyEnter, KeyTab}, ""},
		{"é", false, []Key{"é"}, ""},
		{"\xc3", false, nil, "\xc3"},
		{"\xff", false, []Key{KeyUnknown}, ""},
		{"\x00", false, []Key{KeyUnknown}, ""},
	} {
		keys, rest := Keys([]byte(tc.sent), tc.last)
		if diff := cmp.Diff(tc.want, keys); diff != "" || string(rest) != tc.rest {
			t.Errorf("%q: rest %q (-want +got):\n%s", tc.sent, rest, diff)
		}
	}
}

func TestColourIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, colour := range []bool{false, true} {
		m := shown(sample(3))
		m.Colour = colour
		m.Tell("no", Bad)
		coloured := false
		for _, line := range m.View(80, 24) {
			for _, on := range []string{red, green, yellow} {
				coloured = coloured || strings.Contains(line, on)
			}
		}
		if coloured != colour {
			t.Errorf("Colour %v: coloured %v", colour, coloured)
		}
	}
}

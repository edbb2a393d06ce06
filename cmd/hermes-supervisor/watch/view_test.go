package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden frames anew")

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// sample is a state with so many services, some turns and handoffs, and events.
func sample(services int) State {
	s := State{
		Title: "hermes-supervisor  /home/user/.hermes", Note: "run (pid 4711)",
		Summary: fmt.Sprintf("%d services   2 open turns: 1 rate-limited, 1 running", services),
	}
	table := Table{Name: "services", Empty: "No service is configured.", Columns: []Column{
		{Title: "SERVICE"},
		{Title: "PHASE", Tint: true},
		{Title: "PID", Rank: 4, Right: true},
		{Title: "SINCE", Rank: 3, Right: true},
		{Title: "RESTARTS", Rank: 5, Right: true},
		{Title: "WHY", Rank: 2, Rest: true},
	}}
	for i := range services {
		name := fmt.Sprintf("worker-%03d", i)
		switch i % 3 {
		case 0:
			table.Rows = append(table.Rows, serviceRow(name, Good, "running", "12345", "it is up and ready"))
		case 1:
			due := noon.Add(time.Duration(12+i) * time.Second)
			row := serviceRow(name, Bad, "waiting", "-", "")
			row.Cells = func(now time.Time) []string {
				return []string{name, "waiting", "-", "3s", "5", fmt.Sprintf("restarts in %s (crash-loop: 5 in 1m; exit 3: no token)", due.Sub(now))}
			}
			table.Rows = append(table.Rows, row)
		default:
			table.Rows = append(table.Rows, serviceRow(name, Faint, "stopped", "-", "an operator stopped it"))
		}
	}
	turns := Table{Name: "turns", Columns: []Column{
		{Title: "TURN"}, {Title: "AGENT", Rank: 4}, {Title: "STATE", Tint: true}, {Title: "WHY", Rank: 2, Rest: true},
	}}
	handoffs := Table{Name: "handoffs", Columns: []Column{{Title: "HANDOFF"}, {Title: "STATE", Tint: true}, {Title: "WHY", Rank: 2, Rest: true}}}
	if services > 0 {
		for i, cells := range [][]string{
			{"fix-tests", "claude", "running", "at work"},
			{"日本語のセッション", "codex", "rate-limited", "rate-limited: attempt 1 in 54s"},
			{"tab\there\x1b[31m\u202e", "-", "running", "at work\r\nand more"},
		} {
			turns.Rows = append(turns.Rows, Row{ID: fmt.Sprint("t", i), Name: cells[0], Mood: Busy, Cells: fixed(cells)})
		}
		handoffs.Rows = []Row{{ID: "h0", Name: "agent:main:cli", Mood: Busy, Cells: fixed([]string{"agent:main:cli", "pending", "it waits for its claimer"})}}
		for i := range 30 {
			s.Events = append(s.Events, fmt.Sprintf("11:59:%02d  service   worker-%03d  running (ready)", i, i))
		}
	}
	s.Tables = []Table{table, turns, handoffs}
	return s
}

func fixed(cells []string) func(time.Time) []string { return func(time.Time) []string { return cells } }

func serviceRow(name string, mood Mood, phase, pid, why string) Row {
	return Row{ID: name, Name: name, Orders: true, Mood: mood, Cells: fixed([]string{name, phase, pid, "2h", "0", why})}
}

func shown(s State) *Model {
	m := New(false)
	m.Tick(noon)
	m.Set(s)
	return m
}

var attributes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func bare(line string) string { return attributes.ReplaceAllString(line, "") }

// golden compares a frame with testdata/frames/NAME, where each line is put between bars to show its end.
func golden(t *testing.T, name string, m *Model, width, height int) {
	t.Helper()
	var b strings.Builder
	for _, line := range m.View(width, height) {
		fmt.Fprintf(&b, "|%s|\n", fit(bare(line), width, false))
	}
	path := filepath.Join("testdata", "frames", name)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, services := range []int{0, 3, 500} {
		for _, size := range [][2]int{{20, 5}, {40, 10}, {80, 24}, {200, 50}} {
			golden(t, fmt.Sprintf("%d-services-%dx%d", services, size[0], size[1]), shown(sample(services)), size[0], size[1])
		}
	}
	scrolled := shown(sample(500))
	scrolled.View(80, 24)
	for range 40 {
		scrolled.Update(KeyPageDown)
		scrolled.View(80, 24)
	}
	golden(t, "500-services-at-the-end-80x24", scrolled, 80, 24)
	asked := shown(sample(3))
	asked.Update("r")
	golden(t, "asked-80x24", asked, 80, 24)
	explained := shown(sample(3))
	explained.Show("worker-000", []string{"service       worker-000", "why           " + strings.Repeat("it is up and ready ", 8), "", "to change it  `stop worker-000`"})
	golden(t, "explained-40x10", explained, 40, 10)
	helped := shown(sample(3))
	helped.Update("?")
	golden(t, "help-80x24", helped, 80, 24)
}

// Whatever a state holds, and whatever the size: a row is a row, and no wider than the terminal; nothing but our own
// attributes is in it.
func TestViewNeverBreaksARow(t *testing.T) {
	t.Parallel()
	nasty := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "日本語", "e\u0301e\u0301", "\x1b[2J", "a\nb", "❤\ufe0f❤\ufe0f", "👩\u200d👩", "\xff\xfe", strings.Repeat("長", 300)}))
	rapid.Check(t, func(t *rapid.T) {
		m := New(rapid.Bool().Draw(t, "colour"))
		m.Tick(noon)
		for range rapid.IntRange(1, 3).Draw(t, "states") {
			s := State{Title: nasty.Draw(t, "title"), Note: nasty.Draw(t, "note"), Summary: nasty.Draw(t, "summary")}
			for i := range rapid.IntRange(0, 3).Draw(t, "tables") {
				table := Table{Name: strconv.Itoa(i), Columns: []Column{{Title: "NAME"}, {Title: "N", Rank: 2, Right: true}, {Title: "STATE", Tint: true}, {Title: "WHY", Rank: 1, Rest: true}}}
				for r := range rapid.IntRange(0, 30).Draw(t, "rows") {
					table.Rows = append(table.Rows, Row{ID: fmt.Sprint(i, r), Name: nasty.Draw(t, "name"), Mood: Bad, Cells: fixed([]string{nasty.Draw(t, "a"), nasty.Draw(t, "b"), nasty.Draw(t, "c"), nasty.Draw(t, "d")})})
				}
				s.Tables = append(s.Tables, table)
			}
			s.Events = rapid.SliceOfN(nasty, 0, 8).Draw(t, "events")
			m.Set(s)
			for range rapid.IntRange(0, 6).Draw(t, "keys") {
				m.Update(rapid.SampledFrom([]Key{"j", "k", KeyPageDown, "G", "g", KeyTab, "r", "y", "?", "e", KeyEscape}).Draw(t, "key"))
			}
			width, height := rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
			lines := m.View(width, height)
			if len(lines) != height {
				t.Fatalf("%d lines, not %d", len(lines), height)
			}
			for _, line := range lines {
				if line = bare(line); clean(line) != line || widthOf(line) > width {
					t.Fatalf("%d columns of %d: %q", widthOf(line), width, line)
				}
			}
		}
	})
}

func TestColumnsGoInTheirOrder(t *testing.T) {
	t.Parallel()
	m := shown(sample(3))
	before := 6
	for width := 120; width > 24; width-- {
		header := bare(m.View(width, 24)[3])
		n := len(strings.Fields(header))
		if n > before || n < before-1 {
			t.Errorf("at %d columns: %q after %d columns", width, header, before)
		}
		before = n
	}
	if before != 2 {
		t.Errorf("%d columns are left, not SERVICE and PHASE", before)
	}
}

func TestTheChosenRowIsAlwaysThere(t *testing.T) {
	t.Parallel()
	m := shown(sample(500))
	for i := range 504 {
		if i > 9 && i < 490 && i%16 != 0 {
			m.Update("j")
			continue
		}
		for _, size := range [][2]int{{20, 5}, {80, 24}, {10, 1}, {200, 50}} {
			row, _ := m.selected()
			found := false
			for _, line := range m.View(size[0], size[1]) {
				found = found || strings.HasPrefix(bare(line), "> "+clean(row.Name)[:3])
			}
			if !found {
				t.Fatalf("row %d, %q, is not shown at %v", i, row.Name, size)
			}
		}
		m.Update("j")
	}
	if row, _ := m.selected(); row.ID != "h0" {
		t.Errorf("the last row is %q", row.ID)
	}
}

// A program that prints a megabyte without a line break must not hold up the keys.
func TestPaneOfAVeryLongLineIsDrawnAtOnce(t *testing.T) {
	t.Parallel()
	m := shown(sample(3))
	m.ShowEnd("worker-000", []string{strings.Repeat("x", 4<<20), strings.Repeat("long ", 1<<20), "the end"})
	drawn := make(chan []string, 1)
	go func() {
		for range 3 {
			m.View(80, 24)
			m.Update("k")
		}
		drawn <- m.View(80, 24)
	}()
	select {
	case lines := <-drawn:
		if len(lines) != 24 || !strings.HasPrefix(lines[22], "long long ") {
			t.Errorf("%q", lines)
		}
	case <-time.After(20 * time.Second): // some 0.5 s here
		t.Fatal("it is still being wrapped")
	}
}

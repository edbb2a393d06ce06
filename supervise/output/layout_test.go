package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesSayWhatIsArchived(t *testing.T) {
	t.Parallel()
	name := func(from, to int64) string { return extent{from, to}.archive(Out) }
	for _, tc := range []struct {
		what  string
		names []string
		want  layout
	}{
		{"nothing", []string{"out", "err", "notes"}, layout{}},
		{"archives in any order", []string{name(5, 9), "out", name(0, 5)}, layout{archives: []extent{{0, 5}, {5, 9}}, end: 9}},
		{"the oldest were dropped", []string{name(5, 9)}, layout{archives: []extent{{5, 9}}, end: 9}},
		{"what lies before a gap is stale", []string{name(0, 5), name(6, 9), name(9, 12)}, layout{archives: []extent{{6, 9}, {9, 12}}, end: 12, stale: []string{name(0, 5)}}},
		{"a mark", []string{name(0, 5), mark(Out, 5)}, layout{archives: []extent{{0, 5}}, base: 5, end: 5}},
		{"the newest mark counts", []string{mark(Out, 5), mark(Out, 7), name(5, 7), name(7, 8)}, layout{archives: []extent{{5, 7}, {7, 8}}, base: 7, end: 8, stale: []string{mark(Out, 5)}}},
		{"archives that end before the mark", []string{name(0, 5), mark(Out, 7)}, layout{archives: []extent{}, base: 7, end: 7, stale: []string{name(0, 5)}}},
		{"killed writers", []string{"out.tmp-X", name(0, 5)}, layout{archives: []extent{{0, 5}}, end: 5, stale: []string{"out.tmp-X"}}},
		{"the other stream, and names that mean nothing", []string{"err.tmp-X", mark(Err, 3), "out.1-2", "out.x", "out@3", "out.log-1", "out.00000000000000000000-0000000000000000001x"}, layout{}},
	} {
		got, err := layoutOf(Out, tc.names)
		if err != nil {
			t.Errorf("%s: %v", tc.what, err)
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(layout{}, extent{})); diff != "" {
			t.Errorf("%s:\n%s", tc.what, diff)
		}
	}
}

func TestAbsurdNamesAreRefusedByName(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"overlap":                                 {extent{0, 5}.archive(Out), extent{4, 9}.archive(Out)},
		"archives out.00000000000000000000-":      {extent{0, 5}.archive(Out), extent{0, 9}.archive(Out)},
		"out.00000000000000000005-0000000000000":  {extent{5, 5}.archive(Out)},
		"out.00000000000000000009-00000000000000": {extent{9, 5}.archive(Out)},
		"is no range":                             {"out.00000000000000000000-99999999999999999999"},
		"is no range of an output: remove it":     {"out.00000000000000000000-09223372036854775807"},
		"is no position of an output: remove it":  {"out@99999999999999999999"},
	} {
		if _, err := layoutOf(Out, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", names, err, want)
		}
	}
}

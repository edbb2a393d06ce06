package hermes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func writeAt(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readAt(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustRead(t *testing.T, home string) []Marker {
	t.Helper()
	markers, err := ReadMarkers(home)
	if err != nil {
		t.Fatal(err)
	}
	return markers
}

func sessions(markers []Marker) []string {
	var names []string
	for _, m := range markers {
		names = append(names, m.Session)
	}
	return names
}

func mustRecord(t *testing.T, home string, m Marker) {
	t.Helper()
	if err := RecordMarker(home, m, testNow); err != nil {
		t.Fatal(err)
	}
}

func mustClear(t *testing.T, home, session string, startedAt float64) {
	t.Helper()
	if err := ClearMarker(home, session, startedAt, testNow); err != nil {
		t.Fatal(err)
	}
}

// stamp identifies one version of a file: a rewrite is a rename, so the file
// changes even where the bytes do not.
func stamp(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestMarkerRoundTrip(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	want := Marker{
		Session: "agent:main:telegram:dm:42", Prompt: "fix the <bug> & \"quote\" \u2028 é 😀", StartedAt: 1764499999.123456,
		Attempts: 1, AutoContinue: true, WriterPID: 812, WriterStart: 1764490000.25, HasWriter: true,
	}
	mustRecord(t, home, want)
	if diff := cmp.Diff([]Marker{want}, mustRead(t, home)); diff != "" {
		t.Error(diff)
	}
	mustClear(t, home, want.Session, want.StartedAt)
	if got := mustRead(t, home); got != nil {
		t.Errorf("after clear: %v", got)
	}
}

func TestMarkerIsWrittenWithHermesKeysOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		marker Marker
		want   map[string]any
	}{
		"with a writer": {
			Marker{Session: "s", Prompt: "p", Attempts: 2, AutoContinue: true, HasWriter: true, WriterPID: 7, WriterStart: 3.5, Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}},
			map[string]any{"prompt": "p", "started_at": epoch(testNow), "attempts": 2.0, "auto_continue": true, "writer_pid": 7.0, "writer_start_time": 3.5},
		},
		"without a writer": {
			Marker{Session: "s", Prompt: "p", Attempts: -3, WriterPID: 7, StartedAt: 5},
			map[string]any{"prompt": "p", "started_at": 5.0, "attempts": 0.0, "auto_continue": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			mustRecord(t, home, tc.marker)
			var got map[string]map[string]any
			if err := json.Unmarshal([]byte(readAt(t, MarkersPath(home))), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]map[string]any{"s": tc.want}, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMarkerFileIsPrivateAndItsFolderIsMade(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mustRecord(t, home, Marker{Session: "s", Prompt: "p"})
	if os.PathSeparator == '\\' {
		t.Skip("modes are not kept on this system")
	}
	if mode := stamp(t, MarkersPath(home)).Mode().Perm(); mode != 0o600 {
		t.Errorf("file mode %o", mode)
	}
	if mode := stamp(t, filepath.Join(home, "desktop")).Mode().Perm(); mode != 0o700 {
		t.Errorf("folder mode %o", mode)
	}
}

func TestDeletedProfileHomeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "profiles", "gone")
	if err := RecordMarker(home, Marker{Session: "s", Prompt: "p"}, testNow); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("record: %v", err)
	}
	if _, err := os.Lstat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("home was made: %v", err)
	}
}

func TestImpossibleMarkerIsRefusedAndTheFileUntouched(t *testing.T) {
	t.Parallel()
	nan := 0.0
	nan /= nan
	for name, m := range map[string]Marker{
		"no session":       {Prompt: "p"},
		"inexact session":  {Session: "a\xff", Prompt: "p"},
		"no prompt":        {Session: "s", Prompt: " \n"},
		"negative start":   {Session: "s", Prompt: "p", StartedAt: -1},
		"start not a time": {Session: "s", Prompt: "p", StartedAt: nan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeWith(t, "{broken")
			if err := RecordMarker(home, m, testNow); err == nil {
				t.Error("recorded")
			}
			if got := readAt(t, MarkersPath(home)); got != "{broken" {
				t.Errorf("file is now %q", got)
			}
		})
	}
}

func TestPromptIsCutAtPythonsCharacters(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mustRecord(t, home, Marker{Session: "s", Prompt: strings.Repeat("😀", maxPromptChars) + "x"})
	if got := mustRead(t, home)[0].Prompt; got != strings.Repeat("😀", maxPromptChars) {
		t.Errorf("kept %d bytes", len(got))
	}
}

func TestClearOfAnotherTurnLeavesTheEntryAndWritesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mustRecord(t, home, Marker{Session: "s", Prompt: "newer", StartedAt: ago(time.Minute)})
	before := stamp(t, MarkersPath(home))
	mustClear(t, home, "s", ago(time.Hour))
	mustClear(t, home, "other", 0)
	if got := sessions(mustRead(t, home)); len(got) != 1 {
		t.Errorf("markers: %v", got)
	}
	if !os.SameFile(before, stamp(t, MarkersPath(home))) {
		t.Error("the file was rewritten although nothing changed")
	}
	mustClear(t, home, "s", 0)
	if got := mustRead(t, home); got != nil {
		t.Errorf("any start: %v", got)
	}
}

func TestClearWithoutAFileMakesNone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mustClear(t, home, "s", 0)
	if _, err := os.Lstat(filepath.Join(home, "desktop")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder: %v", err)
	}
}

func TestClearRemovesAnEntryThatDoesNotReadAsAMarker(t *testing.T) {
	t.Parallel()
	home := homeWith(t, `{"s": {"prompt": 5, "started_at": 1796039000}, "t": {"prompt": 5}}`)
	mustClear(t, home, "s", 1796039000)
	mustClear(t, home, "t", 1796039000)
	if diff := cmp.Diff(`{"t": {"prompt": 5}}`, readAt(t, MarkersPath(home))); diff != "" {
		t.Error(diff)
	}
}

func TestRemovingADoubledKeyDoesNotBringBackTheEarlierOne(t *testing.T) {
	t.Parallel()
	const text = `{"s": {"prompt": "old", "started_at": 1796039000}, "s": {"prompt": "new", "started_at": 1796039001}}`
	home := homeWith(t, text)
	if got := mustRead(t, home); len(got) != 1 || got[0].Prompt != "new" {
		t.Errorf("markers: %v", got)
	}
	mustClear(t, home, "s", 1796039000)
	if diff := cmp.Diff(text, readAt(t, MarkersPath(home))); diff != "" {
		t.Errorf("the one in force began later:\n%s", diff)
	}
	mustClear(t, home, "s", 1796039001)
	if diff := cmp.Diff(`{}`, readAt(t, MarkersPath(home))); diff != "" {
		t.Error(diff)
	}
}

func TestEntriesOver24HoursArePrunedByEveryWriter(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`{"old": {"prompt": "p", "started_at": %f}, "young": {"prompt": "p", "started_at": %f}, "future": {"prompt": "p", "started_at": %f}, "odd": {"prompt": 1, "started_at": 1}}`,
		ago(maxAge+time.Second), ago(maxAge-time.Second), ago(-time.Hour))
	for name, write := range map[string]func(home string){
		"record": func(home string) {
			mustRecord(t, home, Marker{Session: "mine", Prompt: "p", StartedAt: ago(time.Second)})
		},
		"clear": func(home string) { mustClear(t, home, "nobody", 0) },
	} {
		home := homeWith(t, text)
		write(home)
		got := sessions(mustRead(t, home))
		if name == "record" {
			if diff := cmp.Diff([]string{"young", "mine", "future"}, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		} else if diff := cmp.Diff([]string{"young", "future"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !strings.Contains(readAt(t, MarkersPath(home)), `"odd": {"prompt": 1, "started_at": 1}`) {
			t.Errorf("%s: an entry that is not understood was thrown away", name)
		}
	}
}

func TestThe32NewestAreKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for i := range 40 {
		mustRecord(t, home, Marker{Session: fmt.Sprintf("s%02d", i), Prompt: "p", StartedAt: ago(time.Hour - time.Duration(i)*time.Second)})
	}
	// The new one is kept although it began before all others.
	mustRecord(t, home, Marker{Session: "first", Prompt: "p", StartedAt: ago(2 * time.Hour)})
	got := sessions(mustRead(t, home))
	if len(got) != maxEntries || got[0] != "first" || got[1] != "s09" || got[31] != "s39" {
		t.Errorf("%d kept: %v", len(got), got)
	}
}

// The key decodes to U+FFFD, so it may be any of many sessions: it is nobody's to clear.
func TestEntryWithoutAnExactNameIsNeverCleared(t *testing.T) {
	t.Parallel()
	const text = `{"a \ud800": {"prompt": "p", "started_at": 1796039000}}`
	home := homeWith(t, text)
	mustClear(t, home, "a \ufffd", 0)
	if diff := cmp.Diff(text, readAt(t, MarkersPath(home))); diff != "" {
		t.Error(diff)
	}
}

package hermes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func asides(t *testing.T, home string) []string {
	t.Helper()
	found, err := filepath.Glob(MarkersPath(home) + ".corrupt-*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCorruptSidecarIsSurvivedAndSetAside(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not json":        "{not json",
		"empty":           "",
		"space":           " \n",
		"nul bytes":       strings.Repeat("\x00", 4096),
		"list":            "[]",
		"text":            `"x"`,
		"null":            "null",
		"nan":             `{"a": {"prompt": "p", "started_at": NaN}}`,
		"infinity":        `{"a": {"prompt": "p", "started_at": -Infinity}}`,
		"trailing":        `{"a": {"prompt": "p", "started_at": 1}} {}`,
		"cut off":         `{"a": {"prompt": "p", "started_at": 1}`,
		"two boms":        "\ufeff\ufeff{}",
		"not utf-8":       "{\"a\xff\": {}}",
		"deep":            `{"a": ` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "}",
		"deep, no end":    strings.Repeat(`{"a":`, 1<<20),
		"control in text": "{\"a\": {\"prompt\": \"a\nb\"}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeWith(t, text)
			markers, err := ReadMarkers(home)
			if broken, ok := errors.AsType[*BrokenError](err); !ok || broken.Path != MarkersPath(home) || markers != nil {
				t.Fatalf("read: %v, %v", markers, err)
			}
			if err := ClearMarker(home, "s", 0, testNow); err == nil {
				t.Error("clear said that the entry is gone")
			}
			if got := readAt(t, MarkersPath(home)); got != text {
				t.Error("reading or clearing changed a broken file")
			}
			mustRecord(t, home, Marker{Session: "s", Prompt: "prompt"})
			if got := mustRead(t, home); len(got) != 1 || got[0].Prompt != "prompt" {
				t.Errorf("after record: %v", got)
			}
			if kept := asides(t, home); len(kept) != 1 || readAt(t, kept[0]) != text {
				t.Errorf("set aside: %v", kept)
			}
		})
	}
}

func TestASecondBrokenFileDoesNotOverwriteTheFirstCopy(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "first")
	mustRecord(t, home, Marker{Session: "s", Prompt: "p"})
	writeAt(t, MarkersPath(home), "second")
	mustRecord(t, home, Marker{Session: "s", Prompt: "p"})
	var texts []string
	for _, path := range asides(t, home) {
		texts = append(texts, readAt(t, path))
	}
	slices.Sort(texts)
	if diff := cmp.Diff([]string{"first", "second"}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestBOMIsAccepted(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "\ufeff"+`{"a": {"prompt": "p", "started_at": 1796039000}}`)
	if got := sessions(mustRead(t, home)); len(got) != 1 || got[0] != "a" {
		t.Errorf("markers: %v", got)
	}
}

// unreadable checks the contract for what lies at the path and is no marker file:
// nothing blocks, it is moved aside as it is, and a record finds its place.
func unreadable(t *testing.T, home string, want os.FileMode) {
	t.Helper()
	markers, err := ReadMarkers(home)
	if _, ok := errors.AsType[*BrokenError](err); !ok || markers != nil {
		t.Fatalf("read: %v, %v", markers, err)
	}
	if err := ClearMarker(home, "s", 0, testNow); err == nil {
		t.Error("clear said that the entry is gone")
	}
	mustRecord(t, home, Marker{Session: "s", Prompt: "prompt"})
	if got := mustRead(t, home); len(got) != 1 {
		t.Errorf("after record: %v", got)
	}
	kept := asides(t, home)
	if len(kept) != 1 {
		t.Fatalf("set aside: %v", kept)
	}
	if info, err := os.Lstat(kept[0]); err != nil || info.Mode().Type() != want {
		t.Errorf("set aside as %v, %v", info.Mode(), err)
	}
}

func TestHugeFileIsNotRead(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "{}")
	if err := os.Truncate(MarkersPath(home), 1<<40); err != nil {
		t.Skip("no sparse file of this size here:", err)
	}
	unreadable(t, home, 0)
}

func TestFolderInTheFilesPlace(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeAt(t, filepath.Join(MarkersPath(home), "x"), "")
	unreadable(t, home, os.ModeDir)
}

// Hermes writes through a link that a person made, so its target may hold good
// markers: it is neither followed nor moved out of the way.
func TestSymlinkIsNeitherFollowedNorReplaced(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const text = `{"a": {"prompt": "p", "started_at": 1796039000}}`
	elsewhere := filepath.Join(t.TempDir(), "file.json")
	writeAt(t, elsewhere, text)
	if err := os.Mkdir(filepath.Join(home, "desktop"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, MarkersPath(home)); err != nil {
		t.Skip("no symlinks here:", err)
	}
	markers, err := ReadMarkers(home)
	if _, ok := errors.AsType[*BrokenError](err); !ok || markers != nil {
		t.Errorf("read: %v, %v", markers, err)
	}
	for what, err := range map[string]error{
		"record": RecordMarker(home, Marker{Session: "s", Prompt: "p"}, testNow),
		"clear":  ClearMarker(home, "a", 0, testNow),
	} {
		if _, ok := errors.AsType[*BrokenError](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	if info, err := os.Lstat(MarkersPath(home)); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is now %v, %v", info, err)
	}
	if got := readAt(t, elsewhere); got != text {
		t.Errorf("the target was written: %q", got)
	}
}

func TestFolderThatIsAFileIsAnErrorAndNotAPanic(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeAt(t, filepath.Join(home, "desktop"), "")
	if _, err := ReadMarkers(home); err == nil {
		t.Skip("this system calls it missing")
	}
	if err := RecordMarker(home, Marker{Session: "s", Prompt: "p"}, testNow); err == nil {
		t.Error("recorded")
	}
}

// A prompt must never reach a log by way of an error.
func TestErrorsCarryNoContent(t *testing.T) {
	t.Parallel()
	home := homeWith(t, `{"a": {"prompt": "very secret words", "started_at": 1}} very secret words`)
	_, err := ReadMarkers(home)
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error: %v", err)
	}
}

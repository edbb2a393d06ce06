package hermes

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pythonWrite writes markers as Hermes's json.dump does, with what only Python
// would write.
const pythonWrite = `
import json, sys
now = float(sys.argv[1])
entries = {
    "session-key": {"attempts": 1, "prompt": "mine", "started_at": now - 60.125, "auto_continue": True},
    "agent:main:telegram:dm:42": {"attempts": 0, "prompt": "grüße 😀 \u2028 \x00 \x7f </script>", "started_at": now - 0.1, "auto_continue": False, "writer_pid": 812, "writer_start_time": now - 3.07},
    "日本語": {"attempts": 2, "prompt": "p", "started_at": now, "notification_category": "diagnostic"},
    "numbers": {"prompt": "p", "started_at": now - 1, "big": 2**80, "small": 5e-324, "sum": 0.1 + 0.2, "neg": -0.0},
    "odd": ["kept", None, True],
}
lone = {
    "lone": {"prompt": "a\ud800b", "started_at": now - 2, "x\udc00": "\udfff"},
    "\ud83d key": {"prompt": "p", "started_at": now - 2},
}
for path, indent, ascii in zip(sys.argv[2:], (None, None, 2, 2), (True, False, True, False)):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**entries, **lone} if ascii else entries, f, indent=indent, ensure_ascii=ascii)
`

// pythonCompare reads the three versions of each file as Hermes reads them; the
// other entries must be equal in all of them.
const pythonCompare = `
import json, sys
def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)
def text(entries):
    return repr(sorted(entries.items(), key=repr))
for path in sys.argv[1:]:
    was, recorded, cleared = load(path), load(path + ".recorded"), load(path + ".cleared")
    mine, got = was.pop("session-key"), recorded.pop("session-key")
    assert got == {"attempts": 2, "prompt": "again é", "started_at": mine["started_at"], "auto_continue": True, "writer_pid": 7, "writer_start_time": 1.5}, got
    assert type(got["attempts"]) is int and type(got["writer_pid"]) is int, got
    assert text(was) == text(recorded), (path, was, recorded)
    assert text(was) == text(cleared), (path, was, cleared)
`

func TestPythonsFilesAreReadAndTheirOtherEntriesReadBackEqual(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed:", err)
	}
	run := func(script string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), python, append([]string{"-c", script}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("python: %v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"compact-ascii", "compact-utf8", "indented-ascii", "indented-utf8"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	run(pythonWrite, append([]string{"1764504000.5"}, paths...)...)
	now := time.UnixMilli(1764504000500)
	for _, path := range paths {
		home := homeWith(t, readAt(t, path))
		var mine Marker
		for _, m := range mustRead(t, home) {
			if m.Session == "session-key" {
				mine = m
			}
		}
		if mine.Prompt != "mine" || mine.Attempts != 1 {
			t.Fatalf("%s: read %+v", path, mine)
		}
		mine.Prompt, mine.Attempts = "again é", 2
		mine.HasWriter, mine.WriterPID, mine.WriterStart = true, 7, 1.5
		if err := RecordMarker(home, mine, now); err != nil {
			t.Fatal(err)
		}
		writeAt(t, path+".recorded", readAt(t, MarkersPath(home)))
		if err := ClearMarker(home, mine.Session, mine.StartedAt, now); err != nil {
			t.Fatal(err)
		}
		writeAt(t, path+".cleared", readAt(t, MarkersPath(home)))
	}
	run(pythonCompare, paths...)
}

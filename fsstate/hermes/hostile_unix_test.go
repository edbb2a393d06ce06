//go:build unix

package hermes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFIFODoesNotBlock(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, path := range []string{MarkersPath(home), filepath.Join(home, "runtime", "active_sessions.json"), filepath.Join(home, "gateway.pid")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Skip("no FIFO here:", err)
		}
	}
	if leases, err := ActiveLeases(home); err == nil {
		t.Errorf("leases: %v", leases)
	}
	if _, live, err := LiveProcess(home); !live || err == nil {
		t.Errorf("what cannot be read is live: %v, %v", live, err)
	}
	unreadable(t, home, os.ModeNamedPipe)
	if _, live, err := liveGateway(home); !live || err == nil {
		t.Errorf("gateway: %v, %v", live, err)
	}
}

// Another user's markers, or a shared home's, are not ours to move.
func TestOrdinaryButUnsafeFileIsLeftWhereItIs(t *testing.T) {
	t.Parallel()
	const text = `{"a": {"prompt": "p", "started_at": 1796039000}}`
	home := homeWith(t, text)
	if err := os.Chmod(MarkersPath(home), 0o666); err != nil {
		t.Fatal(err)
	}
	err := RecordMarker(home, Marker{Session: "s", Prompt: "p"}, testNow)
	if _, ok := errors.AsType[*BrokenError](err); !ok {
		t.Errorf("record: %v", err)
	}
	if got := readAt(t, MarkersPath(home)); got != text || len(asides(t, home)) != 0 {
		t.Errorf("file is now %q", got)
	}
}

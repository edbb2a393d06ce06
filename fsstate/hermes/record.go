package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
)

// written is an entry as we write it: exactly these keys, because a newer Hermes
// rejects the whole file for one that it does not know.
type written struct {
	Attempts     int     `json:"attempts"`
	Prompt       string  `json:"prompt"`
	StartedAt    float64 `json:"started_at"`
	AutoContinue bool    `json:"auto_continue"`
	WriterPID    int     `json:"writer_pid,omitempty"`
	WriterStart  float64 `json:"writer_start_time,omitempty"`
}

// RecordMarker writes m as the entry of its session, in place of an older one. A
// StartedAt of 0 becomes now; the prompt is cut at 64,000 characters; without
// HasWriter no writer is named. The other entries stay byte for byte, but for
// those that Hermes's own writers drop too: older than 24 hours, or beyond the 32
// newest. A broken file is first set aside as <file>.corrupt-<time>; what may hold
// good markers but is unsafe to read (a link, another owner, writable by others) is
// left as it is, and the error is a [*BrokenError].
//
// The home must exist: a profile that was deleted is not made again.
//
// Nothing is written while [LiveProcess] says that a Hermes of this home lives; it
// is the caller who asks, and who keeps other supervisors out.
func RecordMarker(home string, m Marker, now time.Time) error {
	path := MarkersPath(home)
	fresh, err := newEntry(m, now)
	if err != nil {
		return fmt.Errorf("record marker in %s: %w", path, err)
	}
	entries, err := loadOrSetAside(path, now)
	if err != nil {
		return err
	}
	entries = without(entries, map[string]bool{m.Session: true})
	entries = without(entries, prunable(entries, now, maxEntries-1))
	return storeMarkers(path, append(entries, fresh))
}

// ClearMarker removes the entry of a session, if it is the turn that began at
// startedAt (seconds since the epoch, compared exactly; 0: whichever it is). An
// entry of another turn stays. Entries that Hermes's writers would drop go too.
// Nothing is written when nothing changes, and nothing when the file is broken:
// then the error is a [*BrokenError], and the file holds no entry that anybody
// could read. The rule about live processes is RecordMarker's.
func ClearMarker(home, session string, startedAt float64, now time.Time) error {
	path := MarkersPath(home)
	entries, _, err := loadMarkers(path)
	if err != nil {
		return err
	}
	gone := prunable(entries, now, maxEntries)
	for _, e := range entries {
		if e.session == session && !e.shadowed && (startedAt == 0 || e.beganAt(startedAt)) {
			gone[session] = true
		}
	}
	kept := without(entries, gone)
	if len(kept) == len(entries) {
		return nil
	}
	return storeMarkers(path, kept)
}

// beganAt reads only started_at: a turn whose entry is otherwise of the wrong shape
// can still be cleared by name.
func (e *entry) beganAt(startedAt float64) bool {
	if e.valid {
		return e.marker.StartedAt == startedAt
	}
	fields, err := decodeFields(e.value)
	if err != nil {
		return false
	}
	at, err := seconds(fields[fieldStartedAt])
	return err == nil && at == startedAt
}

// prunable names the sessions whose entries every writer drops. Entries that do not
// read as markers are never among them: what is not understood is not thrown away.
func prunable(entries []entry, now time.Time, keep int) map[string]bool {
	gone := make(map[string]bool)
	var rest []Marker
	for _, e := range entries {
		switch {
		case !e.readable():
		case epoch(now)-e.marker.StartedAt > maxAge.Seconds():
			gone[e.session] = true
		default:
			rest = append(rest, e.marker)
		}
	}
	if len(rest) <= keep {
		return gone
	}
	slices.SortStableFunc(rest, func(a, b Marker) int {
		switch {
		case a.StartedAt > b.StartedAt:
			return -1
		case a.StartedAt < b.StartedAt:
			return 1
		default:
			return 0
		}
	})
	for _, m := range rest[keep:] {
		gone[m.Session] = true
	}
	return gone
}

// without leaves out the members of the named sessions, all of them: where a key
// stands twice, removing only the last would bring back the one before.
func without(entries []entry, sessions map[string]bool) []entry {
	var kept []entry
	for _, e := range entries {
		if e.nameless || !sessions[e.session] {
			kept = append(kept, e)
		}
	}
	return kept
}

func newEntry(m Marker, now time.Time) (entry, error) {
	switch {
	case m.Session == "":
		return entry{}, errors.New("no session")
	case !utf8.ValidString(m.Session) || strings.ContainsRune(m.Session, utf8.RuneError):
		return entry{}, errors.New("session key is not exact UTF-8")
	case strings.TrimSpace(m.Prompt) == "":
		return entry{}, errors.New("no prompt")
	case m.StartedAt < 0 || !finite(m.StartedAt) || !finite(m.WriterStart):
		return entry{}, errors.New("time out of range")
	}
	w := written{
		Attempts:     max(0, m.Attempts),
		Prompt:       cut(m.Prompt, maxPromptChars),
		StartedAt:    m.StartedAt,
		AutoContinue: m.AutoContinue,
	}
	if w.StartedAt == 0 {
		w.StartedAt = epoch(now)
	}
	if m.HasWriter && m.WriterPID > 0 {
		w.WriterPID, w.WriterStart = m.WriterPID, max(0, m.WriterStart)
	}
	key, err := encode(m.Session)
	if err != nil {
		return entry{}, err
	}
	value, err := encode(w)
	if err != nil {
		return entry{}, err
	}
	return entry{key: key, value: value, session: m.Session}, nil
}

// encode is json.Marshal without the escaping for HTML, which only costs room.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// cut keeps the first n code points, which is what Python's slice keeps.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func epoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func loadOrSetAside(path string, now time.Time) ([]entry, error) {
	entries, data, err := loadMarkers(path)
	if err == nil {
		return entries, nil
	}
	switch _, asideErr := setAside(path, data, now); {
	case errors.Is(asideErr, errNotSetAside), errors.Is(asideErr, fs.ErrNotExist):
		return nil, err
	case asideErr != nil:
		return nil, fmt.Errorf("set aside %s: %w", path, asideErr)
	}
	return nil, nil
}

// storeMarkers writes the file durably. Only desktop/ is made where it is missing.
func storeMarkers(path string, entries []entry) error {
	data := encodeMarkers(entries)
	if len(data) > maxMarkersFile {
		return &fs.PathError{Op: "write", Path: path, Err: fsstate.ErrTooLarge}
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsstate.ReplaceFile(path, data, 0o600)
}

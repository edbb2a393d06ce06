package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// The bounds of Hermes's own marker module (tui_gateway/turn_marker.py).
const (
	maxAge         = 24 * time.Hour // every writer drops entries that are older
	maxEntries     = 32             // and keeps the newest of the rest
	maxPromptChars = 64_000         // characters (code points) of a prompt
)

// Marker is one entry of Hermes's marker file: a turn that was begun and, while
// the entry stands, has not concluded.
type Marker struct {
	Session      string  // session key, the entry's name
	Prompt       string  // the original prompt, at most 64,000 characters; an escape of a lone surrogate reads as U+FFFD
	StartedAt    float64 // seconds since the epoch; with Session it names the turn
	Attempts     int     // continuations that led to this run, never negative
	AutoContinue bool    // true where the entry does not say
	WriterPID    int     // process that wrote the entry
	WriterStart  float64 // its psutil create time in seconds since the epoch; 0: not recorded
	HasWriter    bool    // false: an older Hermes, which recorded no writer

	// Extra holds the entry's other fields as they are spelled. They are for
	// reading: RecordMarker writes none of them, because a newer Hermes rejects
	// the whole file for a field that it does not know.
	Extra map[string]json.RawMessage
}

// MarkersPath is the path of Hermes's marker file in a home.
func MarkersPath(home string) string {
	return filepath.Join(home, "desktop", "interrupted_turns.json")
}

// Field names of an entry, exact in case as Python compares them.
const (
	fieldPrompt       = "prompt"
	fieldStartedAt    = "started_at"
	fieldAttempts     = "attempts"
	fieldAutoContinue = "auto_continue"
	fieldWriterPID    = "writer_pid"
	fieldWriterStart  = "writer_start_time"
)

var errWrongType = errors.New("wrong type")

// decodeMarker reads an entry's value. Where Hermes itself is lenient (a missing
// counter, a missing switch) this is too; a value of the wrong type is an error.
func decodeMarker(session string, value []byte) (Marker, error) {
	fields, err := decodeFields(value)
	if err != nil {
		return Marker{}, err
	}
	m := Marker{Session: session, AutoContinue: true}
	if m.StartedAt, err = seconds(fields[fieldStartedAt]); err != nil {
		return Marker{}, err
	}
	if err := json.Unmarshal(orNull(fields[fieldPrompt]), &m.Prompt); err != nil {
		return Marker{}, err
	}
	if strings.TrimSpace(m.Prompt) == "" {
		return Marker{}, errWrongType // Hermes: an entry without a prompt is no marker
	}
	if m.Attempts, err = count(fields[fieldAttempts]); err != nil {
		return Marker{}, err
	}
	// A null is Python's bool(None): off. Only a missing field means on.
	if raw, ok := fields[fieldAutoContinue]; ok {
		m.AutoContinue = false
		if err := json.Unmarshal(raw, &m.AutoContinue); err != nil {
			return Marker{}, err
		}
	}
	if raw := fields[fieldWriterPID]; !isNull(raw) {
		if err := json.Unmarshal(raw, &m.WriterPID); err != nil {
			return Marker{}, err
		}
		if m.WriterPID <= 0 {
			return Marker{}, errWrongType
		}
		m.HasWriter = true
	}
	if raw := fields[fieldWriterStart]; m.HasWriter && !isNull(raw) {
		if m.WriterStart, err = seconds(raw); err != nil {
			return Marker{}, err
		}
	}
	m.Extra = extraFields(fields)
	return m, nil
}

// decodeFields reads one object. Go's struct decoding is not used: it compares
// names without regard to case, so "PROMPT" would override "prompt".
func decodeFields(value []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, errWrongType // the value was null
	}
	return fields, nil
}

func extraFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	var extra map[string]json.RawMessage
	for name, raw := range fields {
		switch name {
		case fieldPrompt, fieldStartedAt, fieldAttempts, fieldAutoContinue, fieldWriterPID, fieldWriterStart:
		default:
			if extra == nil {
				extra = make(map[string]json.RawMessage)
			}
			extra[name] = raw
		}
	}
	return extra
}

// seconds reads a time: a finite number above zero, as newer versions of Hermes demand.
func seconds(raw json.RawMessage) (float64, error) {
	if isNull(raw) {
		return 0, errWrongType
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return 0, err
	}
	if f <= 0 || math.IsInf(f, 0) {
		return 0, errWrongType
	}
	return f, nil
}

// count reads attempts as Hermes does: missing is 0, a fraction is cut off, and
// less than none is none.
func count(raw json.RawMessage) (int, error) {
	if isNull(raw) {
		return 0, nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return 0, err
	}
	if f > math.MaxInt32 {
		return 0, errWrongType
	}
	return int(max(0, f)), nil
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

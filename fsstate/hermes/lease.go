package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// maxSmallFile bounds Hermes's other files: a registry of open sessions and a pid file.
const maxSmallFile = 1 << 20

// Lease is one entry of Hermes's registry of open sessions: a surface (cli, tui,
// desktop, a platform) of a process has the session open. It does not say that a
// turn runs.
type Lease struct {
	SessionID    string
	Surface      string  // "" where not told
	PID          int     // 0: not usable
	ProcessStart float64 // psutil's create time in seconds since the epoch; 0: not recorded
}

// ActiveLeases reads the registry of a home without taking Hermes's lock, which
// blocks without a time limit; Hermes replaces the file, so a reader sees one
// version of it. A missing file is no leases. A file that cannot be used is a
// [*BrokenError]: then nothing is known about who has what open. An entry that
// names a session but no usable owner is returned with PID 0, so that it holds
// back its own session and no other.
func ActiveLeases(home string) ([]Lease, error) {
	path := filepath.Join(home, "runtime", "active_sessions.json")
	data, _, err := fsstate.ReadFile(path, maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &BrokenError{Path: path, Err: err}
	}
	leases, err := parseLeases(data)
	if err != nil {
		return nil, &BrokenError{Path: path, Err: err}
	}
	return leases, nil
}

// LeaseOwner says whether the process that holds the lease lives, by the rule of [Writer].
func LeaseOwner(l Lease) (ident.Verdict, string) {
	return owner(l.PID, l.ProcessStart)
}

var errNoEntries = errors.New("no list of entries")

func parseLeases(data []byte) ([]Lease, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, errNotUTF8
	}
	var list json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	// {"entries": [...]}; the first versions wrote the bare list.
	if bytes.TrimSpace(list)[0] == '{' {
		fields, err := decodeFields(list)
		if err != nil {
			return nil, err
		}
		list = fields["entries"]
	}
	var members []json.RawMessage
	if err := json.Unmarshal(orNull(list), &members); err != nil {
		return nil, errNoEntries
	}
	if members == nil {
		return nil, errNoEntries
	}
	var leases []Lease
	for _, raw := range members {
		if l, ok := decodeLease(raw); ok {
			leases = append(leases, l)
		}
	}
	return leases, nil
}

func decodeLease(raw json.RawMessage) (Lease, bool) {
	fields, err := decodeFields(raw)
	if err != nil {
		return Lease{}, false
	}
	var l Lease
	if json.Unmarshal(orNull(fields["session_id"]), &l.SessionID) != nil || strings.TrimSpace(l.SessionID) == "" {
		return Lease{}, false
	}
	if json.Unmarshal(orNull(fields["surface"]), &l.Surface) != nil {
		l.Surface = ""
	}
	start, known := leaseStart(fields["process_start_time"])
	if !known {
		return l, true // an owner that is half understood is not judged
	}
	l.PID, l.ProcessStart = leasePID(fields["pid"]), start
	return l, true
}

// leasePID accepts what Hermes does, a number or its digits; 0 is everything else.
func leasePID(raw json.RawMessage) int {
	var pid int
	if json.Unmarshal(orNull(raw), &pid) != nil {
		var digits string
		if json.Unmarshal(raw, &digits) != nil {
			return 0
		}
		var err error
		if pid, err = strconv.Atoi(strings.TrimSpace(digits)); err != nil {
			return 0
		}
	}
	return max(0, pid)
}

// leaseStart accepts a number, its digits, and null or "" for not recorded.
func leaseStart(raw json.RawMessage) (start float64, known bool) {
	if isNull(raw) {
		return 0, true
	}
	if json.Unmarshal(raw, &start) != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return 0, false
		}
		if text == "" {
			return 0, true
		}
		var err error
		if start, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil {
			return 0, false
		}
	}
	return start, start >= 0 && !math.IsNaN(start) && !math.IsInf(start, 0)
}

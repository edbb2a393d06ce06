package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
)

// maxMarkersFile bounds the marker file: 32 entries of 64,000 characters, and room
// for the escapes that Python may write.
const maxMarkersFile = 16 << 20

// entry is one member of the marker file: as it is spelled, and as it reads.
type entry struct {
	key, value []byte // verbatim, without the white space around them
	session    string // the decoded key
	nameless   bool   // the key has no exact decoding (a lone surrogate): it is never matched
	shadowed   bool   // a later member has the same key, and Python's last one wins
	marker     Marker
	valid      bool // marker is meaningful
}

// ReadMarkers returns the entries of a home's marker file, oldest first. A missing
// file is no markers and no error. A file that cannot be used is no markers and a
// [*BrokenError], which the caller may show and otherwise ignore. Entries of the
// wrong shape are left out.
func ReadMarkers(home string) ([]Marker, error) {
	entries, _, err := loadMarkers(MarkersPath(home))
	if err != nil {
		return nil, err
	}
	var markers []Marker
	for _, e := range entries {
		if e.readable() {
			markers = append(markers, e.marker)
		}
	}
	slices.SortFunc(markers, func(a, b Marker) int {
		switch {
		case a.StartedAt < b.StartedAt:
			return -1
		case a.StartedAt > b.StartedAt:
			return 1
		default:
			return strings.Compare(a.Session, b.Session)
		}
	})
	return markers, nil
}

func (e *entry) readable() bool { return e.valid && !e.nameless && !e.shadowed }

// loadMarkers reads and slices the file. On a [*BrokenError] the data is what was
// read, nil where nothing could be.
func loadMarkers(path string) (entries []entry, data []byte, err error) {
	data, _, err = fsstate.ReadFile(path, maxMarkersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, &BrokenError{Path: path, Err: err}
	}
	entries, err = parseMarkers(data)
	if err != nil {
		if data == nil {
			data = []byte{} // an empty file is broken, but it was read
		}
		return nil, data, &BrokenError{Path: path, Err: err}
	}
	return entries, data, nil
}

var (
	errNotUTF8   = errors.New("not UTF-8")
	errNotObject = errors.New("not one JSON object")
)

// parseMarkers slices the file into its members. Python's NaN and Infinity, text
// after the object and nesting beyond encoding/json's limit make all of it broken.
func parseMarkers(data []byte) ([]entry, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Hermes reads some of its files as utf-8-sig
	if !utf8.Valid(data) {
		return nil, errNotUTF8
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	if whole = bytes.TrimSpace(whole); whole[0] != '{' {
		return nil, errNotObject
	}
	dec := json.NewDecoder(bytes.NewReader(whole))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var entries []entry
	last := make(map[string]int)
	for dec.More() {
		from := dec.InputOffset()
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		session, ok := name.(string)
		if !ok {
			return nil, errNotObject
		}
		// Between the members lie white space and one comma, then the key.
		key := bytes.TrimLeft(whole[from:dec.InputOffset()], " \t\r\n,")
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		e := entry{key: key, value: value, session: session, nameless: strings.ContainsRune(session, utf8.RuneError)}
		e.marker, err = decodeMarker(session, value)
		e.valid = err == nil && session != ""
		if !e.nameless {
			if i, twice := last[session]; twice {
				entries[i].shadowed = true
			}
			last[session] = len(entries)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// encodeMarkers is the inverse of parseMarkers, in the spacing of Python's json.dump.
func encodeMarkers(entries []entry) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(e.key)
		b.WriteString(": ")
		b.Write(e.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

package fsstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Document is one top-level JSON object. Keys are exact; values are kept as they were written, so that the fields that
// this version does not know survive a rewrite.
type Document map[string]json.RawMessage

// CorruptError is a file whose content is not what was ever written there.
type CorruptError struct {
	Path    string // "" where only the content was at hand
	Problem string // "has trailing data"
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return "document " + e.Problem
	}
	return "read " + e.Path + ": document " + e.Problem
}

// VersionError is a document that another version of the program wrote. It is left alone, never guessed at.
type VersionError struct{ Found, Known int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("document has version %d, this program knows %d", e.Found, e.Known)
}

// maxDepth bounds the nesting of a document: far above what is written, far below what hurts a reader.
const maxDepth = 100

// The fields that every document of ours may have.
const (
	versionKey = "version"
	macKey     = "mac"
)

// DecodeDocument reads one JSON object with "version" equal to version. A *CorruptError is: not an object, not UTF-8,
// data after it, nesting beyond 100, a key given twice, or twice but for upper and lower case (encoding/json would let
// the last one win), or a twisted or missing "version". A *VersionError is any other version.
func DecodeDocument(data []byte, version int) (Document, error) {
	d, problem := decodeObject(data)
	if problem != "" {
		return nil, &CorruptError{Problem: problem}
	}
	raw, ok := d[versionKey]
	if !ok {
		return nil, &CorruptError{Problem: "has no version"}
	}
	found, err := strconv.Atoi(string(raw))
	if err != nil {
		return nil, &CorruptError{Problem: "has a version that is no whole number"}
	}
	if found != version {
		return nil, &VersionError{Found: found, Known: version}
	}
	return d, nil
}

func decodeObject(data []byte) (d Document, problem string) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, "is empty"
	case !utf8.Valid(data):
		return nil, "is not UTF-8"
	case tooDeep(data):
		return nil, fmt.Sprintf("is nested deeper than %d", maxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return nil, "is not JSON: " + err.Error()
	} else if t != json.Delim('{') {
		return nil, "is not an object"
	}
	d = Document{}
	folded := map[string]string{versionKey: versionKey, macKey: macKey}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, "is not JSON: " + err.Error()
		}
		key, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, "is not JSON: " + err.Error()
		}
		if _, twice := d[key]; twice {
			return nil, fmt.Sprintf("has key %q twice", key)
		}
		if other, known := folded[fold(key)]; known && other != key {
			return nil, fmt.Sprintf("has key %q, which differs from %q only in case", key, other)
		}
		folded[fold(key)] = key
		d[key] = raw
	}
	if _, err := dec.Token(); err != nil {
		return nil, "is not JSON: " + err.Error()
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, "has trailing data"
	}
	return d, ""
}

// tooDeep looks at the nesting before a recursive decoder does. Text that is not JSON may be misjudged; the decoder
// finds that.
func tooDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// fold maps a key to what encoding/json takes it for: every rune to the smallest of those that it takes for the same.
func fold(key string) string {
	return string(bytes.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return lower(next)
			}
			r = next
		}
	}, []byte(key)))
}

// lower puts the folded ASCII letters, of which the capital is the smallest, where the known keys are spelled.
func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// Encode is the one text of a document: keys sorted, two spaces of indentation, a newline at the end. The error is that
// of a value that is no JSON.
func (d Document) Encode() ([]byte, error) {
	flat, err := d.compact()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(len(flat) + len(flat)/4)
	if err := json.Indent(&out, flat, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// compact is the document with its fields in order and no space between them, which is what a seal is over.
func (d Document) compact() ([]byte, error) {
	var flat bytes.Buffer
	flat.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(d)) {
		if i > 0 {
			flat.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		flat.Write(name)
		flat.WriteByte(':')
		if err := json.Compact(&flat, d[key]); err != nil {
			return nil, fmt.Errorf("encode field %q: %w", key, err)
		}
	}
	flat.WriteByte('}')
	return flat.Bytes(), nil
}

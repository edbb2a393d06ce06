package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// document is a parsed file: its raw values, and where each of them stands.
//
// The values are walked by hand, not decoded into the structs: the decoder takes keys in any case, takes a wrong type
// for an empty table, reports whichever fault the map order of the run comes upon first, and knows no line for a key
// that it does not know.
type document struct {
	file string
	text string
	root map[string]any
	keys []toml.Key // in the order of the file

	around *surroundings // nil: values are left as they are written
}

// parse reads the text as TOML. The error is an *Error.
func parse(file, text string) (doc *document, err error) {
	defer func() {
		// Syntax errors are returned; the parser panics where its own invariants break.
		if fault := recover(); fault != nil {
			doc, err = nil, &Error{File: file, Problem: "is no TOML that can be parsed"}
		}
	}()
	text = strings.TrimPrefix(text, "\ufeff") // the parser drops it too, but then its offsets are not those of the text
	if line := tooNested(text); line > 0 {
		return nil, &Error{File: file, Line: line, Col: 1, Problem: fmt.Sprintf("is nested deeper than %d levels", maxNesting)}
	}
	doc = &document{file: file, text: text}
	meta, err := toml.Decode(text, &doc.root)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	doc.keys = meta.Keys()
	return doc, nil
}

// definedTwice is how the parser says it; the key of the error itself is then the table's. Compiled when it is needed:
// every start of the program would pay for it.
var definedTwice = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Key '(.*)' (has already been defined|was already created .*)\.$`)
})

func syntaxError(file string, err error) error {
	fault, ok := errors.AsType[toml.ParseError](err)
	if !ok {
		return &Error{File: file, Problem: "is no TOML: " + err.Error()}
	}
	e := &Error{File: file, Line: fault.Position.Line, Col: fault.Position.Col, Key: fault.LastKey}
	if m := definedTwice().FindStringSubmatch(fault.Message); m != nil {
		e.Key, e.Problem = m[1], "is defined twice"
	} else {
		e.Problem = "is no TOML: " + strings.TrimSuffix(fault.Message, ".")
	}
	return e
}

// fault is the *Error of the key at path.
func (d *document) fault(path []string, problem, nearest string) error {
	line, col := d.position(path)
	return &Error{File: d.file, Line: line, Col: col, Key: toml.Key(path).String(), Problem: problem, Nearest: nearest}
}

// names returns the keys of the table at path in the order of the file, so that the first fault is the first to be told.
func (d *document) names(path []string, table map[string]any) []string {
	rank := make(map[string]int, len(table))
	for i, key := range d.keys {
		if len(key) > len(path) && below(key, path) {
			if _, seen := rank[key[len(path)]]; !seen {
				rank[key[len(path)]] = i
			}
		}
	}
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int { return rank[a] - rank[b] })
}

// position says where the key at path stands, or the first below it where it is never written alone ("agent" in
// "[agent.codex]"); 0, 0 where that cannot be told. Of an array of tables it is the last one that counts.
//
// The library keeps positions to itself, but puts that of the value being decoded into an error: so the value is decoded
// once more, into something that always fails.
func (d *document) position(path []string) (line, col int) {
	var at toml.Key
	for _, key := range d.keys {
		if !below(key, path) {
			continue
		}
		if at == nil || len(key) == len(path) {
			at = key
		}
		if len(key) == len(path) {
			break
		}
	}
	var table map[string]toml.Primitive
	meta, err := toml.Decode(d.text, &table)
	if err != nil {
		return 0, 0
	}
	for i, name := range at {
		value, found := table[name]
		if !found {
			return 0, 0
		}
		if i == len(at)-1 {
			fault, _ := errors.AsType[toml.ParseError](meta.PrimitiveDecode(value, &located{}))
			before := d.text[:min(fault.Position.Start, len(d.text))] // its Line is the last one of a string of many
			return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
		}
		table = nil
		var tables []map[string]toml.Primitive
		switch {
		case meta.PrimitiveDecode(value, &tables) == nil && len(tables) > 0: // first: an array is an empty table to the decoder
			table = tables[len(tables)-1]
		case meta.PrimitiveDecode(value, &table) == nil:
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// below tells whether key is path or in the table that path is.
func below(key toml.Key, path []string) bool {
	return len(key) >= len(path) && slices.Equal(key[:len(path)], path)
}

// located fails on every value.
type located struct{}

var errLocated = errors.New("here")

func (*located) UnmarshalTOML(any) error { return errLocated }

// kind names a raw value's type for people.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	default:
		return fmt.Sprintf("a date or time (%T)", v)
	}
}

package config

import (
	"strconv"
	"strings"
)

// elements are one document for each of the n tables of the array [[name]]: the same text, but only as far as the table
// goes, and only the keys of that table.
//
// The parser keeps one position for a key, that of its last occurrence. In a text that ends with a table the last one is
// this table's, and the last element of the array the table itself.
func (d *document) elements(name string, n int) []*document {
	ends := arrayTables(d.text, name)
	if len(ends) != n {
		ends = make([]int, n) // written as no scan expects it: faults are told without a line
	}
	ends = append(ends, len(d.text))
	var starts []int
	for i, key := range d.keys {
		if len(key) == 1 && key[0] == name {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(d.keys))
	elements := make([]*document, n)
	for i := range elements {
		elements[i] = &document{file: d.file, around: d.around, text: d.text[:ends[i+1]], keys: d.keys[starts[i]:starts[i+1]]}
	}
	return elements
}

// arrayTables are the offsets of the lines [[name]]. It knows as much of TOML as tooNested does.
func arrayTables(text, name string) []int {
	var offsets []int
	depth, begins := 0, true // begins: nothing but space has been seen of the line
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			begins = true
			continue
		case ' ', '\t', '\r':
			continue
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end - 1
			} else {
				i = len(text)
			}
		case '"', '\'':
			i += stringLength(text[i:]) - 1
		case '[', '{':
			if inner, found := strings.CutPrefix(text[i:], "[["); found && begins && depth == 0 && headerName(inner) == name {
				offsets = append(offsets, i)
			}
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		begins = false
	}
	return offsets
}

// headerName is the name of an array's table from what stands behind its brackets, "" where it is not a single one.
func headerName(text string) string {
	name, _, _ := strings.Cut(text, "]")
	name = strings.TrimSpace(name)
	if strings.HasPrefix(name, `"`) {
		name, _ = strconv.Unquote(name)
		return name
	}
	return strings.Trim(name, "'")
}

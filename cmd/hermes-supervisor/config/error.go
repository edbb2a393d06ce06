package config

import (
	"fmt"
	"strings"
	"unicode"
)

// Error is what is wrong with a configuration file, or with finding it. Its text is one line:
//
//	hermes.toml:7: agent.claude.comand: unknown key (did you mean "command"?)
//
// Exit code 78.
type Error struct {
	File    string // as it was named
	Line    int    // from 1; 0 where the fault is the file's as a whole
	Col     int    // of the value or of the syntax error, in bytes from 1; 0 where Line is
	Key     string // dotted, quoted where TOML would; "" where no key is at fault
	Problem string // a phrase for people
	Nearest string // the known word that was probably meant; "" where none is near
}

// Bounds of what a line shows of a file's own words, so that a key of a megabyte stays one line.
const (
	maxKey     = 120
	maxProblem = 400
)

func (e *Error) Error() string {
	var b strings.Builder
	if e.File == "" {
		b.WriteString("hermes.toml")
	} else {
		b.WriteString(oneLine(e.File, 4096))
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Key != "" {
		b.WriteString(": " + oneLine(e.Key, maxKey))
	}
	b.WriteString(": " + oneLine(e.Problem, maxProblem))
	if e.Nearest != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Nearest)
	}
	return b.String()
}

// oneLine makes s fit for a terminal and a log: at most limit characters, no line end, no escape sequence. What a file
// says is not ours to trust, least of all where it is binary.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hermes-supervisor/supervise/process"
)

// Agents can write the files that our lines are made of, and a terminal obeys what is printed on it: it is cleared,
// renamed, or shows another text than the one that stands there.

// shown is one line as a terminal may have it: what does not print, line breaks too, is spelled out as Go spells it.
func shown(s string) string {
	if !strings.ContainsFunc(s, unshown) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unshown(r) {
			spelled := strconv.Quote(s[:n])
			b.WriteString(spelled[1 : len(spelled)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// unshown holds for U+FFFD too: a byte that is no text is read as that.
func unshown(r rune) bool { return r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError }

// shownLines is shown for a text of several lines.
func shownLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = shown(lines[i])
	}
	return strings.Join(lines, "\n")
}

// shownAt is a text that is printed as it is, but on a terminal.
func shownAt(to io.Writer, s string) string {
	if f, is := to.(*os.File); is && process.IsTerminal(f) {
		return shownLines(s)
	}
	return s
}

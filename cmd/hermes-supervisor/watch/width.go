package watch

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// A key or an error line may hold anything, and terminals do not agree on the width of everything. Here a text is never
// taken for narrower than a terminal shows it, so that a row ends before the edge at the worst.

// clean is a text in one line, without what would move the cursor or turn the writing round.
func clean(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && r >= ' ' && r < 0x7f
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || unicode.IsSpace(r):
			return ' '
		case r == emojiStyle:
			return -1 // makes the rune before it wide in some terminals
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}

const emojiStyle = '\ufe0f'

// runeWidth is how many columns a printable rune takes.
func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// widthOf is how many columns a clean text takes.
func widthOf(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// within tells whether a clean text takes at most n columns. Of a long one it reads no more than it has to.
func within(s string, n int) bool {
	for _, r := range s {
		if n -= runeWidth(r); n < 0 {
			return false
		}
	}
	return n >= 0
}

// cut is a clean text in at most n columns; what is left out is told by an ellipsis.
func cut(s string, n int) string {
	if widthOf(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	taken := 0
	for i, r := range s {
		if w := runeWidth(r); taken+w > n-1 {
			return s[:i] + "…"
		} else {
			taken += w
		}
	}
	return s
}

// fit is a clean text in exactly n columns.
func fit(s string, n int, right bool) string {
	s = cut(s, n)
	space := strings.Repeat(" ", max(n-widthOf(s), 0))
	if right {
		return space + s
	}
	return s + space
}

// wrap breaks a clean text into lines of at most n columns, at spaces where there are some. What follows stands under the
// second column of the text, where it has one, else under its first word.
func wrap(s string, n int) []string {
	n = max(n, 1)
	s = strings.TrimRight(s, " ")
	if widthOf(s) <= n {
		return []string{s}
	}
	head := hanging(s)
	if widthOf(head) > n/2 {
		head = ""
	}
	indent := strings.Repeat(" ", widthOf(head))
	var lines []string
	line, begun := head, false
	for word := range strings.FieldsSeq(s[len(head):]) {
		for word != "" {
			space := ""
			if begun {
				space = " "
			}
			if within(word, n-widthOf(line)-len(space)) {
				line, begun, word = line+space+word, true, ""
				continue
			}
			if !begun { // it is too long for any line
				part := prefix(word, n-widthOf(line))
				line, word = line+part, word[len(part):]
			}
			lines, line, begun = append(lines, line), indent, false
		}
	}
	if begun {
		lines = append(lines, line)
	}
	return lines
}

// hanging is a text up to its second column, which two spaces or more come before; its indentation where it has none.
func hanging(s string) string {
	first := len(s) - len(strings.TrimLeft(s, " "))
	if gap := strings.Index(s[first:], "  "); gap >= 0 {
		rest := strings.TrimLeft(s[first+gap:], " ")
		return s[:len(s)-len(rest)]
	}
	return s[:first]
}

// prefix is the beginning of a word in at most n columns, and at least one rune of it.
func prefix(s string, n int) string {
	taken := 0
	for i, r := range s {
		if taken += runeWidth(r); taken > n && i > 0 {
			return s[:i]
		}
	}
	return s
}

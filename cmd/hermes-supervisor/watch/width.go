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

// wrap breaks a clean text into lines of at most n columns, at spaces where there are some, and keeps its indentation.
func wrap(s string, n int) []string {
	n = max(n, 1)
	body := strings.TrimLeft(s, " ")
	indent := strings.Repeat(" ", min(len(s)-len(body), n/2))
	var lines []string
	line := indent
	for _, word := range strings.Fields(body) {
		for {
			space := " "
			if line == indent {
				space = ""
			}
			if widthOf(line)+len(space)+widthOf(word) <= n {
				line += space + word
				break
			}
			if line != indent {
				lines, line = append(lines, line), indent
				continue
			}
			head := prefix(word, n-widthOf(indent))
			lines, word = append(lines, indent+head), word[len(head):]
		}
	}
	if line != indent || len(lines) == 0 {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
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

package config

import "strings"

// maxNesting bounds the depth of brackets, and of one dotted key. Ours has five levels. The parser keeps every prefix of
// a key: a dotted key of 16 KiB costs it 3 s, one of 128 KiB all memory (measured, v1.6.0).
const maxNesting = 16

// tooNested returns the first line that goes deeper than maxNesting, 0 where none does. It knows just enough of TOML to
// leave out strings and comments; text that it misreads is text that the parser refuses.
func tooNested(text string) (line int) {
	line = 1
	depth, dots := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			line++
			dots = 0
		case '=', ',':
			dots = 0
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end - 1
			} else {
				i = len(text)
			}
		case '"', '\'':
			end := i + stringLength(text[i:])
			line += strings.Count(text[i:end], "\n")
			i = end - 1
		case '.':
			dots++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxNesting || dots > maxNesting {
			return line
		}
	}
	return 0
}

// stringLength is the length of the TOML string that text begins with, with its quotes; where it is not closed, of what
// is left of the line or, for a string of many lines, of the text.
func stringLength(text string) int {
	quote := text[:1]
	closing, many := quote, strings.HasPrefix(text, strings.Repeat(quote, 3))
	if many {
		closing = strings.Repeat(quote, 3)
	}
	for i := len(closing); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == `"`:
			i++
		case text[i] == '\n' && !many:
			return i
		case strings.HasPrefix(text[i:], closing):
			end := i + len(closing)
			for extra := 0; many && extra < 2 && strings.HasPrefix(text[end:], quote); extra++ {
				end++ // """a""""" ends in two quotes of its own
			}
			return end
		}
	}
	return len(text)
}

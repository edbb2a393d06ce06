package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shellWord reads one word of a command line as a POSIX shell does, and is at any point of it the text so far and the
// quotes that are open. Nothing is run: of expansions it knows variables, of getenv, and the ~ at the beginning.
type shellWord struct {
	getenv func(string) string
	raw    string // what was read
	text   strings.Builder
	quote  byte // 0, ', ", or $ for $'…'
}

// read takes the word's bytes up to an unquoted one of stop, and returns how many these are.
func (w *shellWord) read(line, stop string) int {
	i := 0
	for i < len(line) {
		c := line[i]
		if w.quote == 0 && strings.IndexByte(stop, c) >= 0 {
			break
		}
		n := w.take(line[i:], i == 0)
		i += n
	}
	w.raw = line[:i]
	return i
}

// take reads the next piece of the word and returns its length.
func (w *shellWord) take(rest string, first bool) int {
	c := rest[0]
	switch {
	case w.quote == '\'' && c == '\'', w.quote == '"' && c == '"', w.quote == '$' && c == '\'':
		w.quote = 0
	case w.quote == '\'':
		w.text.WriteByte(c)
	case w.quote == 0 && (c == '\'' || c == '"'):
		w.quote = c
	case w.quote == 0 && strings.HasPrefix(rest, "$'"):
		w.quote = '$'
		return 2
	case w.quote == '$' && c == '\\':
		return w.escape(rest)
	case c == '\\' && len(rest) == 1: // a half of something
		return 1
	case c == '\\' && (w.quote == 0 || strings.IndexByte("\\\"$`\n", rest[1]) >= 0):
		if rest[1] != '\n' {
			w.text.WriteByte(rest[1])
		}
		return 2
	case c == '$' && w.quote != '$':
		return w.variable(rest)
	case c == '~' && first && w.quote == 0 && (len(rest) == 1 || rest[1] == '/'):
		w.text.WriteString(w.getenv("HOME"))
	default:
		w.text.WriteByte(c)
	}
	return 1
}

// variable puts the value of $NAME or ${NAME} in its place; what is no such thing stays as it is.
func (w *shellWord) variable(rest string) int {
	var end int
	name := rest[1:]
	if strings.HasPrefix(name, "{") {
		if end = strings.IndexByte(name, '}'); end > 0 {
			w.text.WriteString(w.getenv(name[1:end]))
			return end + 2
		}
	}
	for end = 0; end < len(name) && (name[end] == '_' || name[end] < utf8.RuneSelf && (unicode.IsLetter(rune(name[end])) || end > 0 && unicode.IsDigit(rune(name[end])))); {
		end++
	}
	if end == 0 {
		w.text.WriteByte('$')
		return 1
	}
	w.text.WriteString(w.getenv(name[:end]))
	return end + 1
}

// escape reads one escape of $'…': those that ansiQuoted writes, which is what a completed word has in it.
func (w *shellWord) escape(rest string) int {
	if len(rest) == 1 {
		return 1
	}
	var code byte
	switch rest[1] {
	case 'n':
		w.text.WriteByte('\n')
	case 't':
		w.text.WriteByte('\t')
	case 'r':
		w.text.WriteByte('\r')
	case 'x':
		if len(rest) < 4 {
			return len(rest)
		}
		if _, err := fmt.Sscanf(rest[2:4], "%02x", &code); err == nil {
			w.text.WriteByte(code)
			return 4
		}
	default:
		w.text.WriteByte(rest[1])
	}
	return 2
}

// lineWords splits a command line up to the cursor: the whole words of the last command in it, and the one that the cursor
// is in, as it stands there.
func lineWords(line string, getenv func(string) string) (words []string, raw string) {
	for {
		line = strings.TrimLeft(line, " \t\n")
		w := shellWord{getenv: getenv}
		n := w.read(line, " \t\n|;&()<>")
		if n == len(line) {
			return words, w.raw
		}
		if n > 0 {
			words = append(words, w.text.String())
		}
		if line[n] != ' ' && line[n] != '\t' && line[n] != '\n' {
			if strings.IndexByte("|;&(", line[n]) >= 0 {
				words = nil // another command begins
			}
			n++
		}
		line = line[n:]
	}
}

// bashWord is what stands in place of the rest of a word in bash, whose beginning, with the quote that is open there,
// stays.
func bashWord(rest string, begins bool, quote byte) string {
	switch quote {
	case '\'':
		return inParts(rest, "'", func(r rune) string {
			if r == '\'' {
				return `'\''`
			}
			return string(r)
		})
	case '"':
		return inParts(rest, `"`, func(r rune) string {
			switch r {
			case '!': // bash's history knows no escape that leaves nothing behind
				return `"'!'"`
			case '\\', '"', '$', '`':
				return `\` + string(r)
			}
			return string(r)
		})
	case '$':
		return ansiQuoted(rest)
	}
	if strings.ContainsFunc(rest, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
		return "$'" + ansiQuoted(rest) + "'"
	}
	if rest == "" && begins {
		return "''"
	}
	var b strings.Builder
	for i, r := range rest {
		if r < utf8.RuneSelf && special(r) && r != '~' || r == '~' && begins && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inParts is text within quotes, out of which it steps for what a terminal must not get.
func inParts(text, quote string, within func(r rune) string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteString(within(r))
			continue
		}
		b.WriteString(quote + "$'" + ansiQuoted(string(r)) + "'" + quote)
	}
	return b.String()
}

// ansiQuoted is text as it stands within $'…'.
func ansiQuoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\\' || r == '\'':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
	}
	return b.String()
}

// powershellWord is text as one word of PowerShell, in which the escape of a quoted word is `.
func powershellWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return special(r) || strings.ContainsRune("@%,", r) }) {
		return text
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("`n")
		case r == '\t':
			b.WriteString("`t")
		case r == '\r':
			b.WriteString("`r")
		case strings.ContainsRune("`$\"“”„", r): // PowerShell takes the typographic ones for quotes too
			b.WriteString("`" + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "$([char]%d)", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

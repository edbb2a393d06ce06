package watch

import (
	"strings"
	"unicode/utf8"
)

// Key is one key: what it writes, or one of the names below.
type Key string

// Keys that write nothing.
const (
	KeyUp       Key = "up"
	KeyDown     Key = "down"
	KeyPageUp   Key = "page-up"
	KeyPageDown Key = "page-down"
	KeyHome     Key = "home"
	KeyEnd      Key = "end"
	KeyEscape   Key = "escape"
	KeyEnter    Key = "enter"
	KeyTab      Key = "tab"
	KeyBackTab  Key = "back-tab"
	KeyCtrlC    Key = "ctrl-c"
	KeyCtrlL    Key = "ctrl-l"
	KeyCtrlZ    Key = "ctrl-z"
	KeyUnknown  Key = "unknown"

	// What stands between these two was pasted.
	KeyPasteBegin Key = "paste-begin"
	KeyPasteEnd   Key = "paste-end"
)

// keyOf is the key of what terminals send after ESC (xterm's, and what the Linux console and screen send where that
// differs). No table: one is made at each start of the program, a hook's too.
func keyOf(sequence string) Key {
	switch sequence {
	case "[A", "OA":
		return KeyUp
	case "[B", "OB":
		return KeyDown
	case "[5~":
		return KeyPageUp
	case "[6~":
		return KeyPageDown
	case "[H", "OH", "[1~", "[7~":
		return KeyHome
	case "[F", "OF", "[4~", "[8~":
		return KeyEnd
	case "[Z":
		return KeyBackTab
	case "[200~":
		return KeyPasteBegin
	case "[201~":
		return KeyPasteEnd
	}
	return KeyUnknown
}

const escape = 0x1b

// Keys takes the keys off the beginning of what a terminal sent. rest is the beginning of a key whose end has not come:
// an ESC that stays alone is the key itself, which only time tells (last).
func Keys(sent []byte, last bool) (keys []Key, rest []byte) {
	for len(sent) > 0 {
		k, n := nextKey(sent, last)
		if n == 0 {
			return keys, sent
		}
		keys, sent = append(keys, k), sent[n:]
	}
	return keys, nil
}

// nextKey is the first key and how many bytes it takes; 0: it is not complete.
func nextKey(b []byte, last bool) (Key, int) {
	if b[0] == escape {
		return escapeKey(b, last)
	}
	switch b[0] {
	case 3:
		return KeyCtrlC, 1
	case 9:
		return KeyTab, 1
	case 10, 13:
		return KeyEnter, 1
	case 12:
		return KeyCtrlL, 1
	case 26:
		return KeyCtrlZ, 1
	case 14: // Ctrl-N and Ctrl-P, as in a shell
		return KeyDown, 1
	case 16:
		return KeyUp, 1
	}
	if !utf8.FullRune(b) && !last {
		return "", 0
	}
	r, n := utf8.DecodeRune(b)
	if r < ' ' || r == utf8.RuneError {
		return KeyUnknown, n
	}
	return Key(b[:n]), n
}

func escapeKey(b []byte, last bool) (Key, int) {
	if len(b) == 1 || b[1] != '[' && b[1] != 'O' {
		if len(b) == 1 && !last {
			return "", 0
		}
		return KeyEscape, 1
	}
	for i := 2; i < len(b); i++ {
		if c := b[i]; c >= 0x40 && c <= 0x7e || b[1] == 'O' { // the final byte (ECMA-48 5.4)
			return keyOf(string(b[1 : i+1])), i + 1
		}
	}
	if last {
		return KeyUnknown, len(b)
	}
	return "", 0
}

// isRune tells whether a key writes one of these characters.
func (k Key) isRune(of string) bool { return len(k) == 1 && strings.Contains(of, string(k)) }

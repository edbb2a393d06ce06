package manager

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// settings are the keys of a systemd unit that matter here. A key that stands twice in a file counts once more: the last
// one, but for Environment, which adds up.
type settings struct {
	exec    []string // ExecStart
	env     map[string]string
	files   []string        // EnvironmentFile, which outranks Environment
	passed  map[string]bool // PassEnvironment: what the manager itself has there
	stop    time.Duration   // TimeoutStopSec; 0 where there is none
	unclear bool            // something in exec, env or files needs a specifier's value
}

// readSystemd reads the text of a unit and its drop-ins, in their order. userHome is what %h means.
func readSystemd(userHome string, texts ...string) settings {
	s := settings{env: map[string]string{}, passed: map[string]bool{}}
	for _, text := range texts {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
		for line := range strings.Lines(text) {
			key, value, found := strings.Cut(strings.TrimSpace(line), "=")
			if !found || strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";") {
				continue
			}
			value = strings.TrimSpace(value)
			switch strings.TrimSpace(key) {
			case "ExecStart":
				s.exec = s.words(value, userHome)
				for i := 1; i < len(s.exec); i++ {
					s.exec[i] = strings.ReplaceAll(s.exec[i], "$$", "$")
				}
			case "Environment":
				if value == "" {
					clear(s.env)
				}
				for _, word := range s.words(value, userHome) {
					name, v, _ := strings.Cut(word, "=")
					s.env[name] = v
				}
			case "EnvironmentFile":
				if value == "" {
					s.files = nil
				} else {
					s.files = append(s.files, s.expand(value, userHome))
				}
			case "PassEnvironment":
				for _, name := range s.words(value, userHome) {
					s.passed[name] = true
				}
			case "TimeoutStopSec", "TimeoutSec":
				s.stop = span(value)
			}
		}
	}
	return s
}

// value is what a unit's processes have of a variable; known is false where that is not in the unit, or could not be read.
func (s *settings) value(name string) (value string, known bool) {
	value, set := s.env[name]
	known = set || !s.passed[name]
	for _, path := range s.files {
		path, optional := strings.CutPrefix(path, "-")
		data, err := readUnit(path)
		switch {
		case optional && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", false
		}
		for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
			if key, text, found := strings.Cut(strings.TrimSpace(line), "="); found && strings.TrimSpace(key) == name {
				value, known = strings.Trim(strings.TrimSpace(text), `"'`), true
			}
		}
	}
	return value, known
}

// words splits a value as systemd.syntax(7) says, and replaces the specifiers that are known here.
func (s *settings) words(value, userHome string) []string {
	var words []string
	var word strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && i+1 < len(value):
			i++
			word.WriteByte(value[i]) // of the escapes only those of quotes and backslashes are written here or by Hermes
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				words = append(words, s.expand(word.String(), userHome))
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, s.expand(word.String(), userHome))
	}
	return words
}

func (s *settings) expand(word, userHome string) string {
	if !strings.Contains(word, "%") {
		return word
	}
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] != '%' || i+1 == len(word) {
			b.WriteByte(word[i])
			continue
		}
		i++
		switch word[i] {
		case '%':
			b.WriteByte('%')
		case 'h':
			b.WriteString(userHome)
		default:
			s.unclear = true
			b.WriteString(word[i-1 : i+1])
		}
	}
	return b.String()
}

// units are those of systemd.time(7) that a stop may take.
var units = []struct {
	name string
	is   time.Duration
}{
	{"ms", time.Millisecond},
	{"msec", time.Millisecond},
	{"us", time.Microsecond},
	{"usec", time.Microsecond},
	{"", time.Second},
	{"s", time.Second},
	{"sec", time.Second},
	{"second", time.Second},
	{"seconds", time.Second},
	{"m", time.Minute},
	{"min", time.Minute},
	{"minute", time.Minute},
	{"minutes", time.Minute},
	{"h", time.Hour},
	{"hr", time.Hour},
	{"hour", time.Hour},
	{"hours", time.Hour},
	{"d", 24 * time.Hour},
	{"day", 24 * time.Hour},
	{"days", 24 * time.Hour},
}

// span reads a time span of systemd.time(7): "94", "1min 30s", "infinity". 0 where it is none.
func span(text string) time.Duration {
	if text == "infinity" || text == "0" { // 0 is "no timeout" to systemd
		return Forever
	}
	var total time.Duration
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
		number, err := strconv.ParseFloat(text[:digits], 64)
		if err != nil {
			return 0
		}
		text = strings.TrimSpace(text[digits:])
		letters := len(text) - len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz"))
		found := false
		for _, u := range units {
			if u.name == text[:letters] {
				total += time.Duration(number * float64(u.is))
				found = true
			}
		}
		if !found || total < 0 {
			return 0
		}
		text = text[letters:]
	}
	return total
}

package config

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// The placeholders of a service's values.
const (
	placeHome    = "{{home}}"
	placeProfile = "{{profile}}"
)

var servicePlaceholders = []string{placeHome, placeProfile}

// surroundings are what the values of a service may name.
type surroundings struct {
	lookup func(name string) (string, bool)
	home   string                            // the user's home folder, "" where none is known
	read   func(path string) (string, error) // the text of an env file
}

func ownSurroundings() *surroundings {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // an error only for who writes ~
	}
	return &surroundings{lookup: os.LookupEnv, home: home, read: read}
}

// maxValue bounds an expanded value: Linux hands on no argument and no variable that is longer.
const maxValue = 128 << 10

// maxDefaults is how many defaults may stand in one another.
const maxDefaults = 8

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// expand replaces what the package's documentation says. The problem is a phrase for people that shows nothing of a
// variable's value.
func (a *surroundings) expand(text string, depth int) (value, problem string) {
	if depth > maxDefaults {
		return "", fmt.Sprintf("has more than %d defaults in one another", maxDefaults)
	}
	var b strings.Builder
	if text == "~" || strings.HasPrefix(text, "~/") || strings.HasPrefix(text, "~"+string(os.PathSeparator)) {
		if a.home == "" {
			return "", "no home folder of the user is known for ~"
		}
		b.WriteString(a.home)
		text = text[1:]
	}
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case b.Len() > maxValue:
			return "", fmt.Sprintf("is longer than %d KiB when it is expanded", maxValue>>10)
		case !found:
			return b.String(), ""
		case strings.HasPrefix(rest, "$"), strings.HasPrefix(rest, "~"):
			b.WriteByte(rest[0])
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			end := closing(rest)
			if end < 0 {
				return "", "has a ${ that is not closed"
			}
			value, problem := a.variable(rest[1:end], depth)
			if problem != "" {
				return "", problem
			}
			b.WriteString(value)
			text = rest[end+1:]
		default:
			return "", "has a $ of its own (write $$ for it, ${NAME} for a variable)"
		}
	}
}

// variable is what stands for ${reference}.
func (a *surroundings) variable(reference string, depth int) (value, problem string) {
	name, otherwise, hasDefault := strings.Cut(reference, ":-")
	if !variableName().MatchString(name) {
		return "", fmt.Sprintf("%.60q names no variable (as in ${NAME} or ${NAME:-default})", "${"+reference+"}")
	}
	value, set := a.lookup(name)
	switch {
	case set && !utf8.ValidString(value):
		return "", "the value of the variable " + name + " is no UTF-8"
	case set && (value != "" || !hasDefault):
		return value, ""
	case hasDefault:
		return a.expand(otherwise, depth+1)
	}
	return "", "the variable " + name + " is not set (${" + name + ":-} takes nothing for it)"
}

// closing is the offset of the brace that closes the one that text begins with, -1 where none does.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// literal is the text that expand turns into the value.
func literal(value string) string {
	value = strings.ReplaceAll(value, "$", "$$")
	if strings.HasPrefix(value, "~") {
		value = "$" + value
	}
	return value
}

// rewrite returns a copy of the service in which each value that can be expanded has been through f. The first fault
// ends it.
func (s Service) rewrite(f func(value string) (string, *fault)) (Service, *fault) {
	var bad *fault
	// about begins the problem of a value that is one of several.
	through := func(key, value string, about func() string) string {
		if bad != nil || value == "" {
			return value
		}
		got, wrong := f(value)
		if wrong != nil {
			bad = &fault{key: key, problem: about() + wrong.problem, nearest: wrong.nearest}
		}
		return got
	}
	alone := func() string { return "" }
	s.Command = slices.Clone(s.Command)
	for i, element := range s.Command {
		s.Command[i] = through("command", element, func() string { return fmt.Sprintf("element %d %.60q: ", i+1, element) })
	}
	s.Cwd = through("cwd", s.Cwd, alone)
	s.Env = maps.Clone(s.Env)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[name] = through("env", s.Env[name], func() string { return fmt.Sprintf("%.60q: ", name) })
	}
	s.EnvFile = slices.Clone(s.EnvFile)
	for i, path := range s.EnvFile {
		s.EnvFile[i] = through("env_file", path, alone)
	}
	if s.Ready != nil {
		ready := *s.Ready
		ready.File = through("ready.file", ready.File, alone)
		s.Ready = &ready
	}
	if s.Health != nil {
		health := *s.Health
		health.Heartbeat = through("health.heartbeat", health.Heartbeat, alone)
		s.Health = &health
	}
	return s, bad
}

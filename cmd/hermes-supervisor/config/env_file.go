package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// readEnv reads an env file of the service. The error is an *Error and shows no line of the file, since what is not
// understood may be a secret.
func (s Service) readEnv(path string, read func(string) (string, error)) (map[string]string, error) {
	text, err := read(path)
	if err != nil {
		return nil, &Error{File: path, Problem: err.Error()}
	}
	vars := map[string]string{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, problem := parseAssignment(line)
		if problem == "" {
			problem = checkVariable(name)
		}
		if _, twice := vars[name]; twice && problem == "" {
			problem = name + " is set twice"
		}
		if slices.Contains(s.UnsetEnv, name) && problem == "" {
			problem = name + " is in unset_env too"
		}
		if problem != "" {
			return nil, &Error{File: path, Line: n, Col: 1, Problem: problem}
		}
		vars[name] = value
	}
	return vars, nil
}

// parseAssignment reads KEY=VALUE. A value is taken as it is, without the space around it; in single quotes with that
// too; in double quotes \n, \" and \\ are a line end, a quote and a backslash. Nothing is expanded.
func parseAssignment(line string) (name, value, problem string) {
	name, value, found := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
		return "", "", "is no UTF-8 text"
	case !found:
		return "", "", "is no KEY=VALUE"
	case !variableName().MatchString(name):
		return "", "", "has no variable's name before the = (letters, digits and _)"
	case value != "" && (value[0] == '\'' || value[0] == '"'):
		value, problem = unquote(value)
		return name, value, problem
	case strings.Contains(value, " #"), strings.Contains(value, "\t#"):
		return "", "", "has a # in a value without quotes: put the value into quotes, or the comment on a line of its own"
	}
	return name, value, ""
}

// unquote reads a value in the quotes that it begins with. Behind them a comment may stand.
func unquote(text string) (value, problem string) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			if rest := strings.TrimSpace(text[i+1:]); rest != "" && !strings.HasPrefix(rest, "#") {
				return "", "has more than a comment behind the closing quote"
			}
			return b.String(), ""
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte(`n"\`, text[i+1]) >= 0:
			i++
			if c = text[i]; c == 'n' {
				c = '\n'
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Sprintf("has a quote %c that is not closed on the line", quote)
}

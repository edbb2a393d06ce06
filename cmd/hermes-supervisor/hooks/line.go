package hooks

import (
	"reflect"
	"regexp"
	"strings"
)

// hole is where the command line stands in the entry that the configuration gives.
const hole = "{{command}}"

// hook tells hooks of ours from a person's.
type hook struct {
	agent string
	form  any            // our entry
	shape map[string]any // the object of it that has the hole
}

// is tells whether an object of a settings file is a hook of ours, wherever this program lay. Only the member counts that
// our entry has the command line in. Under another name than ours the program may be anyone's: then the object must be one
// that we could have written, to the last member.
func (h hook) is(object map[string]any) bool {
	if line, exact := filled(h.form, object); exact && h.written(line) {
		return true
	}
	line, exact := filled(h.shape, object)
	return h.named(line) || exact && h.written(line)
}

// filled gives the command line in an object, and whether the object is the form with that line in it.
func filled(form, object any) (line string, exact bool) {
	line, found := lineOf(form, object)
	return line, found && reflect.DeepEqual(fill(form, line), object)
}

// named tells whether a line runs a hook of a program that has our name.
func (h hook) named(line string) bool {
	program, _, ok := h.split(line)
	return ok && strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe") == "hermes-supervisor"
}

// written tells whether install could have written a line, whatever the program's name was.
func (h hook) written(line string) bool {
	program, flags, ok := h.split(line)
	return ok && absolute(program) && ourFlags(flags)
}

func (h hook) split(line string) (program string, flags []string, ok bool) {
	words, plain := splitLine(line)
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	end := len(words) - 2
	if !plain || end < 1 || words[end] != "hook" || words[end+1] != h.agent {
		return "", nil, false
	}
	return words[0], words[1:end], true
}

// absolute is filepath.IsAbs for the paths of every system: settings are carried from one to another.
func absolute(path string) bool {
	return regexp.MustCompile(`^(/|\\\\|[A-Za-z]:[/\\])`).MatchString(path)
}

// ourFlags tells whether these are the arguments that install puts before the word hook.
func ourFlags(words []string) bool {
	for len(words) > 0 {
		switch {
		case words[0] == "--unsafe-filesystem":
			words = words[1:]
		case (words[0] == "--home" || words[0] == "--config") && len(words) > 1:
			words = words[2:]
		default:
			return false
		}
	}
	return true
}

// lineOf is the command line in a value, where the form has its hole. What stands around the hole in the form is taken
// off if it is there: an older form had other words around it.
func lineOf(form, v any) (line string, found bool) {
	switch form := form.(type) {
	case string:
		text, isText := v.(string)
		before, after, there := strings.Cut(form, hole)
		if !isText || !there {
			return "", false
		}
		if strings.HasPrefix(text, before) && strings.HasSuffix(text, after) && len(text) >= len(before)+len(after) {
			text = text[len(before) : len(text)-len(after)]
		}
		return text, true
	case []any:
		list, _ := v.([]any)
		for i := range min(len(form), len(list)) {
			if line, found = lineOf(form[i], list[i]); found {
				return line, true
			}
		}
	case map[string]any:
		object, _ := v.(map[string]any)
		for name, member := range form {
			if line, found = lineOf(member, object[name]); found {
				return line, true
			}
		}
	}
	return "", false
}

// innermost is the object of a form that has the hole, and no object inside it has it.
func innermost(form any) map[string]any {
	var inside []any
	object, isObject := form.(map[string]any)
	for _, member := range object {
		inside = append(inside, member)
	}
	if list, isList := form.([]any); isList {
		inside = list
	}
	for _, part := range inside {
		if found := innermost(part); found != nil {
			return found
		}
	}
	if _, found := lineOf(object, object); isObject && found {
		return object
	}
	return nil
}

// fill is a form with a command line in its hole.
func fill(form any, line string) any {
	switch form := form.(type) {
	case string:
		return strings.Replace(form, hole, line, 1)
	case []any:
		list := make([]any, len(form))
		for i := range form {
			list[i] = fill(form[i], line)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, member := range form {
			object[name] = fill(member, line)
		}
		return object
	}
	return form
}

// ShellLine is a command line for a shell, and for what splits as one.
func ShellLine(argv []string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
	words := make([]string, len(argv))
	for i, word := range argv {
		if words[i] = word; !plain.MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// splitLine is the inverse of ShellLine, and understands how people quote. A line is plain if it is one command: no pipe,
// no list, no redirection, no comment.
func splitLine(line string) (words []string, plain bool) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			word.WriteByte(c)
		case c == '\\' && i+1 < len(line) && strings.IndexByte(`'"\ `, line[i+1]) >= 0: // any other is that of a Windows path
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case strings.IndexByte("\n|&;<>()`", c) >= 0 || c == '#' && !inWord:
			return nil, false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}

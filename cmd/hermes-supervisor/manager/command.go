package manager

import "strings"

// command is the command line of a unit, and the HERMES_HOME that its environment or that command line sets; known is false
// where it cannot be told what it sets.
func (f file) command(userHome string) (argv []string, home string, known bool) {
	known = true
	switch f.manager {
	case Systemd:
		s := f.settings(userHome)
		home, known = s.value("HERMES_HOME")
		if s.unclear && (f.scope == System || strings.Contains(home, "%")) { // %h of another user, or no specifier that is known here
			known = false
		}
		argv = s.exec
	case Launchd:
		_, array, _ := strings.Cut(withoutComments(f.text), "<key>ProgramArguments</key>")
		array, _, _ = strings.Cut(array, "</array>")
		argv, home = xmlTexts(array, "string"), plistString(f.text, "HERMES_HOME")
	case WindowsTask:
		for _, text := range xmlTexts(f.text, "Arguments") {
			argv = append(argv, windowsWords(text)...)
		}
		if argv != nil {
			argv = append(xmlTexts(f.text, "Command"), argv...)
		}
	default:
		argv = strings.Fields(f.text) // a script of one exec
	}
	for _, arg := range argv { // of env, or in the script of a shell
		value, sets := strings.CutPrefix(arg, "HERMES_HOME=")
		switch {
		case sets && !strings.ContainsAny(value, "$`'\"\\ ;"):
			home = value
		case strings.Contains(arg, "HERMES_HOME"):
			known = false
		}
	}
	return argv, home, known && len(argv) > 0
}

// settings are those of a systemd unit with its drop-ins.
func (f file) settings(userHome string) settings {
	return readSystemd(userHome, append([]string{f.text}, f.dropIns...)...)
}

// Given is what the drop-ins of a systemd unit set in its environment, which install does not write.
func Given(roots Roots, scope, name string) func(variable string) (value string, set bool) {
	s := readSystemd(roots.UserHome, dropIns(roots, scope, name)...)
	return func(variable string) (string, bool) {
		value, _ := s.value(variable)
		return value, value != ""
	}
}

// flagOf is the value of a flag in a command line, written apart or with =; "" where it is not there.
func flagOf(argv []string, flag string) string {
	for i, arg := range argv {
		if arg == flag && i+1 < len(argv) {
			return argv[i+1]
		}
		if value, is := strings.CutPrefix(arg, flag+"="); is {
			return value
		}
	}
	return ""
}

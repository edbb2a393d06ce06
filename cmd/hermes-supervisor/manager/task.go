package manager

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// TaskXML is the task by which Windows's Task Scheduler runs a job when its user logs on, as `schtasks /Create /XML`
// takes it (schema 1.2 of learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema). UTF16 is what has to be in the
// file.
func TaskXML(j Job, name string) string {
	var b strings.Builder
	line := func(depth int, text string) { b.WriteString(strings.Repeat("  ", depth) + text + "\n") }
	element := func(depth int, name, text string) {
		line(depth, "<"+name+">"+escapeXML(text)+"</"+name+">")
	}
	user := func(depth int) {
		if j.RunAs != "" {
			element(depth, "UserId", j.RunAs)
		}
	}
	argv := j.argv(FinalElsewhere)
	line(0, `<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">`)
	line(1, "<RegistrationInfo>")
	element(2, "Description", "Agents' turns, services and handoffs")
	element(2, "URI", `\`+name)
	line(1, "</RegistrationInfo>")
	line(1, "<Triggers>")
	line(2, "<LogonTrigger>")
	element(3, "Enabled", "true")
	user(3)
	line(2, "</LogonTrigger>")
	line(1, "</Triggers>")
	line(1, "<Principals>")
	line(2, `<Principal id="Author">`)
	user(3)
	element(3, "LogonType", "InteractiveToken")
	element(3, "RunLevel", "LeastPrivilege")
	line(2, "</Principal>")
	line(1, "</Principals>")
	line(1, "<Settings>")
	line(2, "<!-- A second one would find the home in use. -->")
	element(2, "MultipleInstancesPolicy", "IgnoreNew")
	element(2, "DisallowStartIfOnBatteries", "false")
	element(2, "StopIfGoingOnBatteries", "false")
	element(2, "AllowHardTerminate", "true")
	element(2, "StartWhenAvailable", "true")
	element(2, "AllowStartOnDemand", "true")
	element(2, "Enabled", "true")
	line(2, "<!-- It runs for months: without this it would be ended after three days. -->")
	element(2, "ExecutionTimeLimit", "PT0S")
	line(2, "<!-- Every code but 0 is a failure here: the argument final-exit has what a restart would not mend end with 0. -->")
	line(2, "<RestartOnFailure>")
	element(3, "Interval", "PT1M")
	element(3, "Count", "999")
	line(2, "</RestartOnFailure>")
	line(1, "</Settings>")
	line(1, `<Actions Context="Author">`)
	line(2, "<Exec>")
	element(3, "Command", argv[0])
	element(3, "Arguments", windowsLine(argv[1:]))
	line(2, "</Exec>")
	line(1, "</Actions>")
	line(0, "</Task>")
	return xmlDeclaration("UTF-16") + mark("<!-- ", " -->", b.String())
}

// windowsLine is a command line that CommandLineToArgvW takes apart again: backslashes count only before a quote.
func windowsLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		if arg != "" && !strings.ContainsAny(arg, " \t\"") {
			words[i] = arg
			continue
		}
		var b strings.Builder
		b.WriteByte('"')
		slashes := 0
		for _, c := range []byte(arg) {
			switch c {
			case '\\':
				slashes++
			case '"':
				b.WriteString(strings.Repeat(`\`, slashes+1))
				slashes = 0
			default:
				slashes = 0
			}
			b.WriteByte(c)
		}
		b.WriteString(strings.Repeat(`\`, slashes) + `"`)
		words[i] = b.String()
	}
	return strings.Join(words, " ")
}

// UTF16 is text as schtasks reads it: little-endian, with its mark.
func UTF16(text string) []byte {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(text, "\n", "\r\n"))) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

// plainText is the text of a file that may be UTF-16, with plain line ends.
func plainText(data []byte) string {
	if len(data) < 2 || data[0] != 0xff || data[1] != 0xfe {
		return string(data)
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, binary.LittleEndian.Uint16(data[i:]))
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "\r\n", "\n")
}

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// schema is the "schema" of all JSON that the program prints. Readers ignore fields that they do not know.
const schema = 1

// printJSON prints one object with its schema.
func (a *app) printJSON(fields map[string]any) error {
	fields["schema"] = schema
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(fields)
}

// orEmpty is a list that JSON shows as one, also where it is empty.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// jsonLine prints one object as one line on stderr: an error, or how a turn ended whose output has stdout.
func (a *app) jsonLine(fields map[string]any) error {
	line, err := json.Marshal(fields)
	if err == nil {
		_, err = fmt.Fprintf(a.errs(), "%s\n", line)
	}
	return err
}

// table prints rows: aligned under a header with ages for a terminal, tab-separated with RFC 3339 times for a program.
func (a *app) table(header []string, rows [][]any) error {
	person := process.IsTerminal(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if person {
		fmt.Fprintln(w, strings.Join(header, "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = text(cell, person)
		}
		line := strings.Join(cells, "\t")
		if !person {
			if _, err := fmt.Fprintln(a.stdout, line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

func text(cell any, person bool) string {
	switch v := cell.(type) {
	case time.Time:
		switch {
		case v.IsZero():
			return "-"
		case person:
			return age(time.Since(v))
		}
		return v.UTC().Format(time.RFC3339)
	case string:
		return printable(v)
	}
	return fmt.Sprint(cell)
}

// age is how long ago something was, or how far ahead it lies.
func age(d time.Duration) string {
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// span is a length of time in the largest unit that says it.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// printable keeps a session key, which may hold any character, from moving the cursor or breaking a row.
func printable(s string) string {
	if s == "" {
		return "-"
	}
	if quoted := fmt.Sprintf("%q", s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

// maxLabel is how much of a session's key a sentence for people shows.
const maxLabel = 80

// label is a session's key within a sentence: quoted and short, since a key may be 10,000 characters of anything.
func label(session string) string {
	if runes := []rune(session); len(runes) > maxLabel {
		session = string(runes[:maxLabel]) + "…"
	}
	return fmt.Sprintf("%q", session)
}

// special says whether a shell may take a rune of a word for more than itself.
func special(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_:@%+=./,-", r)
}

// word is a session's key or a path as a shell takes it, in a command that a person may copy; KEY where it would not
// be one short line.
func word(s string) string {
	switch {
	case len(s) > maxLabel || s == "" || s[0] == '-' || strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || !unicode.IsPrint(r) }):
		return "KEY"
	case !strings.ContainsFunc(s, special):
		return s
	}
	return "'" + s + "'"
}

// remedy is what would change a decision about a turn, with the session's own key in the commands that it names. agent is
// what the turn's record names: without one, who resumes the turn has to.
func remedy(r policy.Reason, session, agent string) string {
	text := strings.ReplaceAll(r.Remedy(), "`turn resume KEY`", "`"+resuming(session, agent)+"`")
	return strings.ReplaceAll(text, "KEY", word(session))
}

// resuming is the command that goes on with a session's turn, as far as its record tells.
func resuming(session, agent string) string {
	line := "turn resume " + word(session)
	if agent != "" {
		return line
	}
	if name := wrapperOf(session); name != "" {
		return line + " --agent " + name
	}
	return line + " -- …"
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

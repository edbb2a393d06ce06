// Package wrap reads an agent's own command line as its user types it, by the table [agent.NAME.wrap], and finds the turn in
// it: the prompt, the session, and what a continuation would run. It reads nothing else and runs nothing.
//
// What it does not understand for certain is no turn: such a command line is run as it is, since a wrong guess would record
// a flag's value for the prompt.
package wrap

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// Call is the turn in a command line.
type Call struct {
	// Prompt is what the command line asks; PromptFile is a file that holds it instead, and with FromStdin stdin does.
	Prompt     string
	PromptFile string
	FromStdin  bool
	// Beside: the agent reads its stdin beside the prompt.
	Beside bool
	// Session is the agent's id of the session where the command line names one. Chosen: it names none, and Command gives
	// the agent one of ours.
	Session string
	Chosen  bool
	// First, Command and Resume are argv without the program, as templates: the first run's where Command would not be
	// what was typed (else nil), that of a run without a session to go on with, and that of a continuation.
	First, Command, Resume []string
}

// NotATurn is the answer to a command line that is run as it is. Silent: nobody needs to be told.
type NotATurn struct {
	Why    string
	Silent bool
}

func notATurn(format string, args ...any) *NotATurn {
	return &NotATurn{Why: fmt.Sprintf(format, args...)}
}

// Read finds the turn in args. piped tells whether stdin is no terminal; literal writes a text so that a template keeps it.
func Read(w config.Wrap, args []string, piped bool, literal func(string) string) (*Call, *NotATurn) {
	l := &line{grammar: w, literal: literal, promptAt: -1, wordAt: -1}
	if why := l.read(args); why != nil {
		return nil, why
	}
	if why := l.settle(piped); why != nil {
		return nil, why
	}
	l.call.First, l.call.Command, l.call.Resume = l.templates()
	return &l.call, nil
}

// settle decides whether what was read is one turn.
func (l *line) settle(piped bool) *NotATurn {
	w := l.grammar
	switch {
	case len(w.Words) > 0 && l.wordAt < 0:
		return notATurn("no %s", strings.Join(w.Words, " or "))
	case len(w.OneShot) > 0 && !l.oneShot:
		return notATurn("it is interactive without %s", strings.Join(w.OneShot, " or "))
	}
	c := &l.call
	if l.starts > 1 || l.starts == 1 && c.Session == "" {
		return notATurn("its session has an empty id, or two")
	}
	if l.starts == 1 && l.joined { // a continuation could not leave it out alone
		return notATurn("a flag that chooses its session stands in one word with another")
	}
	switch {
	case l.prompts == 1 && c.FromStdin, l.prompts == 1 && c.PromptFile != "":
	case l.prompts == 1 && c.Prompt == "":
		return notATurn("its prompt is empty")
	case l.prompts == 1:
		c.Beside = w.ReadsStdin
	case l.prompts > 1 && w.Positional == config.WrapPrompts && l.promptAt >= 0:
		c.Beside = w.ReadsStdin
		if strings.TrimSpace(c.Prompt) == "" {
			return notATurn("its prompt is empty")
		}
	case l.prompts > 1:
		return notATurn("it has more than one prompt")
	case w.Positional == config.WrapOther && (!w.Piped || l.others > 0):
		return notATurn("no prompt is given by %s", strings.Join(slices.Concat(w.PromptFlags, w.PromptFileFlags), " or "))
	case !piped:
		return notATurn("no prompt is given")
	default:
		c.FromStdin = true
	}
	if c.FromStdin && !piped {
		return notATurn("its prompt comes from the terminal")
	}
	// A new session that is begun out of another (a fork) exists when that has been done, and is the one to go on with: the
	// same command line would be refused for its id.
	l.repeat = l.repeat || l.resumes && l.starts == 0
	c.Chosen = len(w.Choose) > 0 && l.starts == 0 && !l.repeat
	return nil
}

// isStdin tells whether a prompt file is stdin.
func isStdin(path string) bool { return path == "-" || filepath.ToSlash(path) == "/dev/stdin" }

package wrap

import (
	"slices"
)

// The placeholders of a turn's argv that are put in here.
const (
	promptValue  = "{{prompt}}"
	fileValue    = "{{prompt_file}}"
	sessionValue = "{{agent_session}}"
)

// templates are the three argv of the call.
func (l *line) templates() (first, command, resume []string) {
	command = l.fill(l.pieces)
	if l.call.Chosen {
		command = slices.Insert(command, l.wordAt+1, l.grammar.Choose...)
	}
	if l.prompts > 1 { // the prompt's words are handed on as they came; what comes later is one text
		for _, p := range l.pieces {
			first = append(first, l.literal(p.text))
		}
	}
	resume = command
	if !l.repeat && len(l.grammar.Resume)+len(l.grammar.ResumeLast) > 0 {
		resume = l.resume()
	}
	return first, command, resume
}

// fill is a template of the pieces, with one prompt in it.
func (l *line) fill(pieces []piece) []string {
	argv := make([]string, 0, len(pieces))
	told := false
	for _, p := range pieces {
		value := l.literal(p.value())
		switch p.role {
		case promptIs:
			if told {
				continue
			}
			told, value = true, promptValue
		case promptFile:
			value = fileValue
		case sessionIs:
			if !l.repeat { // there the same command line comes again
				value = sessionValue
			}
		case kept, flagged, word, sessionOf, resuming, terminator:
		}
		argv = append(argv, l.literal(p.text[:p.head])+value)
	}
	return argv
}

// resume is a continuation's template: without what chose the session, with what goes on with it.
func (l *line) resume() []string {
	w := l.grammar
	var pieces []piece
	if len(w.ResumeLast) > 0 {
		pieces = l.flagsFirst()
		if n := len(pieces); n > 0 && pieces[n-1].list { // it would take what comes next for one more of its values
			return l.fill(l.pieces)
		}
		argv := append(l.fill(pieces), w.ResumeLast...)
		if !l.call.FromStdin {
			return append(argv, promptValue)
		}
		if w.StdinWord != "" {
			argv = append(argv, w.StdinWord)
		}
		return argv
	}
	at := 0
	for _, p := range l.pieces {
		if p.role != sessionOf && p.role != sessionIs && p.role != resuming {
			pieces = append(pieces, p)
		}
		if p.role == word {
			at = len(pieces)
		}
	}
	return slices.Insert(l.fill(pieces), at, w.Resume...)
}

// flagsFirst are the subcommand and all flags, those that take several values before the others.
func (l *line) flagsFirst() []piece {
	var before, lists, flags []piece
	for i, p := range l.pieces {
		switch {
		case i <= l.wordAt:
			before = append(before, p)
		case p.role != flagged:
		case p.list, i+1 < len(l.pieces) && l.pieces[i+1].list && !p.list && p.head == 0:
			lists = append(lists, p)
		default:
			flags = append(flags, p)
		}
	}
	return slices.Concat(before, lists, flags)
}

package wrap

import (
	"slices"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// role is what an argument is to a continuation.
type role int

const (
	kept       role = iota
	flagged         // a flag, or its value: it may be moved before the prompt
	word            // a subcommand
	promptIs        // the prompt, or a flag with it
	promptFile      // the path of a file with it
	sessionIs       // the id of a new session
	sessionOf       // the flag before that
	resuming        // a flag that goes on with a session, or its value
	terminator      // --
)

// piece is one argument. What stands before its value is its head: "--model=".
type piece struct {
	text string
	head int
	role role
	list bool // a value of a flag that takes several
}

func (p piece) value() string { return p.text[p.head:] }

// line is a command line that is being read.
type line struct {
	grammar config.Wrap
	literal func(string) string

	call     Call
	pieces   []piece
	wordAt   int // where the subcommand stands, -1: nowhere
	promptAt int // where the first word of a prompt stands, -1: nowhere
	prompts  int // how many times a prompt was given
	others   int // words that are nothing known
	oneShot  bool
	resumes  bool // it goes on with a session
	starts   int  // how many new sessions it names
	repeat   bool // a continuation is the same command line
	joined   bool // a flag that chooses the session stands in one word with another
	awaitID  bool // the next word is a session's id
}

// kinds of flags, by what follows them.
type kind int

const (
	unknown kind = iota
	boolean
	value
	optional
	list
)

func (l *line) kind(flag string) kind {
	w := l.grammar
	has := func(lists ...[]string) bool {
		return slices.ContainsFunc(lists, func(flags []string) bool { return slices.Contains(flags, flag) })
	}
	switch {
	case has(w.PromptFlags, w.PromptFileFlags, w.StartFlags, w.ValueFlags):
		return value
	case has(w.ResumeFlags, w.OptionalFlags):
		return optional
	case has(w.ListFlags):
		return list
	case has(w.BoolFlags, w.OneShot, w.LastFlags, w.SessionlessFlags, w.OtherFlags, w.SilentFlags):
		return boolean
	}
	return unknown
}

func (l *line) read(args []string) *NotATurn {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			l.add(arg, 0, terminator)
			for _, word := range args[i+1:] {
				if why := l.word(word); why != nil {
					return why
				}
			}
			return nil
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if why := l.word(arg); why != nil {
				return why
			}
			continue
		}
		flag, head, why := l.flagOf(arg)
		if why != nil {
			return why
		}
		if head > 0 {
			l.notice(flag)
			l.take(flag, arg, head)
			continue
		}
		follows := i+1 < len(args)
		plain := follows && (!strings.HasPrefix(args[i+1], "-") || args[i+1] == "-")
		switch l.kind(flag) {
		case value:
			if !follows {
				return notATurn("%s has no value", flag)
			}
			l.flag(flag, arg)
			i++
			l.take(flag, args[i], 0)
		case optional:
			l.flag(flag, arg)
			if plain {
				i++
				l.take(flag, args[i], 0)
			}
		case list:
			l.flag(flag, arg)
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				l.add(args[i], 0, flagged)
				l.pieces[len(l.pieces)-1].list = true
			}
		case unknown:
			if plain && l.grammar.Positional != config.WrapOther {
				return notATurn("whether %s takes a value is not known", flag)
			}
			l.add(arg, 0, flagged)
		case boolean:
			l.flag(flag, arg)
		}
	}
	return nil
}

// flagOf splits --flag=value, -fVALUE, and flags in one word (-pv); head is where the value begins, 0: in another word.
// Flags that end the search for a turn do so here.
func (l *line) flagOf(arg string) (flag string, head int, _ *NotATurn) {
	flag = arg
	if strings.HasPrefix(arg, "--") {
		if name, _, joined := strings.Cut(arg, "="); joined {
			flag, head = name, len(name)+1
		}
		return flag, head, l.ends(flag)
	}
	chooses := false
	for at := 1; at < len(arg); at++ {
		flag = "-" + arg[at:at+1]
		chooses = chooses || slices.Contains(l.grammar.StartFlags, flag) || l.goesOn(flag)
		l.joined = l.joined || chooses && at > 1
		if why := l.ends(flag); why != nil {
			return flag, 0, why
		}
		rest := arg[at+1:]
		switch l.kind(flag) {
		case value, optional, list:
			if rest == "" {
				return flag, 0, nil
			}
			head = at + 1
			if rest[0] == '=' {
				head++
			}
			return flag, head, nil
		case boolean:
			l.notice(flag)
		case unknown:
			return arg, 0, nil
		}
	}
	return flag, 0, nil
}

// ends tells of a flag that makes the command line no turn.
func (l *line) ends(flag string) *NotATurn {
	switch {
	case slices.Contains(l.grammar.SilentFlags, flag):
		return &NotATurn{Why: "it prints a text", Silent: true}
	case slices.Contains(l.grammar.OtherFlags, flag):
		return notATurn("%s makes it something else than one turn", flag)
	}
	return nil
}

// goesOn tells a flag that goes on with a session.
func (l *line) goesOn(flag string) bool {
	return slices.Contains(l.grammar.LastFlags, flag) || slices.Contains(l.grammar.ResumeFlags, flag)
}

// notice takes in what a flag says by being there.
func (l *line) notice(flag string) {
	w := l.grammar
	switch {
	case slices.Contains(w.OneShot, flag):
		l.oneShot = true
	case l.goesOn(flag):
		l.resumes = true
		l.awaitID = false
	case slices.Contains(w.SessionlessFlags, flag):
		l.repeat = true
	}
}

func (l *line) add(text string, head int, r role) {
	l.pieces = append(l.pieces, piece{text: text, head: head, role: r})
}

// flag is a flag whose value, if it has one, stands in the next word.
func (l *line) flag(flag, arg string) {
	l.notice(flag)
	w, r := l.grammar, flagged
	switch {
	case slices.Contains(w.PromptFlags, flag), slices.Contains(w.PromptFileFlags, flag):
		r = kept
	case slices.Contains(w.StartFlags, flag):
		r = sessionOf
	case l.goesOn(flag):
		r = resuming
	}
	l.add(arg, 0, r)
}

// take is the value of a flag that was noticed, in arg behind head.
func (l *line) take(flag, arg string, head int) {
	w, v := l.grammar, arg[head:]
	r := flagged
	switch {
	case slices.Contains(w.PromptFlags, flag):
		l.prompts++
		l.call.Prompt, r = v, promptIs
	case slices.Contains(w.PromptFileFlags, flag) && isStdin(v):
		l.prompts++
		l.call.FromStdin, r = true, kept
	case slices.Contains(w.PromptFileFlags, flag):
		l.prompts++
		l.call.PromptFile, r = v, promptFile
	case slices.Contains(w.StartFlags, flag):
		l.call.Session, r = v, sessionIs
		l.starts++
	case l.goesOn(flag):
		r = resuming
		if l.starts == 0 && looksLikeID(v) { // else the new session is the one that counts
			l.call.Session = v
		}
	}
	l.add(arg, head, r)
}

// word is an argument that belongs to no flag.
func (l *line) word(arg string) *NotATurn {
	w := l.grammar
	switch {
	case len(w.Words) > 0 && l.wordAt < 0:
		if !slices.Contains(w.Words, arg) {
			return notATurn("%.40s is something else than %s", arg, strings.Join(w.Words, " or "))
		}
		l.wordAt = len(l.pieces)
		l.add(arg, 0, word)
		return nil
	case l.promptAt < 0 && l.others == 0 && !l.resumes && w.ResumeWord != "" && arg == w.ResumeWord:
		l.resumes, l.awaitID = true, !l.hasLast()
		l.add(arg, 0, word)
		return nil
	case l.promptAt < 0 && l.others == 0 && slices.Contains(w.Commands, arg):
		return notATurn("%s is a command of its own", arg)
	case l.awaitID:
		l.awaitID = false
		if looksLikeID(arg) {
			l.call.Session = arg
		}
		l.add(arg, 0, kept)
		return nil
	case w.Positional == config.WrapOther:
		l.others++
		l.add(arg, 0, kept)
		return nil
	}
	l.prompts++
	if l.promptAt < 0 {
		l.promptAt = len(l.pieces)
		l.call.Prompt = arg
	} else {
		l.call.Prompt += " " + arg
	}
	if w.StdinWord != "" && arg == w.StdinWord {
		l.call.FromStdin = true
		l.add(arg, 0, kept)
		return nil
	}
	l.add(arg, 0, promptIs)
	return nil
}

// looksLikeID tells the id of a session from "latest", or its number in a list, which mean another one elsewhere.
func looksLikeID(s string) bool { return len(s) >= 8 && strings.ContainsAny(s, "0123456789") }

func (l *line) hasLast() bool {
	return slices.ContainsFunc(l.pieces, func(p piece) bool { return slices.Contains(l.grammar.LastFlags, p.text) })
}

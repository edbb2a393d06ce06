package config

import (
	"fmt"
	"slices"
	"strings"
)

// Wrap is how an agent's own command line is read, so that `hermes-supervisor NAME …` can protect the turn in it. Flags are
// written as the agent has them, "-m" or "--model", each in one list at most.
type Wrap struct {
	// Words are subcommands, one of which a one-shot run has as its first word; none: it has no subcommand.
	Words []string `toml:"words"`
	// ResumeWord is a subcommand behind that, whose first word is the id of a session: such a run goes on with it.
	ResumeWord string `toml:"resume_word"`
	// Commands are words in the place of a prompt that are none, but subcommands.
	Commands []string `toml:"commands"`
	// Positional says what a word is that belongs to no flag: WrapPrompt, WrapPrompts or WrapOther.
	Positional string `toml:"positional"`
	// OneShot are flags without one of which the agent is interactive.
	OneShot []string `toml:"one_shot"`
	// PromptFlags have the prompt as their value, PromptFileFlags the path of a file with it ("-" is stdin).
	PromptFlags     []string `toml:"prompt_flags"`
	PromptFileFlags []string `toml:"prompt_file_flags"`
	// StartFlags have the id of a new session as their value, ResumeFlags that of one that is gone on with (or nothing);
	// LastFlags take no value and go on with one. With these two a continuation runs the same command line once more; with a
	// StartFlag beside them (a fork) it goes on with the new session, without any of these.
	StartFlags  []string `toml:"start_flags"`
	ResumeFlags []string `toml:"resume_flags"`
	LastFlags   []string `toml:"last_flags"`
	// SessionlessFlags say that there is no session to go on with.
	SessionlessFlags []string `toml:"sessionless_flags"`
	// OtherFlags make of a run something else than one turn. SilentFlags print a text and end.
	OtherFlags  []string `toml:"other_flags"`
	SilentFlags []string `toml:"silent_flags"`
	// ValueFlags take a value, OptionalFlags one unless a flag follows, ListFlags all up to the next flag, BoolFlags none.
	ValueFlags    []string `toml:"value_flags"`
	OptionalFlags []string `toml:"optional_flags"`
	ListFlags     []string `toml:"list_flags"`
	BoolFlags     []string `toml:"bool_flags"`
	// Choose is put in for a session whose id we choose, behind the subcommand. Resume is put in its place in a
	// continuation, and ResumeLast behind all flags, before the prompt.
	Choose     []string `toml:"choose"`
	Resume     []string `toml:"resume"`
	ResumeLast []string `toml:"resume_last"`
	// ReadsStdin says that the agent reads its stdin, as the prompt or beside one; StdinWait, how long it waits for the first
	// byte of what stands beside one, 0: to the end. StdinWord is a prompt that means stdin; Piped, that a run is a one-shot
	// one when its stdin is no terminal.
	ReadsStdin bool     `toml:"reads_stdin"`
	StdinWait  Duration `toml:"stdin_wait,omitzero"`
	StdinWord  string   `toml:"stdin_word"`
	Piped      bool     `toml:"piped"`
	// StreamFlags are flags, "--json" or "--format=json", with one of which the agent prints the events of its preset. In any
	// other output a line like one of them is the model's own word, and says nothing.
	StreamFlags []string `toml:"stream_flags"`
}

// What the words of a command line are.
const (
	WrapPrompt  = "prompt"  // the first one is the prompt
	WrapPrompts = "prompts" // together they are the prompt
	WrapOther   = "other"   // not the prompt
)

func (w *Wrap) check() *fault {
	if w == nil {
		return nil
	}
	if f := oneOf("positional", w.Positional, WrapPrompt, WrapPrompts, WrapOther); f != nil {
		return f
	}
	for _, flag := range w.StreamFlags {
		if !strings.HasPrefix(flag, "-") {
			return &fault{key: "stream_flags", problem: fmt.Sprintf("%.60q is no flag", flag)}
		}
	}
	seen := map[string]string{}
	for _, list := range []struct {
		key   string
		flags []string
	}{
		{"one_shot", w.OneShot},
		{"prompt_flags", w.PromptFlags},
		{"prompt_file_flags", w.PromptFileFlags},
		{"start_flags", w.StartFlags},
		{"resume_flags", w.ResumeFlags},
		{"last_flags", w.LastFlags},
		{"sessionless_flags", w.SessionlessFlags},
		{"other_flags", w.OtherFlags},
		{"silent_flags", w.SilentFlags},
		{"value_flags", w.ValueFlags},
		{"optional_flags", w.OptionalFlags},
		{"list_flags", w.ListFlags},
		{"bool_flags", w.BoolFlags},
	} {
		for _, flag := range list.flags {
			if !strings.HasPrefix(flag, "-") || flag == "-" || flag == "--" || strings.Contains(flag, "=") {
				return &fault{key: list.key, problem: fmt.Sprintf("%.60q is no flag", flag)}
			}
			if other, twice := seen[flag]; twice {
				return &fault{key: list.key, other: other, problem: fmt.Sprintf("%.60q is in %s already", flag, other)}
			}
			seen[flag] = list.key
		}
	}
	for _, list := range []struct {
		key      string
		elements []string
	}{{"choose", w.Choose}, {"resume", w.Resume}, {"resume_last", w.ResumeLast}} {
		for i, element := range list.elements {
			if name := unknownPlaceholder(element, []string{sessionPlaceholder}); name != "" || strings.ContainsRune(element, 0) {
				return &fault{key: list.key, problem: fmt.Sprintf("element %d %.60q: has a NUL character, or {{ that is not %s", i+1, element, sessionPlaceholder)}
			}
		}
	}
	if len(w.Choose) > 0 && !slices.Contains(w.Choose, sessionPlaceholder) {
		return &fault{key: "choose", problem: "has no element " + sessionPlaceholder}
	}
	return nil
}

// Streams tells whether a command line asks for the events of the preset.
func (w Wrap) Streams(args []string) bool {
	for i, arg := range args {
		if arg == "--" {
			return false
		}
		for _, flag := range w.StreamFlags {
			name, value, valued := strings.Cut(flag, "=")
			if arg == flag || valued && arg == name && i+1 < len(args) && args[i+1] == value {
				return true
			}
		}
	}
	return false
}

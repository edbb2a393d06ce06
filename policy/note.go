package policy

import (
	"fmt"
	"strings"
)

// NoteFacts are what a continuation is told.
type NoteFacts struct {
	Prompt     string // the request; a note of ours at its beginning is taken off first
	Attempt    int    // which continuation this is, 1 for the first
	Unobserved bool   // nobody saw how the run before it ended
}

// Hermes's replay finds a note by its beginning and cuts it at the first "]".
// So no "]" may stand inside, and both ends are Hermes's words: its notes and
// ours can be taken off by the same code. The longer beginning ("mid-run") is
// the one that its terminal front end looks for.
const (
	noteBegin = "[System note: Your previous turn was interrupted"
	noteEnd   = "The interrupted request was:"
	noteClose = "]\n\n"

	noteCut = noteBegin + " mid-run: the process doing it stopped before the turn could finish." +
		" Some of the work may already be done."
	noteUnseen = noteBegin + " mid-run, or it ended while nobody was watching: nothing says which." +
		" The task may already be complete: verify that first, and if it is, report the result and do nothing more."

	// A killed tool call is invisible to the model in Claude Code and Gemini CLI
	// (tried), and blind repeats made reboot loops
	// (NousResearch/hermes-agent#49201).
	noteRules = " A command may have run without its result being seen: check the current state before you repeat anything," +
		" and do not repeat a command that restarts or stops this machine, a service or this agent." +
		" Then finish the task. "
)

// Note returns the prompt of a continuation: a note in one bracket, a blank
// line, and the original request byte for byte. A continuation of a
// continuation carries the request once.
func Note(n NoteFacts) string {
	head := noteCut
	if n.Unobserved {
		head = noteUnseen
	}
	again := ""
	if n.Attempt > 1 {
		again = fmt.Sprintf(" This is continuation %d of the same request.", n.Attempt)
	}
	return head + again + noteRules + noteEnd + noteClose + Original(n.Prompt)
}

// Original returns the request inside a prompt that Note or Hermes made, and
// any other prompt as it is. It is what a marker records: a recorded note
// would nest note in note at the next crash.
func Original(prompt string) string {
	for strings.HasPrefix(prompt, noteBegin) {
		note, rest, found := strings.Cut(prompt, noteClose)
		// A person may quote the beginning of a note. Only a whole one is taken off.
		if !found || strings.Contains(note, "]") || !strings.HasSuffix(note, noteEnd) {
			return prompt
		}
		prompt = rest
	}
	return prompt
}

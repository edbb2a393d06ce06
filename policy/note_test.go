package policy

import (
	"strings"
	"testing"
)

const promise = "[System note: Your previous turn was interrupted"

func TestNoteGolden(t *testing.T) {
	t.Parallel()
	const prompt = "Rename [a] to [b] in main.go.\n\nThen run the tests.\n"
	for _, tt := range []struct {
		golden string
		facts  NoteFacts
	}{
		{"note-first", NoteFacts{Prompt: prompt, Attempt: 1}},
		{"note-second", NoteFacts{Prompt: prompt, Attempt: 2}},
		{"note-unobserved", NoteFacts{Prompt: prompt, Attempt: 1, Unobserved: true}},
		{"note-unobserved-third", NoteFacts{Prompt: prompt, Attempt: 3, Unobserved: true}},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			wantGolden(t, tt.golden, Note(tt.facts))
		})
	}
}

// hermesNote is what Hermes's own session.resume puts before a prompt
// (facts of tui_gateway): a marker that it wrote may carry it.
const hermesNote = "[System note: Your previous turn was interrupted mid-run - the app or its backend process stopped before the turn could finish." +
	" Some of the work may already be complete; check the current state before redoing anything, then finish the task. The interrupted request was:]\n\n"

func TestOriginal(t *testing.T) {
	t.Parallel()
	once := Note(NoteFacts{Prompt: "do it", Attempt: 1})
	for _, tt := range []struct{ name, prompt, want string }{
		{"plain", "do it", "do it"},
		{"empty", "", ""},
		{"our note", once, "do it"},
		{"our note, unobserved", Note(NoteFacts{Prompt: "do it", Attempt: 4, Unobserved: true}), "do it"},
		{"Hermes's note", hermesNote + "do it", "do it"},
		{"Hermes's note around ours", hermesNote + once, "do it"},
		{"note of nothing", Note(NoteFacts{}), ""},
		{"blank lines of the prompt stay", hermesNote + "\n\n do it\n", "\n\n do it\n"},
		{"a person quotes the beginning", promise + " by me. Why?", promise + " by me. Why?"},
		{"a person quotes it in brackets", promise + "]\n\nWhy?", promise + "]\n\nWhy?"},
		{"a person quotes half of it", strings.TrimSuffix(hermesNote, "]\n\n"), strings.TrimSuffix(hermesNote, "]\n\n")},
		{"no blank line behind it", strings.TrimSuffix(hermesNote, "\n") + "do it", strings.TrimSuffix(hermesNote, "\n") + "do it"},
		{"note in the middle", "look: " + once, "look: " + once},
		{"bracket inside", promise + " [x] The interrupted request was:]\n\ndo it", promise + " [x] The interrupted request was:]\n\ndo it"},
		{"another note of Hermes", "[System note: A new message arrived]\n\ndo it", "[System note: A new message arrived]\n\ndo it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Original(tt.prompt); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func checkNote(t *testing.T, n NoteFacts) {
	t.Helper()
	note, original := Note(n), Original(n.Prompt)
	if !strings.HasPrefix(note, promise) {
		t.Errorf("begins with %.60q", note)
	}
	// Hermes cuts at the first "]" and keeps what follows.
	head, rest, _ := strings.Cut(note, "]")
	if rest != "\n\n"+original {
		t.Errorf("behind the first ]: %q, want a blank line and %q", rest, original)
	}
	if strings.ContainsAny(head, "\n\r") {
		t.Errorf("the bracket has more than one line: %q", head)
	}
	if got := Original(note); got != original {
		t.Errorf("Original(Note) = %q, want %q", got, original)
	}
	if again := Note(NoteFacts{Prompt: note, Attempt: n.Attempt, Unobserved: n.Unobserved}); again != note {
		t.Errorf("the note of a note is another one: %q", again)
	}
	if Original(original) != original {
		t.Errorf("Original is not done with %q", n.Prompt)
	}
	if !strings.HasSuffix(n.Prompt, original) {
		t.Errorf("Original invented %q", original)
	}
}

func FuzzNote(f *testing.F) {
	f.Add("do it", 1, false)
	f.Add("", 0, true)
	f.Add("a] b [c]\n\nd", -1, false)
	f.Add(hermesNote+"do it", 2, true)
	f.Add(hermesNote+hermesNote, 1<<40, false)
	f.Add(promise+"]\n\nx", 2, false)
	f.Add(promise+" The interrupted request was:]\n\n\xff\x00", 3, true)
	f.Fuzz(func(t *testing.T, prompt string, attempt int, unobserved bool) {
		checkNote(t, NoteFacts{Prompt: prompt, Attempt: attempt, Unobserved: unobserved})
		checkNote(t, NoteFacts{Prompt: Note(NoteFacts{Prompt: prompt, Unobserved: !unobserved}), Attempt: attempt, Unobserved: unobserved})
	})
}

func TestNoteSaysWhatAnAgentMustKnow(t *testing.T) {
	t.Parallel()
	for _, unobserved := range []bool{false, true} {
		note := Note(NoteFacts{Prompt: "p", Attempt: 1, Unobserved: unobserved})
		for _, words := range []string{"may already be", "A command may have run", "before you repeat anything", "do not repeat a command that restarts"} {
			if !strings.Contains(note, words) {
				t.Errorf("unobserved %t: %q is missing in %q", unobserved, words, note)
			}
		}
		if got := strings.Contains(note, "verify that first"); got != unobserved {
			t.Errorf("unobserved %t: asks to verify: %t", unobserved, got)
		}
	}
}

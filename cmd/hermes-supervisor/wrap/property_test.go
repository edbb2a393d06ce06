package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// A template is what was typed, byte for byte, but for what chooses a session; and a continuation says the prompt once.
func TestACommandLineIsHandedOnByteForByte(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "goose", "hermes", "aider"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := grammar(t, name)
			rapid.Check(t, func(t *rapid.T) {
				args := commandLine(t, w)
				call, why := Read(w, args, rapid.Bool().Draw(t, "piped"), literal)
				if why != nil {
					return
				}
				template := call.Command
				if call.First != nil {
					template = call.First
				}
				want := make([]string, len(args))
				for i, arg := range args {
					want[i] = literal(arg)
				}
				const id = "the id of ours"
				session := call.Session
				if call.Chosen {
					session = id
				}
				got := filled(template, *call, session)
				if call.Chosen {
					at := slices.Index(got, id) - slices.Index(w.Choose, sessionValue)
					got = slices.Delete(got, at, at+len(w.Choose))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%q became something else: %s", args, diff)
				}
				for _, argv := range [][]string{call.Command, call.Resume} {
					text := strings.Join(argv, "\x00")
					said := strings.Count(text, promptValue) + strings.Count(text, fileValue)
					if want := 1; said != want && !call.FromStdin || call.FromStdin && said != 0 {
						t.Fatalf("%q says the prompt %d times: %q", args, said, argv)
					}
				}
			})
		})
	}
}

// commandLine is a command line out of the agent's own flags and words, and some that it does not have.
func commandLine(t *rapid.T, w config.Wrap) []string {
	flags := slices.Concat(w.OneShot, w.PromptFlags, w.PromptFileFlags, w.StartFlags, w.ResumeFlags, w.LastFlags, w.SessionlessFlags,
		w.ValueFlags, w.OptionalFlags, w.ListFlags, w.BoolFlags, []string{"--unknown"})
	value := rapid.SampledFrom([]string{"x", "fix it", "", "-", "--", "-x", "{{prompt}}", "a=b", "0199aaaa-1111", "resume", "two\nlines", "{{agent_session}}"})
	var args []string
	if len(w.Words) > 0 && rapid.IntRange(0, 9).Draw(t, "word") > 0 {
		args = append(args, rapid.SampledFrom(w.Words).Draw(t, "which"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "length") {
		switch flag := rapid.SampledFrom(flags).Draw(t, "flag"); rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			args = append(args, value.Draw(t, "value"))
		case 1:
			args = append(args, flag, value.Draw(t, "value"))
		case 2:
			args = append(args, flag+"="+value.Draw(t, "value"))
		case 3:
			args = append(args, flag)
		case 4:
			args = append(args, flag+value.Draw(t, "value"))
		}
	}
	if len(w.OneShot) > 0 {
		args = append(args, w.OneShot[0])
	}
	return args
}

// filled is a template with what its placeholders stand for, as the texts of literal.
func filled(template []string, c Call, session string) []string {
	values := strings.NewReplacer(promptValue, literal(c.Prompt), fileValue, literal(c.PromptFile), sessionValue, literal(session))
	argv := make([]string, len(template))
	for i, element := range template {
		argv[i] = values.Replace(element)
	}
	return argv
}

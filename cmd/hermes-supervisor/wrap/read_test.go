package wrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// literal marks what has to reach the agent as text.
func literal(s string) string { return strings.ReplaceAll(s, "{{", "<<") }

func grammar(t *testing.T, name string) config.Wrap {
	t.Helper()
	a, err := config.Config{}.Agent(name)
	if err != nil || a.Wrap == nil {
		t.Fatalf("preset %s: %v, %v", name, a.Wrap, err)
	}
	return *a.Wrap
}

func TestATurnIsFoundInACommandLine(t *testing.T) {
	t.Parallel()
	words := strings.Fields
	const p, id = "{{prompt}}", "{{agent_session}}"
	for _, tc := range []struct {
		agent, name   string
		args          []string
		piped         bool
		want          Call
		first         bool // Command is not what is run first
		noteOnly      bool // a continuation is the command with the note
		command, cont string
	}{
		{
			agent: "claude", name: "a prompt", args: []string{"-p", "fix it"}, want: Call{Prompt: "fix it", Beside: true, Chosen: true},
			command: "--session-id " + id + " -p " + p, cont: "--resume " + id + " -p " + p,
		},
		{
			agent: "claude", name: "prompt first", args: []string{"fix it", "--print"}, want: Call{Prompt: "fix it", Beside: true, Chosen: true},
			command: "--session-id " + id + " " + p + " --print", cont: "--resume " + id + " " + p + " --print",
		},
		{
			agent: "claude", name: "flags of every kind", args: append(words("-p --model opus --output-format=json --allowedTools Bash Edit --verbose"), "fix it"), piped: true,
			want: Call{Prompt: "fix it", Beside: true, Chosen: true}, command: "--session-id " + id + " -p --model opus --output-format=json --allowedTools Bash Edit --verbose " + p,
			cont: "--resume " + id + " -p --model opus --output-format=json --allowedTools Bash Edit --verbose " + p,
		},
		{agent: "claude", name: "two flags in a word", args: []string{"-cp", "go on"}, want: Call{Prompt: "go on", Beside: true}, command: "-cp " + p, noteOnly: true},
		{
			agent: "claude", name: "an id of its user's", args: words("-p x --session-id 0d9f7a55-0000-4000-8000-000000000001"), want: Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0000-4000-8000-000000000001"},
			command: "-p " + p + " --session-id " + id, cont: "--resume " + id + " -p " + p,
		},
		{
			agent: "claude", name: "the same, with =", args: words("-p x --session-id=0d9f7a55-0000-4000-8000-000000000001"), want: Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0000-4000-8000-000000000001"},
			command: "-p " + p + " --session-id=" + id, cont: "--resume " + id + " -p " + p,
		},
		{agent: "claude", name: "a session is gone on with", args: words("-p --resume 0d9f7a55-0000 x"), want: Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0000"}, command: "-p --resume 0d9f7a55-0000 " + p, noteOnly: true},
		{agent: "claude", name: "the last session", args: words("-p x --continue"), want: Call{Prompt: "x", Beside: true}, command: "-p " + p + " --continue", noteOnly: true},
		{
			agent: "claude", name: "a fork under an id of its user's", args: words("-p x --fork-session --session-id 0d9f7a55-0002 --resume 0d9f7a55-0001 --verbose"),
			want:    Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0002"},
			command: "-p " + p + " --fork-session --session-id " + id + " --resume 0d9f7a55-0001 --verbose", cont: "--resume " + id + " -p " + p + " --verbose",
		},
		{
			agent: "claude", name: "the same, with = and the id last", args: words("-p -r=0d9f7a55-0001 --fork-session x --session-id=0d9f7a55-0002"),
			want:    Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0002"},
			command: "-p -r=0d9f7a55-0001 --fork-session " + p + " --session-id=" + id, cont: "--resume " + id + " -p " + p,
		},
		{
			agent: "claude", name: "a fork of the last session under an id", args: words("-p -c --fork-session --session-id 0d9f7a55-0002 x"),
			want:    Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0002"},
			command: "-p -c --fork-session --session-id " + id + " " + p, cont: "--resume " + id + " -p " + p,
		},
		{agent: "claude", name: "a fork", args: words("-p x --fork-session --resume 0d9f7a55-0001"), want: Call{Prompt: "x", Beside: true, Session: "0d9f7a55-0001"}, command: "-p " + p + " --fork-session --resume 0d9f7a55-0001", noteOnly: true},
		{agent: "claude", name: "no session is kept", args: words("-p x --no-session-persistence"), want: Call{Prompt: "x", Beside: true, Chosen: false}, command: "-p " + p + " --no-session-persistence", noteOnly: true},
		{
			agent: "claude", name: "a prompt that begins with -", args: []string{"-p", "--", "-x is broken"}, want: Call{Prompt: "-x is broken", Beside: true, Chosen: true},
			command: "--session-id " + id + " -p -- " + p, cont: "--resume " + id + " -p -- " + p,
		},
		{
			agent: "claude", name: "braces", args: []string{"-p", "{{prompt}} {{x}}", "--system-prompt", "{{session}}"}, want: Call{Prompt: "{{prompt}} {{x}}", Beside: true, Chosen: true},
			command: "--session-id " + id + " -p " + p + " --system-prompt <<session}}", cont: "--resume " + id + " -p " + p + " --system-prompt <<session}}",
		},
		{
			agent: "claude", name: "by stdin", args: words("-p --model opus"), piped: true, want: Call{FromStdin: true, Chosen: true},
			command: "--session-id " + id + " -p --model opus", cont: "--resume " + id + " -p --model opus",
		},
		{
			agent: "claude", name: "an unknown flag before a flag", args: words("-p --brand-new --model opus x"), want: Call{Prompt: "x", Beside: true, Chosen: true},
			command: "--session-id " + id + " -p --brand-new --model opus " + p, cont: "--resume " + id + " -p --brand-new --model opus " + p,
		},

		{agent: "codex", name: "a prompt", args: []string{"exec", "fix it"}, want: Call{Prompt: "fix it", Beside: true}, command: "exec " + p, cont: "exec resume " + id + " " + p},
		{
			agent: "codex", name: "flags everywhere", args: append(append(words("-m o3 e --json -s workspace-write"), "fix it"), "-C", "/tmp"), want: Call{Prompt: "fix it", Beside: true},
			command: "-m o3 e --json -s workspace-write " + p + " -C /tmp", cont: "-m o3 e --json -s workspace-write -C /tmp resume " + id + " " + p,
		},
		{
			agent: "codex", name: "value in the flag's word", args: words("exec -mo3 --sandbox=read-only x"), want: Call{Prompt: "x", Beside: true},
			command: "exec -mo3 --sandbox=read-only " + p, cont: "exec -mo3 --sandbox=read-only resume " + id + " " + p,
		},
		{
			agent: "codex", name: "an image", args: words("exec x -i a.png b.png --json"), want: Call{Prompt: "x", Beside: true},
			command: "exec " + p + " -i a.png b.png --json", cont: "exec -i a.png b.png --json resume " + id + " " + p,
		},
		{agent: "codex", name: "an image that would take the rest", args: words("exec x -i a.png"), want: Call{Prompt: "x", Beside: true}, command: "exec " + p + " -i a.png", noteOnly: true},
		{agent: "codex", name: "by stdin", args: words("exec --json -"), piped: true, want: Call{Prompt: "-", FromStdin: true}, command: "exec --json -", cont: "exec --json resume " + id + " -"},
		{agent: "codex", name: "by stdin without a word", args: words("exec --json"), piped: true, want: Call{FromStdin: true}, command: "exec --json", cont: "exec --json resume " + id + " -"},
		{agent: "codex", name: "a session is gone on with", args: words("exec --json resume 0199aaaa-1111 x"), want: Call{Prompt: "x", Beside: true, Session: "0199aaaa-1111"}, command: "exec --json resume 0199aaaa-1111 " + p, noteOnly: true},
		{agent: "codex", name: "the last session", args: words("exec resume --last x"), want: Call{Prompt: "x", Beside: true}, command: "exec resume --last " + p, noteOnly: true},
		{agent: "codex", name: "behind --", args: []string{"exec", "--", "-x"}, want: Call{Prompt: "-x", Beside: true}, command: "exec -- " + p, cont: "exec resume " + id + " " + p},

		{
			agent: "gemini", name: "a prompt", args: []string{"-y", "-p", "fix it", "-m", "flash"}, want: Call{Prompt: "fix it", Beside: true, Chosen: true},
			command: "--session-id " + id + " -y -p " + p + " -m flash", cont: "--resume " + id + " -y -p " + p + " -m flash",
		},
		{agent: "gemini", name: "with =", args: []string{"--prompt=fix it"}, want: Call{Prompt: "fix it", Beside: true, Chosen: true}, command: "--session-id " + id + " --prompt=" + p, cont: "--resume " + id + " --prompt=" + p},
		{agent: "gemini", name: "in the flag's word", args: []string{"-pfix it"}, want: Call{Prompt: "fix it", Beside: true, Chosen: true}, command: "--session-id " + id + " -p" + p, cont: "--resume " + id + " -p" + p},
		{agent: "gemini", name: "by stdin", args: nil, piped: true, want: Call{FromStdin: true, Chosen: true}, command: "--session-id " + id, cont: "--resume " + id},
		{agent: "gemini", name: "the latest session is no id", args: words("--resume latest -p x"), want: Call{Prompt: "x", Beside: true}, command: "--resume latest -p " + p, noteOnly: true},

		{agent: "opencode", name: "one word", args: []string{"run", "fix it"}, want: Call{Prompt: "fix it", Beside: true}, command: "run " + p, cont: "run --session " + id + " " + p},
		{
			agent: "opencode", name: "words with flags between", args: words("run fix --model a/b the tests"), want: Call{Prompt: "fix the tests", Beside: true}, first: true,
			command: "run " + p + " --model a/b", cont: "run --session " + id + " " + p + " --model a/b",
		},
		{agent: "opencode", name: "a session is gone on with", args: words("run -s ses_12345678 x"), want: Call{Prompt: "x", Beside: true, Session: "ses_12345678"}, command: "run -s ses_12345678 " + p, noteOnly: true},
		{agent: "opencode", name: "files end at a flag", args: words("run -f a b --auto x"), want: Call{Prompt: "x", Beside: true}, command: "run -f a b --auto " + p, cont: "run --session " + id + " -f a b --auto " + p},

		{agent: "goose", name: "a text", args: []string{"run", "-t", "fix it", "-q"}, want: Call{Prompt: "fix it", Chosen: true}, command: "run -n " + id + " -t " + p + " -q", cont: "run -r -n " + id + " -t " + p + " -q"},
		{agent: "goose", name: "a name of its user's", args: words("run --name mine-1 -t x"), want: Call{Prompt: "x", Session: "mine-1"}, command: "run --name " + id + " -t " + p, cont: "run -r -n " + id + " -t " + p},
		{agent: "goose", name: "a name that is gone on with", args: words("run -r --name mine-1 -t x -q"), want: Call{Prompt: "x", Session: "mine-1"}, command: "run -r --name " + id + " -t " + p + " -q", cont: "run -r -n " + id + " -t " + p + " -q"},
		{agent: "goose", name: "stdin", args: words("run -i -"), piped: true, want: Call{FromStdin: true, Chosen: true}, command: "run -n " + id + " -i -", cont: "run -r -n " + id + " -i -"},
		{agent: "goose", name: "a file", args: words("run -i plan.md"), want: Call{PromptFile: "plan.md", Chosen: true}, command: "run -n " + id + " -i {{prompt_file}}", cont: "run -r -n " + id + " -i {{prompt_file}}"},
		{agent: "goose", name: "no session", args: words("run --no-session -t x"), want: Call{Prompt: "x"}, command: "run --no-session -t " + p, noteOnly: true},

		{
			agent: "aider", name: "a message and files", args: []string{"--model", "x", "a.go", "-m", "fix it"}, want: Call{Prompt: "fix it"},
			command: "--model x a.go -m " + p, cont: "--restore-chat-history --model x a.go -m " + p,
		},
		{agent: "aider", name: "a file", args: words("--message-file=plan.md a.go"), want: Call{PromptFile: "plan.md"}, command: "--message-file={{prompt_file}} a.go", cont: "--restore-chat-history --message-file={{prompt_file}} a.go"},

		{agent: "hermes", name: "a query", args: []string{"-p", "work", "chat", "-Q", "-q", "fix it"}, want: Call{Prompt: "fix it"}, command: "-p work chat -Q -q " + p, cont: "-p work chat --resume " + id + " -Q -q " + p},
		{agent: "hermes", name: "with =", args: []string{"chat", "-Q", "--query=-x"}, want: Call{Prompt: "-x"}, command: "chat -Q --query=" + p, cont: "chat --resume " + id + " -Q --query=" + p},
	} {
		t.Run(tc.agent+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			got, why := Read(grammar(t, tc.agent), tc.args, tc.piped, literal)
			if why != nil {
				t.Fatalf("no turn: %s", why.Why)
			}
			command, resume := strings.Join(got.Command, " "), strings.Join(got.Resume, " ")
			if tc.noteOnly {
				tc.cont = tc.command
			}
			if command != tc.command {
				t.Errorf("command %s\n    want %s", command, tc.command)
			}
			if resume != tc.cont {
				t.Errorf("resume %s\n   want %s", resume, tc.cont)
			}
			if tc.first {
				if diff := cmp.Diff(tc.args, got.First); diff != "" {
					t.Errorf("first run: %s", diff)
				}
			} else if got.First != nil {
				t.Errorf("first run: %q", got.First)
			}
			got.First, got.Command, got.Resume = nil, nil, nil
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoTurnIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		agent string
		args  []string
		piped bool
		want  string
	}{
		{"claude", nil, false, "it is interactive without -p or --print"},
		{"claude", []string{"explain this"}, false, "it is interactive without -p or --print"},
		{"claude", []string{"-p"}, false, "no prompt is given"},
		{"claude", []string{"-p", ""}, false, "its prompt is empty"},
		{"claude", []string{"-p", "a", "b"}, false, "it has more than one prompt"},
		{"claude", []string{"-p", "--brand-new", "a"}, false, "whether --brand-new takes a value is not known"},
		{"claude", []string{"-p", "mcp", "list"}, false, "mcp is a command of its own"},
		{"claude", []string{"-p", "--input-format", "stream-json"}, true, "--input-format makes it something else than one turn"},
		{"claude", []string{"-p", "--input-format=stream-json"}, true, "--input-format makes it something else than one turn"},
		{"claude", []string{"-p", "x", "--session-id", ""}, false, "its session has an empty id, or two"},
		{"claude", []string{"-cp", "x", "--fork-session", "--session-id", "0d9f7a55-0002"}, false, "a flag that chooses its session stands in one word with another"},
		{"goose", []string{"run", "-qn", "mine-1", "-t", "x"}, false, "a flag that chooses its session stands in one word with another"},
		{"claude", []string{"-p", "x", "--model"}, false, "--model has no value"},
		{"claude", []string{"--help"}, false, "silent"},
		{"claude", []string{"-pv"}, false, "silent"},
		{"codex", []string{}, false, "no exec or e"},
		{"codex", []string{"login"}, false, "login is something else than exec or e"},
		{"codex", []string{"exec", "review"}, false, "review is a command of its own"},
		{"codex", []string{"exec", "-"}, false, "its prompt comes from the terminal"},
		{"codex", []string{"exec", "resume", "0199aaaa"}, false, "no prompt is given"},
		{"codex", []string{"exec", "--help"}, false, "silent"},
		{"gemini", []string{"hello"}, true, "no prompt is given by -p or --prompt"},
		{"gemini", []string{"-i", "hello"}, false, "-i makes it something else than one turn"},
		{"gemini", nil, false, "no prompt is given"},
		{"opencode", []string{"run", "--command", "init"}, false, "--command makes it something else than one turn"},
		{"opencode", []string{"run", "", ""}, false, "its prompt is empty"},
		{"opencode", []string{"serve"}, false, "serve is something else than run"},
		{"goose", []string{"run", "--recipe", "r.yaml"}, false, "--recipe makes it something else than one turn"},
		{"goose", []string{"run", "-t", "x", "-s"}, false, "-s makes it something else than one turn"},
		{"goose", []string{"run", "-t", "x", "-t", "y"}, false, "it has more than one prompt"},
		{"aider", []string{"a.go"}, true, "no prompt is given by -m or --msg or --message or -f or --message-file"},
		{"hermes", []string{"chat", "-q", "x"}, false, "it is interactive without -Q or --quiet or --oneshot"},
		{"hermes", []string{"-z", "x"}, false, "-z makes it something else than one turn"},
	} {
		t.Run(tc.agent+" "+strings.Join(tc.args, " "), func(t *testing.T) {
			t.Parallel()
			call, why := Read(grammar(t, tc.agent), tc.args, tc.piped, literal)
			if why == nil {
				t.Fatalf("a turn: %+v", call)
			}
			got := why.Why
			if why.Silent {
				got = "silent"
			}
			if got != tc.want {
				t.Errorf("%s, not %s", got, tc.want)
			}
		})
	}
}

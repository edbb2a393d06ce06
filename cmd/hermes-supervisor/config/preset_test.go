package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

func TestWhatIsSaidOfSessionsMustFitTogether(t *testing.T) {
	t.Parallel()
	const agent = "[agent.scribe]\ncommand = [\"scribe\", \"--id\", \"{{agent_session}}\"]\n"
	const plain = "[agent.scribe]\ncommand = [\"scribe\", \"{{args}}\"]\n"
	for _, tc := range []struct{ name, text, want string }{
		{"an id from nowhere", agent, `:1: agent.scribe: is needed where {{agent_session}} is used`},
		{"an id from nowhere in resume", plain + `resume = ["scribe", "{{agent_session}}"]`, `:3: agent.scribe.resume: is needed where {{agent_session}} is used`},
		{"session_id is neither", agent + `session_id = "chosn"`, `:3: agent.scribe.session_id: must be "chosen", "told", not "chosn" (did you mean "chosen"?)`},
		{"told, without a line", plain + `session_id = "told"`, `:3: agent.scribe.session_id: is needed where session_id = "told"`},
		{"told, without a group", plain + "session_id = \"told\"\nsession_event = 'id: x'", `:4: agent.scribe.session_event: has no group (…) that would be the id`},
		{"told, but in the first command", agent + "session_id = \"told\"\nsession_event = '(x)'", `:2: agent.scribe.command: has {{agent_session}}, which is known before the first run only where session_id = "chosen"`},
		{"fresh_session is neither", agent + "session_id = \"chosen\"\nfresh_session = \"old\"", `:4: agent.scribe.fresh_session: must be "same", "new", not "old"`},
		{"unknown session is a regexp", agent + "session_id = \"chosen\"\nunknown_session_event = '('", `:4: agent.scribe.unknown_session_event: is no Go regexp: missing closing ): "("`},
		{"unknown session is a crash", plain + "crash_exit = [42]\nunknown_session_exit = [42]", `:4: agent.scribe.unknown_session_exit: 42 is in crash_exit too`},
		{"an event of stdout alone", plain + `stderr_events = ["end_event"]`, `:3: agent.scribe.stderr_events: must be "session_event", "unknown_session_event", "busy_event", "rate_limit_event", not "end_event"`},
		{"signal", plain + `stop_signal = "SIGTERM"`, `:3: agent.scribe.stop_signal: must be "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL", not "SIGTERM" (did you mean "TERM"?)`},
		{"scope", plain + `stop_scope = "tree"`, `:3: agent.scribe.stop_scope: must be "leader", "group", not "tree"`},
		{"{{args}} in a word", "[agent.scribe]\ncommand = [\"scribe\", \"--x={{args}}\"]", `:2: agent.scribe.command: element 2 "--x={{args}}": {{args}} stands for several arguments, so it is an element of its own`},
		{"args without a place", "[agent.scribe]\ncommand = [\"scribe\"]\nargs = [\"-m\"]", `:3: agent.scribe.args: has no place: command has no element {{args}}`},
		{"args without a place in resume", plain + "resume = [\"scribe\", \"-r\"]\nargs = [\"-m\"]", `:4: agent.scribe.args: has no place: resume has no element {{args}}`},
		{"args in args", plain + `args = ["{{args}}"]`, `:3: agent.scribe.args: element 1 "{{args}}": has a NUL character, or {{ that is no placeholder of an argument`},
		{"misspelt placeholder in args", plain + `args = ["{{sesion}}"]`, `:3: agent.scribe.args: element 1 "{{sesion}}": has a NUL character, or {{ that is no placeholder of an argument`},

		{"a flag that is none", plain + "[agent.scribe.wrap]\nvalue_flags = [\"m\"]", `:4: agent.scribe.wrap.value_flags: "m" is no flag`},
		{"a flag twice", plain + "[agent.scribe.wrap]\nvalue_flags = [\"-m\"]\nbool_flags = [\"-m\"]", `:5: agent.scribe.wrap.bool_flags: "-m" is in value_flags already`},
		{"positional", plain + "[agent.scribe.wrap]\npositional = \"promt\"", `:4: agent.scribe.wrap.positional: must be "prompt", "prompts", "other", not "promt" (did you mean "prompt"?)`},
		{"an id that is not chosen", plain + "[agent.scribe.wrap]\nchoose = [\"--id\"]", `:4: agent.scribe.wrap.choose: has no element {{agent_session}}`},
		{"a wait that is none", plain + "[agent.scribe.wrap]\nstdin_wait = \"0s\"", `:4: agent.scribe.wrap.stdin_wait: must be above zero, not "0s"`},
		{"a prompt in resume", plain + "[agent.scribe.wrap]\nresume = [\"{{prompt}}\"]", `:4: agent.scribe.wrap.resume: element 1 "{{prompt}}": has a NUL character, or {{ that is not {{agent_session}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode("hermes.toml", tc.text, nil)
			if err == nil {
				t.Fatal("loaded")
			}
			if got, want := err.Error(), "hermes.toml"+tc.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEveryPresetLoadsAndNamesItsAgent(t *testing.T) {
	t.Parallel()
	if len(agents.Names()) < 7 {
		t.Fatalf("presets: %v", agents.Names())
	}
	for _, name := range agents.Names() {
		text, _ := agents.Text(name)
		p, err := decodePreset(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, argv := range [][]string{p.Command, p.Resume} {
			if program := strings.TrimSuffix(name, "-argv"); len(argv) == 0 || argv[0] != program || !slices.Contains(argv, argsPlaceholder) {
				t.Errorf("%s runs %q, without its program or %s", name, argv, argsPlaceholder)
			}
		}
		c, err := decode("hermes.toml", text, nil) // as `agents show` prints it
		if err != nil {
			t.Errorf("%s, as a hermes.toml: %v", name, err)
			continue
		}
		if diff := cmp.Diff(map[string]Agent{name: p}, c.Agents); diff != "" {
			t.Errorf("%s is another one as a hermes.toml: %s", name, diff)
		}
		if got, err := (Config{}).Agent(name); err != nil || !cmp.Equal(got, p) {
			t.Errorf("%s without a hermes.toml: %v", name, err)
		}
	}
	if _, ok := preset("../agents/claude"); ok {
		t.Error("a path names a preset")
	}
}

func TestAFileOverridesAPresetKeyByKey(t *testing.T) {
	t.Parallel()
	claude, _ := preset("claude")
	for _, tc := range []struct {
		name, text string
		change     func(*Agent)
	}{
		{"nothing", "[agent.claude]", func(*Agent) {}},
		{"args", "[agent.claude]\nargs = [\"--model\", \"opus\"]", func(a *Agent) { a.Args = []string{"--model", "opus"} }},
		{"an emptied key", "[agent.claude]\nend_event = \"\"\nunset_env = []", func(a *Agent) { a.EndEvent, a.UnsetEnv = "", []string{} }},
		{"a command alone takes the preset's resume away", "[agent.claude]\ncommand = [\"/opt/claude\", \"-p\"]", func(a *Agent) {
			a.Command, a.Resume = []string{"/opt/claude", "-p"}, nil
		}},
		{"command and resume", "[agent.claude]\nresume = [\"x\", \"{{agent_session}}\"]\ncommand = [\"x\"]", func(a *Agent) {
			a.Command, a.Resume = []string{"x"}, []string{"x", "{{agent_session}}"}
		}},
		{"a key of the hooks", "[agent.claude.hooks]\nnote = \"mine\"", func(a *Agent) {
			h := *a.Hooks
			h.Note = "mine"
			a.Hooks = &h
		}},
		{"a key of its command line", "[agent.claude.wrap]\nvalue_flags = [\"--mine\"]", func(a *Agent) {
			w := *a.Wrap
			w.ValueFlags = []string{"--mine"}
			a.Wrap = &w
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := decode("hermes.toml", tc.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := claude
			tc.change(&want)
			got, err := c.Agent("claude")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			if again, _ := preset("claude"); !cmp.Equal(again, claude) {
				t.Error("the preset itself has changed")
			}
			text, err := c.TOML()
			if err != nil {
				t.Fatal(err)
			}
			printed, err := decode("hermes.toml", text, nil)
			if diff := cmp.Diff(c, printed); err != nil || diff != "" {
				t.Errorf("what check prints is another configuration: %v %s", err, diff)
			}
		})
	}
}

func TestArgsStandWhereTheCommandSays(t *testing.T) {
	t.Parallel()
	a := Agent{Args: []string{"-m", "{{session}}"}}
	for _, tc := range []struct{ command, more, want []string }{
		{nil, nil, nil},
		{[]string{"x", "y"}, nil, []string{"x", "y"}},
		{[]string{"x", "{{args}}", "y"}, nil, []string{"x", "-m", "{{session}}", "y"}},
		{[]string{"x", "{{args}}"}, []string{"--more"}, []string{"x", "-m", "{{session}}", "--more"}},
		{[]string{"x", "{{args}}", "y", "{{args}}"}, nil, []string{"x", "-m", "{{session}}", "y", "-m", "{{session}}"}},
	} {
		if got := a.Argv(tc.command, tc.more...); !slices.Equal(got, tc.want) {
			t.Errorf("%q with %q: %q, not %q", tc.command, tc.more, got, tc.want)
		}
	}
}

func TestProgramsOfAllPresetsAreKnownToAHook(t *testing.T) {
	t.Parallel()
	var want []string
	for _, name := range agents.Names() {
		if a, _ := preset(name); a.Hooks != nil {
			want = append(want, a.Hooks.Process...)
		}
	}
	if diff := cmp.Diff(want, agents.Programs); diff != "" {
		t.Error(diff)
	}
}

// GEMINI_CLI_NO_RELAUNCH was lost to whoever set a variable of his own, and gemini took 0.7 s longer to start.
func TestVariableOfOnesOwnLeavesThoseOfThePreset(t *testing.T) {
	t.Parallel()
	c, err := decode("hermes.toml", "[agent.gemini.env]\nMINE = \"1\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "MINE": "1"}, c.Agents["gemini"].Env); diff != "" {
		t.Error(diff)
	}
	if base, _ := preset("gemini"); len(base.Env) != 1 {
		t.Errorf("the preset has %v now", base.Env)
	}
}

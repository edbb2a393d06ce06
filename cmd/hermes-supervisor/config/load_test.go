package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// agent is a good table, to which a case adds one line (line 3).
const agent = "[agent.claude]\ncommand = [\"claude\", \"-p\"]\n"

func TestABadFileIsOneLineWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key, near a known one", agent + "comand = []", `:3: agent.claude.comand: unknown key (did you mean "command"?)`},
		{"unknown key, near none", agent + "zzzzzzzzzz = 1", `:3: agent.claude.zzzzzzzzzz: unknown key`},
		{"key in another case", agent + "Resume = []", `:3: agent.claude.Resume: unknown key (did you mean "resume"?)`},
		{"key with a dash", "[auto_continue]\nmax-attempts = 1", `:2: auto_continue.max-attempts: unknown key (did you mean "max_attempts"?)`},
		{"key at the top", "\n\nfreshness = \"15m\"", `:3: freshness: unknown key`},
		{"key that would break the line", agent + `"a\nb" = 1`, `:3: agent.claude."a\nb": unknown key`},
		{"table of a later version", "[watch.web]\ncommand = [\"x\"]", `:1: watch: unknown table (this version does not have it)`},
		{"table of a later version, a key only", "watch.max_concurrent = 1", `:1: watch: unknown table (this version does not have it)`},
		{"misspelt table", "[auto-continue]", `:1: auto-continue: unknown table (this version does not have it) (did you mean "auto_continue"?)`},
		{"table in a table", "[auto_continue.more]", `:1: auto_continue.more: unknown table (this version does not have it)`},
		{"first fault of the file wins", "[agent.b]\nx = 1\n[agent.a]\ny = 1", `:2: agent.b.x: unknown key`},
		{"first fault of the table wins", agent + "zzzz = 1\naaaa = 1", `:3: agent.claude.zzzz: unknown key`},

		{"agent is no table", "agent = 1", `:1: agent: must be tables [agent.NAME], not an integer`},
		{"agents as an array", "[[agent]]\nname = \"x\"", `:1: agent: must be tables [agent.NAME], not an array of tables`},
		{"agent without a name", "[agent]\ncommand = [\"x\"]", `:2: agent.command: must be a table [agent.NAME], not an array`},
		{"agent as an array", "[[agent.x]]", `:1: agent.x: must be a table [agent.NAME], not an array of tables`},
		{"agent's name", "[agent.Claude]\ncommand = [\"x\"]", `:1: agent.Claude: is no agent name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)`},
		{"agent's empty name", "[agent.\"\"]", `:1: agent."": is no agent name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)`},
		{"auto_continue is no table", "auto_continue = true", `:1: auto_continue: must be a table, not true or false`},

		{"string for a bool", "[auto_continue]\nenabled = \"yes\"", `:2: auto_continue.enabled: must be true or false, not a string`},
		{"float for an integer", "[auto_continue]\nmax_attempts = 2.0", `:2: auto_continue.max_attempts: must be an integer, not a number with a fraction`},
		{"date for an integer", "[auto_continue]\nmax_attempts = 2026-01-02", `:2: auto_continue.max_attempts: must be an integer, not a date or time (time.Time)`},
		{"string for an argv", "[agent.claude]\ncommand = \"claude -p\"", `:2: agent.claude.command: must be an array of strings, not a string`},
		{"number in an argv", "[agent.claude]\ncommand = [\"claude\", 1]", `:2: agent.claude.command: must be an array of strings, but element 2 is an integer`},
		{"string for exit codes", agent + "crash_exit = \"1\"", `:3: agent.claude.crash_exit: must be an array of integers, not a string`},
		{"string in exit codes", agent + "crash_exit = [\n1,\n\"2\"]", `:3: agent.claude.crash_exit: must be an array of integers, but element 2 is a string`},
		{"array for a regexp", agent + "end_event = []", `:3: agent.claude.end_event: must be a string, not an array`},
		{"array for env", agent + "env = [\"A=1\"]", `:3: agent.claude.env: must be a table of strings, not an array`},
		{"number in env", agent + "[agent.claude.env]\nA = \"1\"\nB = 2", `:5: agent.claude.env.B: must be a string, not an integer`},

		{"duration as a number", "[auto_continue]\nfreshness = 900", `:2: auto_continue.freshness: must be a duration in quotes (as in "15m"), not an integer`},
		{"duration without unit", "[auto_continue]\nfreshness = \"15\"", `:2: auto_continue.freshness: "15" is no duration (as in "90s", "15m", "1h30m")`},
		{"duration of days", "[auto_continue]\nfreshness = \"1d\"", `:2: auto_continue.freshness: "1d" is no duration (as in "90s", "15m", "1h30m")`},
		{"duration that overflows", "[auto_continue]\nfreshness = \"9999999h\"", `:2: auto_continue.freshness: "9999999h" is no duration (as in "90s", "15m", "1h30m")`},
		{"duration of zero", "[auto_continue]\nbackoff = \"0s\"", `:2: auto_continue.backoff: must be above zero, not "0s"`},
		{"duration below zero", "[auto_continue]\nbackoff = \"-5s\"", `:2: auto_continue.backoff: must not be below zero: "-5s"`},
		{"duration over many lines", "[auto_continue]\nbackoff = '''5\n\ns'''\n", `:2: auto_continue.backoff: "5\n\ns" is no duration (as in "90s", "15m", "1h30m")`},
		{"attempts below zero", "[auto_continue]\nmax_attempts = -1", `:2: auto_continue.max_attempts: must be 0 to 100, not -1`},
		{"attempts without end", "[auto_continue]\nmax_attempts = 101", `:2: auto_continue.max_attempts: must be 0 to 100, not 101`},
		{"back-off above its limit", "[auto_continue]\nbackoff = \"6m\"", `:2: auto_continue.backoff: backoff (6m) must not be above max_backoff (5m)`},
		{"limit below the back-off", "[auto_continue]\nmax_backoff = \"1s\"", `:2: auto_continue.max_backoff: backoff (5s) must not be above max_backoff (1s)`},

		{"nothing at once", "[auto_continue]\nmax_concurrent = 0", `:2: auto_continue.max_concurrent: must be 1 to 100, not 0`},
		{"everything at once", "[auto_continue]\nmax_concurrent = 101", `:2: auto_continue.max_concurrent: must be 1 to 100, not 101`},

		{"no command", "\n[agent.scribe]", `:2: agent.scribe: needs a command (as in command = ["codex", "exec", "-"])`},
		{"no command, dotted", "agent.scribe.env.A = \"1\"", `:1: agent.scribe: needs a command (as in command = ["codex", "exec", "-"])`},
		{"empty command", "[agent.claude]\ncommand = []", `:2: agent.claude.command: needs a command (as in command = ["codex", "exec", "-"])`},
		{"empty program", "[agent.claude]\ncommand = [\"\", \"-p\"]", `:2: agent.claude.command: element 1 "": must name a program`},
		{"program is the prompt", "[agent.claude]\ncommand = [\"{{prompt}}\"]", `:2: agent.claude.command: element 1 "{{prompt}}": the program cannot be a placeholder`},
		{"program is the session", agent + "resume = [\"/bin/{{session}}\"]", `:3: agent.claude.resume: element 1 "/bin/{{session}}": the program cannot be a placeholder`},
		{"program in the working directory", "[agent.claude]\ncommand = [\"./claude\"]", `:2: agent.claude.command: element 1 "./claude": must be an absolute path or a name in PATH (~ and variables are not expanded)`},
		{"program in ~", "[agent.claude]\ncommand = [\"~/bin/claude\"]", `:2: agent.claude.command: element 1 "~/bin/claude": must be an absolute path or a name in PATH (~ and variables are not expanded)`},
		{"unknown placeholder", agent + "resume = [\"claude\", \"--resume\", \"{{sesion}}\"]", `:3: agent.claude.resume: element 3 "{{sesion}}": unknown placeholder "{{sesion}}" (known: {{prompt}} {{prompt_file}} {{session}} {{agent_session}} {{attempt}} {{args}}) (did you mean "{{session}}"?)`},
		{"unknown placeholder after a known one", agent + "resume = [\"x\", \"{{prompt}}{{ prompt }}\"]", `:3: agent.claude.resume: element 2 "{{prompt}}{{ prompt }}": unknown placeholder "{{ prompt }}" (known: {{prompt}} {{prompt_file}} {{session}} {{agent_session}} {{attempt}} {{args}}) (did you mean "{{prompt}}"?)`},
		{"placeholder not closed", agent + "resume = [\"x\", \"{{prompt}\"]", `:3: agent.claude.resume: element 2 "{{prompt}": unknown placeholder "{{prompt}" (known: {{prompt}} {{prompt_file}} {{session}} {{agent_session}} {{attempt}} {{args}}) (did you mean "{{prompt}}"?)`},
		{"NUL in an argument", agent + `resume = ["x", "a\u0000b"]`, `:3: agent.claude.resume: element 2 "a\x00b": has a NUL character, which no argument can hold`},

		{"regexp that is none", agent + "end_event = '('", `:3: agent.claude.end_event: is no Go regexp: missing closing ): "("`},
		{"regexp of another language", agent + "busy_event = '(?<!x)y'", `:3: agent.claude.busy_event: is no Go regexp: invalid named capture: "(?<!x)y"`},
		{"regexp that matches anything", agent + "error_event = '.*'", `:3: agent.claude.error_event: matches an empty line, so it would match any output`},
		{"regexp too long", agent + "rate_limit_event = '" + strings.Repeat("(a{1000})", 1000) + "'", `:3: agent.claude.rate_limit_event: is longer than 4096 bytes`},
		{"signal as an exit code", agent + "crash_exit = [-9]", fmt.Sprintf(`:3: agent.claude.crash_exit: exit codes are 0 to %d, not -9`, int64(maxExit))},
		{"exit code too large", agent + "concluded_exit = [4294967296]", fmt.Sprintf(`:3: agent.claude.concluded_exit: exit codes are 0 to %d, not 4294967296`, int64(maxExit))},
		{"exit code in both", agent + "crash_exit = [3]\nconcluded_exit = [2, 3]", `:4: agent.claude.concluded_exit: 3 is in crash_exit too`},
		{"our variable", agent + "env.HERMES_SUPERVISOR_INSTANCE = \"x\"", `:3: agent.claude.env: HERMES_SUPERVISOR_INSTANCE is the supervisor's own`},
		{"our variable unset", agent + "unset_env = [\"HERMES_HOME\"]", `:3: agent.claude.unset_env: HERMES_HOME is the supervisor's own`},
		{"variable set and unset", agent + "env = { A = \"1\" }\nunset_env = [\"A\"]", `:4: agent.claude.unset_env: "A" is set by env`},
		{"no variable's name", agent + "unset_env = [\"A=1\"]", `:3: agent.claude.unset_env: "A=1" is no name of a variable`},
		{"NUL in a variable", agent + `env = { A = "\u0000" }`, `:3: agent.claude.env: the value of "A" has a NUL character`},

		{"key twice", "[auto_continue]\nenabled = true\nenabled = true", `:3: auto_continue.enabled: is defined twice`},
		{"table twice", agent + agent, `:3: agent.claude: is defined twice`},
		{"table after its name", "auto_continue = true\n[auto_continue]", `:2: auto_continue: is defined twice`},
		{"no value", "[auto_continue]\nfreshness =", `:2: auto_continue.freshness: is no TOML: unexpected EOF; expected value`},
		{"not TOML", "auto_continue:\n  enabled: true\n", `:1: is no TOML: expected '.' or '=', but got ':' instead`},
		{"string not closed", "[auto_continue]\nfreshness = \"15m\n", `:2: auto_continue.freshness: is no TOML: strings cannot contain newlines`},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x1b[31m", `:1: is no TOML: TOML files cannot contain control characters: '0x7f'`},
		{"bytes that are no UTF-8", "[auto_continue]\n\xff\xfe = 1", `:2: auto_continue: is no TOML: invalid UTF-8 byte: 0xff`},
		{"UTF-16", "\xff\xfea\x00=\x001\x00", `:1: is no TOML: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8`},
		{"keys nested without end", "\n" + strings.Repeat("a.", maxFile/2-8) + "a = 1", `:2: is nested deeper than 16 levels`},
		{"tables nested without end", "[" + strings.Repeat("a.", maxFile/2-8) + "a]", `:1: is nested deeper than 16 levels`},
		{"arrays nested without end", "a = " + strings.Repeat("[\n", maxFile/2-8), `:17: is nested deeper than 16 levels`},
		{"inline tables nested without end", "a = " + strings.Repeat("{a=", maxFile/3-8), `:1: is nested deeper than 16 levels`},
		{"key without end", strings.Repeat("k", maxFile-8) + " = 1", `:1: ` + strings.Repeat("k", maxKey) + `…: unknown key`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := decode("hermes.toml", tc.text, around(nil))
			if err == nil {
				t.Fatalf("loaded: %+v", c)
			}
			if got, want := err.Error(), "hermes.toml"+tc.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			if !cmp.Equal(c, Config{}) {
				t.Errorf("a configuration beside the error: %+v", c)
			}
		})
	}
}

func TestTheColumnIsTheValues(t *testing.T) {
	t.Parallel()
	_, err := decode("f", "\n[auto_continue]\n  enabled = 1\n", nil)
	want := &Error{File: "f", Line: 3, Col: 13, Key: "auto_continue.enabled", Problem: "must be true or false, not an integer"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

func TestAByteOrderMarkDoesNotMoveThePosition(t *testing.T) {
	t.Parallel()
	_, err := decode("f", "\xef\xbb\xbf[auto_continue]\nenabled = 1\n", nil)
	want := &Error{File: "f", Line: 2, Col: 11, Key: "auto_continue.enabled", Problem: "must be true or false, not an integer"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	t.Parallel()
	want := Config{
		Path: "f", Agents: map[string]Agent{},
		AutoContinue: AutoContinue{
			Enabled: true, Freshness: Duration(15 * time.Minute), MaxAttempts: 2,
			Backoff: Duration(5 * time.Second), MaxBackoff: Duration(5 * time.Minute),
			MaxConcurrent: 3, Stagger: Wait(time.Second),
		},
		Restart: Restart{
			Policy: "always", Delay: Wait(time.Second), MaxDelay: Duration(5 * time.Minute), ResetAfter: Duration(10 * time.Minute),
			StormStarts: 10, StormWindow: Duration(time.Minute), RestartExit: []int{75}, ParkExit: []int{78},
		},
		Handoff: Handoff{
			MaxConcurrent: 3, Drain: Wait(30 * time.Second), Retention: Duration(168 * time.Hour), Platforms: map[string]Platform{},
		},
		Notify: Notify{
			Events: []string{"gave-up", "parked", "crash-loop", "continued"}, Rate: 6, Timeout: Duration(10 * time.Second),
		},
	}
	for name, text := range map[string]string{
		"empty": "", "comments": "# nothing\n\n", "empty tables": "[auto_continue]\n[restart]\n[agent]\n[handoff.platform]\n[metrics]\n[notify]\n", "byte order mark": "\xef\xbb\xbf",
	} {
		c, err := decode("f", text, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEveryKeyReachesItsField(t *testing.T) {
	t.Parallel()
	c, err := decode("f", strings.ReplaceAll(`
agent.dotted.command = ["/opt/dotted"]

[auto_continue]
enabled = false
freshness = "1h30m"
max_attempts = 0
backoff = "1ms"
max_backoff = "1ms"
max_concurrent = 100
stagger = "1ms"

[agent.0-all_keys]
command = ["all", "{{prompt}}", "--file={{prompt_file}}", "{{session}}-{{attempt}}", "}} { {", "", "{{args}}"]
resume = ["/bin/all", "--resume={{agent_session}}", "{{args}}"]
args = ["--model", "{{session}}"]
session_id = "told"
session_event = 'id: (\S+)'
unknown_session_event = "no such session"
unknown_session_exit = [42]
fresh_session = "new"
stop_signal = "INT"
stop_scope = "leader"
unattended = true
env = { PATH = "{{kept}} $AS it is", "a b" = "" }
unset_env = ["X"]
begin_event = "begin"
end_event = "end"
error_event = "error"
busy_event = "busy"
rate_limit_event = ""
stderr_events = ["busy_event", "session_event"]
crash_exit = [0, 255]
concluded_exit = [130]
`, "\n", "\r\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Path: "f",
		AutoContinue: AutoContinue{
			Freshness: Duration(90 * time.Minute), Backoff: Duration(time.Millisecond), MaxBackoff: Duration(time.Millisecond),
			MaxConcurrent: 100, Stagger: Wait(time.Millisecond),
		},
		Restart: defaultRestart(),
		Handoff: defaultHandoff(),
		Notify:  defaultNotify(),
		Agents: map[string]Agent{
			"dotted": {Command: []string{"/opt/dotted"}, StopSignal: "TERM", StopScope: ScopeGroup},
			"0-all_keys": {
				Command: []string{"all", "{{prompt}}", "--file={{prompt_file}}", "{{session}}-{{attempt}}", "}} { {", "", "{{args}}"},
				Resume:  []string{"/bin/all", "--resume={{agent_session}}", "{{args}}"},
				Args:    []string{"--model", "{{session}}"}, SessionID: SessionTold, SessionEvent: `id: (\S+)`,
				UnknownSessionEvent: "no such session", UnknownSessionExit: []int{42}, FreshSession: FreshNew,
				StopSignal: "INT", StopScope: ScopeLeader, Unattended: true,
				Env:           map[string]string{"PATH": "{{kept}} $AS it is", "a b": ""},
				UnsetEnv:      []string{"X"},
				BeginEvent:    "begin",
				EndEvent:      "end",
				ErrorEvent:    "error",
				BusyEvent:     "busy",
				StderrEvents:  []string{"busy_event", "session_event"},
				CrashExit:     []int{0, 255},
				ConcludedExit: []int{130},
			},
		},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestDotsAndBracketsInStringsAreNoNesting(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`.[{`, 40)
	for _, text := range []string{
		`A = { B = """x"""", C = "` + many + `" }`, // the string ends in a quote of its own, the next one is not turned inside out
		`A = { B = """x""""", C = "` + many + `" }`,
	} {
		if line := tooNested(text); line != 0 {
			t.Errorf("line %d is said to be nested too deep:\n%s", line, text)
		}
	}
	for _, value := range []string{
		`'` + many + `'`, `"` + many + `\"` + many + `"`, `'''` + many + "\n" + many + `'''`,
		`"""` + many + `""` + many + `"""""`, `'' # ` + many, `"\\" # ` + many + "\n#" + many,
	} {
		text := agent + "env = { A = " + value + "\n}\nunset_env = [" + strings.Repeat(`"B",`, 100) + "]\n"
		if line := tooNested(text); line != 0 {
			t.Errorf("line %d is said to be nested too deep:\n%s", line, text)
		}
		if _, err := decode("f", agent+"env.A = "+value, nil); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("")
	f.Add(agent)
	f.Add("[auto_continue]\nfreshness = '''1\n'''\nx.y.\"z\" = [{a = 1}, 2]\n[[agent.x]]\n")
	f.Add("a = \"\"\"\\\n\"\"\"\"\"\n'b' = 1979-05-27T07:32:00Z # c\r\n[agent.\"\\u0000\"]\x00")
	f.Add(everyKey)
	f.Add(everyWay)
	f.Add(service + "env_file = ['/x.env', '{{home}}/y']\nenv.A = '${UNSET:-$~$$${SET}}'\n" + service)
	f.Add("[[ \"service\" ]]\nname = 'a'\ncommand = ['${SET:-{{home}}}']\n[service.health]\nhttp = 'http://x'\nstatus = []\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxFile {
			t.Skip("read refuses it")
		}
		c, err := decode("hermes.toml", text, around(map[string]string{"/x.env": "A = 1\n"}))
		if err == nil {
			again(t, c)
			return
		}
		line := err.Error()
		if strings.ContainsAny(line, "\n\r\x1b\x00") || len(line) > 4*(maxKey+maxProblem)+200 || !strings.HasPrefix(line, "hermes.toml:") {
			t.Errorf("not one line for people: %q", line)
		}
		bad, ok := err.(*Error) //nolint:errorlint // the contract: Load returns exactly this type
		if !ok {
			t.Fatalf("not an *Error: %T", err)
		}
		if bad.Line > strings.Count(text, "\n")+1 {
			t.Errorf("line %d of a text of %d", bad.Line, strings.Count(text, "\n")+1)
		}
	})
}

package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everyWay has all keys of [handoff] and of its platforms. The agent that one names stands behind it.
const everyWay = `
[handoff.platform.telegram]
command = ["/usr/local/bin/to-telegram", "--fast", "{{platform}}/{{session}}#{{id}}", "~ $HOME }}", ""]
timeout = "90s"
max_concurrent = 100

[handoff.platform.desk]
session = "desk of {{session}}"
agent = "scribe"
max_concurrent = 1

[handoff.platform.0-more_desks]
session = "desk"
agent = "scribe"
timeout = "1h"
external = false

[handoff.platform.slack]
external = true

[handoff.platform.web]
command = ["web"]

[handoff]
max_concurrent = 5
drain = "0s"
retention = "1m"

[agent.scribe]
command = ["scribe"]
`

func TestEveryKeyOfAHandoffReachesItsField(t *testing.T) {
	t.Parallel()
	c, err := decode("f", everyWay, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Handoff{
		MaxConcurrent: 5, Drain: 0, Retention: Duration(time.Minute),
		Platforms: map[string]Platform{
			"telegram": {
				Command: []string{"/usr/local/bin/to-telegram", "--fast", "{{platform}}/{{session}}#{{id}}", "~ $HOME }}", ""},
				Timeout: Duration(90 * time.Second), MaxConcurrent: 100,
			},
			"desk":         {Session: "desk of {{session}}", Agent: "scribe", Timeout: Duration(15 * time.Minute), MaxConcurrent: 1},
			"0-more_desks": {Session: "desk", Agent: "scribe", Timeout: Duration(time.Hour), MaxConcurrent: 5},
			"slack":        {External: true},
			"web":          {Command: []string{"web"}, Timeout: Duration(15 * time.Minute), MaxConcurrent: 5},
		},
	}
	if diff := cmp.Diff(want, c.Handoff); diff != "" {
		t.Error(diff)
	}
}

func TestAHandoffIsTheSameAsWritten(t *testing.T) {
	t.Parallel()
	source := Source{Path: file(t, filepath.Join(folder(t), "hermes.toml"), everyWay)}
	loaded, err := Load(source)
	if err != nil {
		t.Fatal(err)
	}
	written, err := LoadAsWritten(source)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loaded, written); diff != "" || len(written.Handoff.Platforms) != 5 {
		t.Errorf("%d platforms: %s", len(written.Handoff.Platforms), diff)
	}
}

func TestABadHandoffIsOneLineWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	const plain = `(up to 64 of a-z, 0-9, _ and -, a letter or digit first)`
	const ways = `command, or session and agent, or external = true`
	const known = `(known: {{session}} {{platform}} {{id}})`
	const table = ":1: handoff.platform.x"
	const x = "[handoff.platform.x]\n" // to which a case adds its keys (from line 2)
	const turn = x + "session = \"s\"\nagent = \"claude\"\n"
	for _, tc := range []struct{ name, text, want string }{
		{"no table", "handoff = 1", `:1: handoff: must be a table, not an integer`},
		{"array of tables", "[[handoff]]", `:1: handoff: must be a table, not an array of tables`},
		{"misspelt table", "[handof]", `:1: handof: unknown table (this version does not have it) (did you mean "handoff"?)`},
		{"unknown key", "[handoff]\nmax_concurent = 1", `:2: handoff.max_concurent: unknown key (did you mean "max_concurrent"?)`},
		{"platforms misspelt", "[handoff.platforms.x]", `:1: handoff.platforms: unknown table (this version does not have it) (did you mean "platform"?)`},
		{"nothing at once", "[handoff]\nmax_concurrent = 0", `:2: handoff.max_concurrent: must be 1 to 100, not 0`},
		{"everything at once", "[handoff]\nmax_concurrent = 101", `:2: handoff.max_concurrent: must be 1 to 100, not 101`},
		{"string for an integer", "[handoff]\nmax_concurrent = \"3\"", `:2: handoff.max_concurrent: must be an integer, not a string`},
		{"number for a wait", "[handoff]\ndrain = 30", `:2: handoff.drain: must be a duration in quotes (as in "15m"), not an integer`},
		{"wait below zero", "[handoff]\ndrain = \"-1s\"", `:2: handoff.drain: must not be below zero: "-1s"`},
		{"retention in days", "[handoff]\nretention = \"7d\"", `:2: handoff.retention: "7d" is no duration (as in "90s", "15m", "1h30m")`},
		{"retention of nothing", "[handoff]\nretention = \"0s\"", `:2: handoff.retention: must be above zero, not "0s"`},
		{"retention too short", "[handoff]\nretention = \"59s\"", `:2: handoff.retention: must be at least 1m, not 59s`},
		{"own keys go first", x + "y = 1\n[handoff]\nz = 1", `:4: handoff.z: unknown key`},
		{"own values go first", x + "y = 1\n[handoff]\nmax_concurrent = 0", `:4: handoff.max_concurrent: must be 1 to 100, not 0`},

		{"platforms are no tables", "[handoff]\nplatform = \"x\"", `:2: handoff.platform: must be tables [handoff.platform.NAME], not a string`},
		{"platforms as an array", "[[handoff.platform]]\nname = \"x\"", `:1: handoff.platform: must be tables [handoff.platform.NAME], not an array of tables`},
		{"platform is no table", "[handoff.platform]\nx = true", `:2: handoff.platform.x: must be a table [handoff.platform.NAME], not true or false`},
		{"platform's name", "[handoff.platform.Telegram]", `:1: handoff.platform.Telegram: is no platform name ` + plain},
		{"platform's name, a path", "[handoff.platform.\"../x\"]", `:1: handoff.platform."../x": is no platform name ` + plain},
		{"unknown key of a platform", x + "comand = []", `:2: handoff.platform.x.comand: unknown key (did you mean "command"?)`},
		{"table of a platform", "[handoff.platform.x.env]", `:1: handoff.platform.x.env: unknown table (this version does not have it)`},
		{"first platform's fault wins", "[handoff.platform.b]\ny = 1\n[handoff.platform.a]\nz = 1", `:2: handoff.platform.b.y: unknown key`},

		{"no way", x, table + `: needs ` + ways},
		{"no way, but a key", x + "timeout = \"1m\"", table + `: needs ` + ways},
		{"not external, and no other way", x + "external = false", table + `: needs ` + ways},
		{"no session and no agent", x + "session = \"\"\nagent = \"\"", table + `: needs ` + ways},
		{"command and session", x + "session = \"s\"\ncommand = [\"x\"]", `:2: handoff.platform.x.session: cannot stand beside command: ` + ways},
		{"command and agent", x + "command = [\"x\"]\nagent = \"claude\"", `:3: handoff.platform.x.agent: cannot stand beside command: ` + ways},
		{"command and external", x + "command = []\nexternal = true", `:3: handoff.platform.x.external: cannot stand beside command: ` + ways},
		{"session and external", turn + "external = true", `:4: handoff.platform.x.external: cannot stand beside session: ` + ways},
		{"agent and external", x + "agent = \"claude\"\nexternal = true", `:3: handoff.platform.x.external: cannot stand beside agent: ` + ways},
		{"external with a timeout", x + "external = true\ntimeout = \"15m\"", `:3: handoff.platform.x.timeout: has no effect beside external = true`},
		{"external with a number at once", x + "max_concurrent = 3\nexternal = true", `:2: handoff.platform.x.max_concurrent: has no effect beside external = true`},
		{"external as a string", x + "external = \"yes\"", `:2: handoff.platform.x.external: must be true or false, not a string`},

		{"timeout of zero", turn + "timeout = \"0s\"", `:4: handoff.platform.x.timeout: must be above zero, not "0s"`},
		{"timeout below zero", turn + "timeout = \"-1s\"", `:4: handoff.platform.x.timeout: must not be below zero: "-1s"`},
		{"nothing of a platform at once", turn + "max_concurrent = 0", `:4: handoff.platform.x.max_concurrent: must be 1 to 100, not 0`},
		{"everything of a platform at once", turn + "max_concurrent = 101", `:4: handoff.platform.x.max_concurrent: must be 1 to 100, not 101`},

		{"empty command", x + "command = []", `:2: handoff.platform.x.command: needs a command (as in command = ["/usr/local/bin/to-telegram"])`},
		{"command as a string", x + "command = \"x y\"", `:2: handoff.platform.x.command: must be an array of strings, not a string`},
		{"empty program", x + "command = [\"\"]", `:2: handoff.platform.x.command: element 1 "": must name a program`},
		{"program is a placeholder", x + "command = [\"{{platform}}\"]", `:2: handoff.platform.x.command: element 1 "{{platform}}": the program cannot be a placeholder`},
		{"relative program", x + "command = [\"bin/x\"]", `:2: handoff.platform.x.command: element 1 "bin/x": must be an absolute path or a name in PATH (~ and variables are not expanded)`},
		{"unknown placeholder", x + "command = [\"x\", \"{{sesion}}\"]", `:2: handoff.platform.x.command: element 2 "{{sesion}}": unknown placeholder "{{sesion}}" ` + known + ` (did you mean "{{session}}"?)`},
		{"placeholder of an agent", x + "command = [\"x\", \"{{prompt_file}}\"]", `:2: handoff.platform.x.command: element 2 "{{prompt_file}}": unknown placeholder "{{prompt_file}}" ` + known},
		{"NUL in an argument", x + `command = ["x", "\u0000"]`, `:2: handoff.platform.x.command: element 2 "\x00": has a NUL character, which no argument can hold`},

		{"session without agent", x + "session = \"s\"", `:2: handoff.platform.x.session: session needs an agent (as in agent = "codex")`},
		{"session with an empty agent", x + "session = \"s\"\nagent = \"\"", `:3: handoff.platform.x.agent: session needs an agent (as in agent = "codex")`},
		{"agent without session", x + "agent = \"claude\"", `:2: handoff.platform.x.agent: agent needs a session (as in session = "{{session}}")`},
		{"agent with an empty session", x + "agent = \"claude\"\nsession = \"\"", `:3: handoff.platform.x.session: agent needs a session (as in session = "{{session}}")`},
		{"NUL in a session", x + "agent = \"claude\"\nsession = \"\\u0000\"", `:3: handoff.platform.x.session: has a NUL character`},
		{"placeholder of a command in a session", x + "agent = \"claude\"\nsession = \"{{id}}\"", `:3: handoff.platform.x.session: unknown placeholder "{{id}}" (known: {{session}})`},
		{"unknown placeholder in a session", x + "agent = \"claude\"\nsession = \"a {{session}\"", `:3: handoff.platform.x.session: unknown placeholder "{{session}" (known: {{session}}) (did you mean "{{session}}"?)`},
		{"no agent is configured", turn, `:3: handoff.platform.x.agent: "claude" is no agent of this file, which configures none: add [agent.NAME]`},
		{"no agent is configured, but for one without a good name", turn + "[agent.\"a b\"]", `:3: handoff.platform.x.agent: "claude" is no agent of this file, which configures none: add [agent.NAME]`},
		{"agent near a configured one", x + "session = \"s\"\nagent = \"claud\"\n" + agent + "[agent.codex]", `:3: handoff.platform.x.agent: "claud" is no agent of this file (configured: claude, codex) (did you mean "claude"?)`},
		{"agent near none", agent + x + "session = \"s\"\nagent = \"gemini\"", `:5: handoff.platform.x.agent: "gemini" is no agent of this file (configured: claude)`},
		{"the agent's own fault", turn + agent + "x = 1", `:6: agent.claude.x: unknown key`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, around := range []*surroundings{around(nil), nil} {
				c, err := decode("hermes.toml", tc.text, around)
				if err == nil {
					t.Fatalf("loaded: %+v", c)
				}
				if got, want := err.Error(), "hermes.toml"+tc.want; got != want {
					t.Errorf("\n got %s\nwant %s", got, want)
				}
				if !cmp.Equal(c, Config{}) {
					t.Errorf("a configuration beside the error: %+v", c)
				}
			}
		})
	}
}

func TestAPrintedHandoffIsResolved(t *testing.T) {
	t.Parallel()
	c, err := decode("f", everyWay, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.TOML()
	if err != nil {
		t.Fatal(err)
	}
	want := `
[handoff]
max_concurrent = 5
drain = "0s"
retention = "1m"

[handoff.platform.0-more_desks]
session = "desk"
agent = "scribe"
timeout = "1h"
max_concurrent = 5

[handoff.platform.desk]
session = "desk of {{session}}"
agent = "scribe"
timeout = "15m"
max_concurrent = 1

[handoff.platform.slack]
external = true

[handoff.platform.telegram]
command = ["/usr/local/bin/to-telegram", "--fast", "{{platform}}/{{session}}#{{id}}", "~ $HOME }}", ""]
timeout = "1m30s"
max_concurrent = 100

[handoff.platform.web]
command = ["web"]
timeout = "15m"
max_concurrent = 5
`
	_, got, _ := strings.Cut(text, "unattended = false\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tree, err := c.Tree()
	if err != nil {
		t.Fatal(err)
	}
	handoff := tree["handoff"].(map[string]any)
	slack := handoff["platform"].(map[string]any)["slack"]
	if diff := cmp.Diff([]any{int64(5), "0s", map[string]any{"external": true}}, []any{handoff["max_concurrent"], handoff["drain"], slack}); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnknownPlatformIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	c := Config{Path: "hermes.toml", Handoff: Handoff{Platforms: map[string]Platform{"telegram": {External: true}, "desk": {}}}}
	if p, err := c.Platform("telegram"); err != nil || !p.External {
		t.Errorf("%+v, %v", p, err)
	}
	_, err := c.Platform("telegrm")
	unknown, ok := errors.AsType[*UnknownPlatformError](err)
	if !ok {
		t.Fatalf("%v is no *UnknownPlatformError", err)
	}
	want := &UnknownPlatformError{File: "hermes.toml", Name: "telegrm", Known: []string{"desk", "telegram"}}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Error(diff)
	}
	if got, want := err.Error(), `platform "telegrm": not configured in hermes.toml (did you mean "telegram"?); configured: desk, telegram`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	_, err = Config{Path: "hermes.toml"}.Platform("x\ny")
	if got, want := err.Error(), `platform "x\ny": not configured in hermes.toml, which configures none: add [handoff.platform.NAME]`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

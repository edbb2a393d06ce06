package hooks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// target is where a preset's hooks go, in a folder of the test's.
func target(t *testing.T, agent, program string) Target {
	t.Helper()
	a, err := config.Config{}.Agent(agent)
	if err != nil {
		t.Fatal(err)
	}
	return Target{
		Agent: agent, Hooks: *a.Hooks, Path: filepath.Join(t.TempDir(), "hermes-supervisor"), Command: []string{program, "hook", agent},
	}
}

func (tg Target) apply(t *testing.T, install bool) string {
	t.Helper()
	changes, err := tg.changes(install)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(tg.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (tg Target) want(t *testing.T, state State) {
	t.Helper()
	states, err := tg.Status()
	if err != nil || Overall(states) != state {
		t.Errorf("status %v, %v; want %s", states, err, state)
	}
}

const claudeSettings = `{
    "model": "opus",   "permissions": { "allow": ["Bash(git *)"] },
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ],
        "Notification": [ { "matcher": "", "hooks": [ {"type":"command","command":"notify-send \"caf\u00e9\""} ] } ]
    },
    "statusLine": {"type": "command", "command": "~/.claude/line.sh"}
}
`

// settings are files as people have them, for an agent each.
var settings = map[string]struct{ agent, text string }{
	"odd formatting, other hooks": {"claude", claudeSettings},
	"no hooks":                    {"claude", "{\n\t\"model\": \"opus\"\n}"},
	"no hooks, last has a comma":  {"gemini", "{\n  \"a\": 1,\n}\n"},
	"one line":                    {"claude", `{"model":"opus","hooks":{"Stop":[{"hooks":[]}]}}`},
	"empty object":                {"codex", "{}\n"},
	"CRLF":                        {"claude", strings.ReplaceAll(claudeSettings, "\n", "\r\n")},
	"comments": {"gemini", `// mine
{
  /* the key is in the keychain */
  "security": {"auth": {"selectedType": "gemini-api-key"}}, // really
  "hooks": {
    // tell me
    "AfterAgent": [
      {"hooks": [{"type": "command", "command": "say"}]}, // the bell
    ]
    // no more
  } // last
}
`},
	"empty hooks":          {"claude", "{\n  \"hooks\": {},\n  \"x\": 1\n}\n"},
	"empty lists":          {"claude", "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"Notification\": [],\n    \"SessionEnd\": [ ]\n  }\n}\n"},
	"empty, on one line":   {"claude", `{"x":1,"hooks":{"SessionEnd":[],"Stop":[  ]}}`},
	"empty, CRLF":          {"claude", "{\r\n  \"hooks\": {\r\n  },\r\n  \"x\": 1\r\n}\r\n"},
	"empty object, open":   {"codex", "{\n\n}\n"},
	"comment in no hooks":  {"gemini", "{\"hooks\": {\n // mine\n }}"},
	"comments in no hooks": {"gemini", "{\n  \"hooks\": { /* a */\n    // b\n  },\n  \"x\": 1\n}\n"},
	"comment in a list":    {"gemini", "{\n  \"hooks\": {\n    \"SessionEnd\": [\n      // none yet\n    ]\n  }\n}\n"},
	"comment at a list":    {"gemini", "{\n  \"hooks\": {\n    \"SessionEnd\" /* a */ : /* b */ []\n  }\n}\n"},
	"byte order mark":      {"claude", "\ufeff{\n  \"model\": \"opus\"\n}\n"},
	"yaml, other hooks": {"hermes", `# Hermes
model: gpt   # cheap
hooks_auto_accept: false

hooks:
  # mine
  pre_llm_call:
  # the first
  - command: "/usr/local/bin/note --now"
    timeout: 5

  post_tool_call: []      # nothing
  output_spill: {max: 10}
personality: |
  Be brief.

    Indented.
agent: {max_turns: 3}
`},
	"yaml, none":                {"hermes", "model: gpt\nlist:\n- a\n- b\n"},
	"yaml, empty hooks":         {"hermes", "model: gpt\nhooks: {}  # none yet\nz: 1\n"},
	"yaml, hooks of no value":   {"hermes", "hooks:\nz: ~\n"},
	"yaml, deeper, null events": {"hermes", "hooks:\n      on_session_end: null\n      pre_llm_call: # later\nz: 1\n"},
	"yaml, comments alone":      {"hermes", "# nothing here\n"},
	"yaml, CRLF":                {"hermes", "model: gpt\r\nhooks:\r\n  pre_llm_call:\r\n    - command: x\r\n"},
}

// What a person has in the file is there byte for byte after our hooks have come, moved and gone.
func TestSettingsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	for name, s := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tg := target(t, s.agent, "/opt/hermes-supervisor")
			if err := os.WriteFile(tg.Path, []byte(s.text), 0o640); err != nil {
				t.Fatal(err)
			}
			tg.want(t, Missing)
			first := tg.apply(t, true)
			tg.want(t, Installed)
			for line := range strings.Lines(s.text) {
				if line = strings.Trim(line, " ,\r\n"); !strings.Contains(line, "{}") && !strings.Contains(line, "[]") && !strings.Contains(line, "null") && !strings.Contains(first, strings.TrimRight(line, "]}")) {
					t.Errorf("lost %q in\n%s", line, first)
				}
			}
			if again := tg.apply(t, true); again != first {
				t.Errorf("a second installation: %s", cmp.Diff(first, again))
			}
			moved := tg
			moved.Command = []string{"/home/me/my programs/hermes-supervisor", "hook", s.agent}
			moved.want(t, Stale)
			moved.apply(t, true)
			moved.want(t, Installed)
			tg.want(t, Stale)
			if got := tg.apply(t, false); got != s.text {
				t.Errorf("after the removal: %s\nin between:\n%s", cmp.Diff(s.text, got), first)
			}
			tg.want(t, Missing)
			info, err := os.Stat(tg.Path)
			if err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestHooksLookLikeTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	tg := target(t, "codex", "/opt/hermes-supervisor")
	tg.Hooks.Begin, tg.Hooks.Alive, tg.Hooks.End = []string{"UserPromptSubmit"}, nil, []string{"Stop"}
	if err := os.WriteFile(tg.Path, []byte("{\n \"x\": 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entry := `
   {
    "hooks": [
     {
      "command": "exec /opt/hermes-supervisor hook codex",
      "timeout": 10,
      "type": "command"
     }
    ]
   }
  ]`
	want := "{\n \"x\": 1,\n \"hooks\": {\n  \"UserPromptSubmit\": [" + entry + ",\n  \"Stop\": [" + entry + "\n }\n}\n"
	if diff := cmp.Diff(want, tg.apply(t, true)); diff != "" {
		t.Error(diff)
	}
	tg = target(t, "hermes", "/opt/hermes-supervisor")
	tg.Hooks.Begin, tg.Hooks.Alive, tg.Hooks.End = []string{"pre_llm_call"}, nil, []string{"on_session_end"}
	if err := os.WriteFile(tg.Path, []byte("hooks: {}\nx: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want = `hooks: # hermes-supervisor, was {}
  on_session_end: # hermes-supervisor
    - command: /opt/hermes-supervisor hook hermes
      timeout: 10
  pre_llm_call: # hermes-supervisor
    - command: /opt/hermes-supervisor hook hermes
      timeout: 10
x: 1
`
	if diff := cmp.Diff(want, tg.apply(t, true)); diff != "" {
		t.Error(diff)
	}
}

// A person who put a hook of theirs into our group, or ours into theirs, keeps it.
func TestOnlyOursIsTakenOut(t *testing.T) {
	t.Parallel()
	tg := target(t, "claude", "/opt/hermes-supervisor")
	text := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}, {"type": "command", "command": "/old/hermes-supervisor hook claude"}]}],
 "Elsewhere": [{"hooks": [{"type": "command", "command": "exec hermes-supervisor hook claude"}]}],
 "SessionEnd": [{"hooks": [{"command": "hermes-supervisor hook codex"}, {"command": "echo hermes-supervisor"}]}]}}`
	if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tg.want(t, Stale)
	want := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}],
 "SessionEnd": [{"hooks": [{"command": "hermes-supervisor hook codex"}, {"command": "echo hermes-supervisor"}]}]}}`
	if diff := cmp.Diff(want, tg.apply(t, false)); diff != "" {
		t.Error(diff)
	}
}

// A person's line may name our hook in another member, or be more than our hook; and our hook may run under another name.
func TestAPersonsHookThatMentionsOursIsNotOurs(t *testing.T) {
	t.Parallel()
	const group = `{"hooks": {"Stop": [{"hooks": [%s]}]}}`
	for object, ours := range map[string]bool{
		`{"type": "command", "command": "./notify.sh", "statusMessage": "after hermes-supervisor hook claude"}`:         false,
		`{"command": "tee -a log | /opt/hermes-supervisor hook claude"}`:                                                false,
		`{"command": "tee -a log; exec /opt/hermes-supervisor hook claude"}`:                                            false,
		`{"command": "tee -a log\n/opt/hermes-supervisor hook claude"}`:                                                 false,
		`{"command": "echo $(/opt/hermes-supervisor hook claude"}`:                                                      false,
		`{"command": "say # hermes-supervisor hook claude"}`:                                                            false,
		`{"command": "echo hermes-supervisor hook claude"}`:                                                             false,
		`{"command": "/opt/hermes-supervisor hook codex"}`:                                                              false,
		`{"command": "hermes-supervisor hook claude"}`:                                                                  true,
		`{"command": "exec /opt/hermes-supervisor hook claude", "statusMessage": "x"}`:                                  true,
		`{"command": "exec \"C:\\Program Files\\hermes-supervisor.exe\" --log x hook claude"}`:                          true,
		`{"command": "exec 'C:\\it'\\''s\\hermes-supervisor.exe' hook claude"}`:                                         true,
		`{"command": "exec /opt/hs2 hook claude", "timeout": 10, "type": "command"}`:                                    true,
		`{"command": "exec /opt/hs2 --home '/a\nb' --unsafe-filesystem hook claude", "timeout": 10, "type": "command"}`: true,
		`{"command": "exec 'D:\\hs2.exe' --config 'D:\\x y' hook claude", "timeout": 10, "type": "command"}`:            true,
		`{"command": "exec /opt/hs2 hook claude", "timeout": 11, "type": "command"}`:                                    false,
		`{"command": "exec /opt/hs2 hook claude", "timeout": 10, "type": "command", "async": true}`:                     false,
		`{"command": "/opt/hs2 hook claude", "timeout": 10, "type": "command"}`:                                         false,
		`{"command": "exec hs2 hook claude", "timeout": 10, "type": "command"}`:                                         false,
		`{"command": "exec /usr/bin/python3 /me/bot.py hook claude", "timeout": 10, "type": "command"}`:                 false,
	} {
		tg := target(t, "claude", "/opt/hermes-supervisor")
		text := fmt.Sprintf(group, object)
		if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tg.apply(t, false); (got != text) != ours {
			t.Errorf("%s became %s", object, got)
		}
	}
}

// The command line may be anywhere in an entry of hermes.toml, alone in its string or not.
func TestAnEntryOfAnyFormIsFoundAgain(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		`{"run": ["sh", "-c", "{{command}} 2>/dev/null"], "name": "x"}`,
		`{"run": {"shell": "{{command}}", "wait": true}, "name": "x"}`,
		`{"all": [{"a": 1}, {"line": "nice {{command}}"}]}`,
	} {
		tg := target(t, "claude", "/opt/hs2")
		tg.Hooks.Entry = entry
		const text = "{\n  \"x\": 1\n}\n"
		if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		first := tg.apply(t, true)
		tg.want(t, Installed)
		if again := tg.apply(t, true); again != first {
			t.Errorf("%s: a second installation: %s", entry, cmp.Diff(first, again))
		}
		tg.Command[0] = "/opt/hermes-supervisor"
		tg.want(t, Stale)
		tg.apply(t, true)
		tg.want(t, Installed)
		if got := tg.apply(t, false); got != text {
			t.Errorf("%s left %s", entry, got)
		}
	}
}

// Of a program that was renamed, or that has a newline in a path, the hooks are found again: no event has two.
func TestHooksOfARenamedProgramAreReplaced(t *testing.T) {
	t.Parallel()
	for name, s := range settings {
		tg := target(t, s.agent, "/opt/hs2")
		tg.Command = []string{"/opt/hs2", "--home", "/a\n\n# b\n", "hook", s.agent}
		if err := os.WriteFile(tg.Path, []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		tg.apply(t, true)
		tg.want(t, Installed)
		other := tg
		other.Command = []string{"/opt/hermes-supervisor", "hook", s.agent}
		other.want(t, Stale)
		other.apply(t, true)
		other.want(t, Installed)
		tg.apply(t, true)
		if got := tg.apply(t, false); got != s.text {
			t.Errorf("%s: %s", name, cmp.Diff(s.text, got))
		}
	}
}

// Remarks that a person put around ours stay when ours go.
func TestRemarksAroundOursStay(t *testing.T) {
	t.Parallel()
	const ours = `{"hooks": [{"command": "hermes-supervisor hook gemini"}]}`
	for _, text := range []string{
		"[\n    OURS // mine\n  ]", "[\n    OURS, // mine\n  ]", "[\n    // mine\n    OURS\n  ]", "[ /* mine */ OURS ]", "[ OURS /* mine */ ]",
		"[\n    OURS, // mine\n    {}\n  ]", "[\n    {},\n    // mine\n    OURS\n  ]", "[\n    OURS // mine\n    , {}\n  ]", "/* mine */ [OURS]", "[ // mine\n    OURS ]", "[ // mine\n    OURS, {} ]",
		"[OURS] // mine\n", "[OURS], // mine\n", "[OURS], \"x\": [] // mine\n",
	} {
		text = "{\n  \"hooks\": {\n  \"AfterAgent\": " + strings.ReplaceAll(text, "OURS", ours) + "\n  }\n}\n"
		tg := target(t, "gemini", "/opt/hermes-supervisor")
		for _, renew := range []bool{false, true} {
			if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if renew {
				tg.apply(t, true)
			}
			if got := tg.apply(t, false); strings.Count(got, "mine") != 1 || strings.Contains(got, "hermes-supervisor") {
				t.Errorf("%sbecame\n%s", text, got)
			}
		}
	}
}

func TestRemarksAroundOursStayInYAML(t *testing.T) {
	t.Parallel()
	tg := target(t, "hermes", "/opt/hermes-supervisor")
	text := "hooks:\n  # a\n  pre_llm_call: # b\n  # c\n  - command: hermes-supervisor hook hermes\n    timeout: 9\n    # d\n  # e\n# f\nx: 1\n"
	if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "hooks:\n  # a\n  pre_llm_call: # b\n  # c\n    # d\n  # e\n# f\nx: 1\n"
	if diff := cmp.Diff(want, tg.apply(t, false)); diff != "" {
		t.Error(diff)
	}
}

// A remark inside our own entry would go with it, and a null would not come back.
func TestARemarkOrANullIsNotLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent, text string
		install     bool
	}{
		{"gemini", `{"hooks": {"AfterAgent": [{"hooks": [{"command": /* mine */ "hermes-supervisor hook gemini"}]}]}}`, false},
		{"gemini", `{"hooks": null}`, true},
		{"gemini", `{"hooks": {"AfterAgent": null}}`, true},
		{"hermes", "hooks:\n  pre_llm_call:\n  - command: hermes-supervisor hook hermes\n    # mine\n    timeout: 9\n", false},
		{"hermes", "hooks:\n  pre_llm_call:\n  - timeout: 9 # mine\n    command: hermes-supervisor hook hermes\n", true},
	} {
		tg := target(t, c.agent, "/opt/hermes-supervisor")
		if err := os.WriteFile(tg.Path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if changes, err := tg.changes(c.install); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %q, %v", c.text, changes, err)
		}
	}
}

// What is of another form than a list of hooks has none of ours in it.
func TestUninstallLeavesSettingsOfAnotherFormAlone(t *testing.T) {
	t.Parallel()
	for text, agent := range map[string]string{
		`{"hooks": {"Stop": {}}}`: "claude", `{"hooks": {"Stop": "x"}}`: "claude", `{"hooks": []}`: "claude", `{"hooks": null}`: "claude",
		"hooks:\n  pre_llm_call: x\n": "hermes", "hooks: [x]\n": "hermes", "hooks: {pre_llm_call: {}}\n": "hermes",
	} {
		tg := target(t, agent, "/opt/hermes-supervisor")
		if err := os.WriteFile(tg.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tg.want(t, Missing)
		if changes, err := tg.Uninstall(); err != nil || len(changes) > 0 {
			t.Errorf("%s: %q, %v", text, changes, err)
		}
	}
}

// What cannot be edited without loss is left as it is, and the error says so.
func TestSettingsThatCannotBeKeptAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct{ agent, text string }{
		"no JSON":            {"claude", "{"},
		"a list":             {"claude", "[]"},
		"hooks of a text":    {"claude", `{"hooks": "none"}`},
		"an event of a text": {"claude", `{"hooks": {"Stop": "none"}}`},
		"no YAML":            {"hermes", "a: [\n"},
		"hooks in braces":    {"hermes", "hooks: {pre_llm_call: [{command: x}]}\n"},
		"all in braces":      {"hermes", "{model: gpt}\n"},
		"an event in braces": {"hermes", "hooks:\n  pre_llm_call: [{command: x}]\n"},
		"an alias":           {"hermes", "h: &h\n  on_session_end:\n  - command: x\nhooks: *h\n"},
		"two documents":      {"hermes", "a: 1\n---\nb: 2\n"},
		"an end":             {"hermes", "a: 1\n...\n"},
	} {
		tg := target(t, s.agent, "/opt/hermes-supervisor")
		if err := os.WriteFile(tg.Path, []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		changes, err := tg.Install()
		if err == nil || len(changes) > 0 {
			t.Errorf("%s: %v, %q", name, err, changes)
		}
	}
}

// Dotfiles are links into a folder that people keep elsewhere.
func TestALinkedSettingsFileStaysALink(t *testing.T) {
	t.Parallel()
	tg := target(t, "claude", "/opt/hermes-supervisor")
	kept := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(kept, []byte(claudeSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, tg.Path); err != nil {
		t.Skip("this system makes no link for us: ", err)
	}
	tg.apply(t, true)
	if info, err := os.Lstat(tg.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	tg.want(t, Installed)
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Install(); err == nil || !strings.Contains(err.Error(), "link that leads to no file") {
		t.Errorf("a link to nothing: %v", err)
	}
}

func TestAFileThatChangedMeanwhileIsNotReplaced(t *testing.T) {
	t.Parallel()
	tg := target(t, "claude", "/opt/hermes-supervisor")
	changes, err := tg.Install()
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	if err := os.WriteFile(tg.Path, []byte(`{"model":"mine"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Apply(changes[0]); err == nil {
		t.Error("replaced")
	}
}

// A plugin's files come and go whole, and the folders of other plugins stay.
func TestPluginFilesComeAndGo(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"goose", "opencode"} {
		tg := target(t, agent, "/opt/my programs/hermes-supervisor")
		changes, err := tg.Install()
		if err != nil || len(changes) != len(tg.Hooks.Files) {
			t.Fatal(changes, err)
		}
		for _, c := range changes {
			if err := Apply(c); err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(c.Path) == ".json" && !json.Valid(c.After) {
				t.Errorf("%s is no JSON:\n%s", c.Path, c.After)
			}
			if strings.Contains(string(c.After), "{{") {
				t.Errorf("%s has a placeholder:\n%s", c.Path, c.After)
			}
		}
		tg.want(t, Installed)
		for event, text := range map[string]string{"goose": `exec '/opt/my programs/hermes-supervisor' hook goose`, "opencode": `["/opt/my programs/hermes-supervisor","hook","opencode"]`} {
			if event == agent && !strings.Contains(string(changes[0].After), text) {
				t.Errorf("%s lacks %s:\n%s", changes[0].Path, text, changes[0].After)
			}
		}
		moved := tg
		moved.Command = []string{"/usr/bin/hermes-supervisor", "hook", agent}
		moved.want(t, Stale)
		gone, err := tg.Uninstall()
		if err != nil || len(gone) != len(changes) {
			t.Fatal(gone, err)
		}
		for _, c := range gone {
			if err := Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		tg.Tidy()
		tg.want(t, Missing)
		if _, err := os.Stat(tg.Path); err == nil {
			t.Error("the empty folder of the plugin stays")
		}
	}
}

// A person may keep the plugin's file elsewhere and link it: the link goes, and nothing stands in the way of the next time.
func TestALinkedPluginFileLeavesNoLinkToNothing(t *testing.T) {
	t.Parallel()
	tg := target(t, "opencode", "/opt/hermes-supervisor")
	kept := filepath.Join(t.TempDir(), "p.js")
	link := filepath.Join(tg.Path, "plugin", "hermes-supervisor.js")
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte("// old"), 0o664); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Skip("this system makes no link for us: ", err)
	}
	tg.want(t, Stale)
	apply := func(install bool) {
		t.Helper()
		changes, err := tg.changes(install)
		if err != nil || len(changes) != 1 {
			t.Fatal(changes, err)
		}
		if err := Apply(changes[0]); err != nil {
			t.Fatal(err)
		}
		tg.want(t, map[bool]State{true: Installed, false: Missing}[install])
	}
	apply(true)
	if text, err := os.ReadFile(kept); err != nil || string(text) == "// old" {
		t.Errorf("the link was not followed: %q, %v", text, err)
	}
	apply(false)
	if _, err := os.Lstat(link); err == nil {
		t.Error("the link stays")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a person's own file: %v", err)
	}
	apply(true)
	apply(false)
	// A link that an older version of ours left.
	if err := os.Symlink(filepath.Join(tg.Path, "none"), link); err != nil {
		t.Fatal(err)
	}
	apply(false)
	apply(true)
}

// Only a folder that has our name, and what is below it, is ours to remove.
func TestEmptyFoldersOfAPersonStay(t *testing.T) {
	t.Parallel()
	for settings, ours := range map[string]string{
		"hermes-supervisor-conf/oc":    "",
		"hermes-supervisor/oc":         "",
		"hermes-supervisor-conf":       "",
		"plugins/my-hermes-supervisor": "",
		"plugins/hermes-supervisor":    "plugins/hermes-supervisor",
	} {
		root := t.TempDir()
		tg := target(t, "opencode", "/opt/hermes-supervisor")
		tg.Path = filepath.Join(root, filepath.FromSlash(settings))
		if err := os.MkdirAll(filepath.Join(tg.Path, "plugin"), 0o700); err != nil {
			t.Fatal(err)
		}
		tg.Tidy()
		if _, err := os.Stat(tg.Path); (err == nil) != (ours == "") {
			t.Errorf("%s: %v", settings, err)
		}
		if _, err := os.Stat(filepath.Dir(tg.Path)); err != nil {
			t.Errorf("%s: %v", settings, err)
		}
	}
	tg := target(t, "goose", "/opt/hermes-supervisor")
	if err := os.Symlink(t.TempDir(), tg.Path); err != nil {
		t.Skip("this system makes no link for us: ", err)
	}
	tg.Tidy()
	if _, err := os.Lstat(tg.Path); err != nil {
		t.Errorf("a person's link: %v", err)
	}
}

// Every event of a preset with files of its own is one that these files report.
func TestPluginsReportEveryEventOfTheirPreset(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"goose", "opencode"} {
		tg := target(t, agent, "/x")
		var all strings.Builder
		for _, text := range tg.Files() {
			all.Write(text)
		}
		for _, event := range tg.Hooks.Events() {
			if !strings.Contains(all.String(), `"`+event+`"`) {
				t.Errorf("%s: no %s", agent, event)
			}
		}
	}
}

package config

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

const codexHooks = `[agent.codex.hooks]
`

func TestHooksOfThePresetsAreOverriddenKeyByKey(t *testing.T) {
	t.Parallel()
	for _, name := range agents.Names() {
		if a, err := (Config{}).Agent(name); err != nil {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	c, err := decode("hermes.toml", "[agent.codex]\nunattended = true\n"+codexHooks+"process = [\"mine\"]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := Config{}.Agent("codex")
	if err != nil {
		t.Fatal(err)
	}
	want := *base.Hooks
	want.Process = []string{"mine"}
	if got := c.Agents["codex"]; !got.Unattended || base.Unattended || cmp.Diff(&want, got.Hooks) != "" {
		t.Errorf("unattended %v: %s", got.Unattended, cmp.Diff(&want, got.Hooks))
	}
}

func TestABadKeyOfHooksIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		codexHooks + `evnt = "x"`:                      `hermes.toml:2: agent.codex.hooks.evnt: unknown key (did you mean "event"?)`,
		codexHooks + `begin = []`:                      `hermes.toml:2: agent.codex.hooks.begin: is needed`,
		codexHooks + `begin = [""]`:                    `hermes.toml:2: agent.codex.hooks.begin: has an event without a name`,
		codexHooks + `end = ["UserPromptSubmit"]`:      `hermes.toml:2: agent.codex.hooks.end: "UserPromptSubmit" is in begin too`,
		codexHooks + `prompt = "a..b"`:                 `hermes.toml:2: agent.codex.hooks.prompt: "a..b" is no key, or keys with dots between them`,
		codexHooks + `process = ["/bin/codex"]`:        `hermes.toml:2: agent.codex.hooks.process: "/bin/codex" is no name of a program`,
		codexHooks + `settings = ["hooks.json"]`:       `hermes.toml:2: agent.codex.hooks.settings: "hooks.json" must be an absolute path, or begin with ~/, ${NAME} or {{home}}/`,
		codexHooks + `format = "toml"`:                 `hermes.toml:2: agent.codex.hooks.format: must be "json", "yaml", "files", not "toml"`,
		codexHooks + `format = "files"`:                `hermes.toml:2: agent.codex.hooks.format: is needed`,
		codexHooks + `entry = "[]"`:                    `hermes.toml:2: agent.codex.hooks.entry: is no JSON object`,
		codexHooks + `entry = "{}"`:                    `hermes.toml:2: agent.codex.hooks.entry: must have {{command}} once`,
		codexHooks + `files = { "a.js" = "x" }`:        `hermes.toml:2: agent.codex.hooks.files: has no effect but with format = "files"`,
		codexHooks + `begin = "x"`:                     `hermes.toml:2: agent.codex.hooks.begin: must be an array of strings, not a string`,
		"[agent.goose.hooks]\nfiles = {\"../x\"=\"\"}": `hermes.toml:2: agent.goose.hooks.files: "../x" is no path below the folder`,
		"[agent.opencode.hooks]\nfiles = {\"x.js\"=\"\"}": `hermes.toml:2: agent.opencode.hooks.files: "${OPENCODE_CONFIG_DIR}/x.js": ` +
			`hermes-supervisor must be in its path, so that it is nobody else's`,
		"[agent.mine]\ncommand = [\"x\"]\n[agent.mine.hooks]\nevent = \"e\"": `hermes.toml:3: agent.mine.hooks: is needed`,
	} {
		_, err := decode("hermes.toml", text+"\n", nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestTheFirstPlaceWhoseVariablesAreSetCounts(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the settings of this test are paths of other systems")
	}
	h := Hooks{Settings: []string{"${DIR}/settings.json", "{{home}}/config.yaml", "~/.x/settings.json"}}
	env := map[string]string{"DIR": filepath.FromSlash("/elsewhere"), "RELATIVE": "x"}
	got := h.Places(func(name string) string { return env[name] }, "/me", "/home")
	if diff := cmp.Diff([]string{"/elsewhere/settings.json", "/home/config.yaml", "/me/.x/settings.json"}, got); diff != "" {
		t.Error(diff)
	}
	h.Settings[0] = "${RELATIVE}/settings.json"
	got = h.Places(func(name string) string { return env[name] }, "", "")
	if len(got) != 1 { // "/config.yaml": without a home there is no such place either, and none below a user's folder
		t.Error(got)
	}
}

package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPrintedConfigurationLoadsToTheSame(t *testing.T) {
	t.Parallel()
	switchedOn := switchOn(exampleText(t))
	around := everything()
	read := around.read
	around.read = func(path string) (string, error) {
		if text, err := withEnvFiles().read(path); err == nil {
			return text, nil
		}
		return read(path)
	}
	for name, text := range map[string]string{
		"defaults": "", "example": exampleText(t), "example with every key": switchedOn, "every key": everyKey, "every way of a handoff": everyWay, "two agents": agent + "[agent.codex]\ncommand = ['codex']",
		"agent": agent + "crash_exit = []\nend_event = '\"x'\n[agent.claude.env]\n\"a b\" = \"$HOME\\n\\u0001\"\n",
		"signs": service + `env = { A = '$~', B = '$$$$', C = '$$~', D = 'x~$~', E = '{{home}}"\', "ä.b" = "\n\u007f\t" }` + "\nenv_file = []\nunset_env = []\n",
	} {
		c, err := decode("f", text, around)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again(t, c)
	}
}

func TestAPrintedConfigurationShowsNoSecret(t *testing.T) {
	t.Parallel()
	const text = `
[[service]]
name = "web"
command = ["web", "--api-key", "hunter2", "--token=hunter2", "--verbose", "shown1", "SECRET=hunter2", "postgres://me:hunter2@db/x"]
env = { OPENAI_API_KEY = "hunter2", password = "hunter2", my_Token = "hunter2", URL = "http://me:hunter@2@host/", PLAIN = "shown2", EMPTY_KEY = "" }
env_file = "/f"
ready = { http = "http://localhost/?api_key=hunter2&shown4=1" }
health = { http = "http://localhost/?a=b&Token=hunter2" }
[agent.a]
command = ["a", "--password", "hunter2"]
resume = ["a", "--password=hunter2"]
env = { A_SECRET = "hunter2", B = "shown3" }
[handoff.platform.p]
command = ["p", "--token", "hunter2", "API_KEY=hunter2", "{{session}}"]
`
	c, err := decode("f", text, around(map[string]string{"/f": "X = hunter2\nCREDENTIALS = hunter2"}))
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.TOML()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.WithoutSecrets().TOML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown, "hunter") || strings.Count(shown, "***") != 15 {
		t.Errorf("shown:\n%s", shown)
	}
	for _, want := range []string{"shown1", "shown2", "shown3", "shown4", "{{session}}", `EMPTY_KEY = ""`, `"http://me:***@host/"`, `"--token=***"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not shown:\n%s", want, shown)
		}
	}
	if after, err := c.TOML(); err != nil || after != before {
		t.Errorf("the configuration itself was changed: %v", cmp.Diff(before, after))
	}
	if _, err := decode("f", shown, around(map[string]string{"/f": ""})); err != nil {
		t.Errorf("does not load: %v\n%s", err, shown)
	}
}

func TestATreeHasTheValuesThatAreUsed(t *testing.T) {
	t.Parallel()
	c, err := decode("f", service+"env.A = '$$ $~ ${SET}'\nprofiles = 'all'\nlog_max = '2MiB'", around(nil))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := c.Tree()
	if err != nil {
		t.Fatal(err)
	}
	services, ok := tree["service"].([]map[string]any)
	if !ok || len(services) != 1 {
		t.Fatalf("%+v", tree)
	}
	got := []any{services[0]["env"], services[0]["profiles"], services[0]["log_max"], services[0]["stop_timeout"], tree["restart"].(map[string]any)["storm_starts"]}
	want := []any{map[string]any{"A": "$ ~ /set"}, "all", "2MiB", "10s", int64(10)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Expanding depends on the process's own surroundings: the real ones are used.
func TestTheSurroundingsAreTheProcesssOwn(t *testing.T) {
	t.Setenv("CONFIG_TEST_VARIABLE", "set")
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skipf("no home folder is known here: %v", err)
	}
	c, err := decode("f", service+"env.A = '~/${CONFIG_TEST_VARIABLE}'", ownSurroundings())
	if err != nil || c.Services[0].Env["A"] != home+"/set" {
		t.Errorf("%+v, %v", c.Services, err)
	}
}

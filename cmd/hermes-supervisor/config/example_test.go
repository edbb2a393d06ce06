package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func exampleText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "hermes.toml.example"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n") // a checkout on Windows
}

// switchOn takes the # off the keys and tables.
func switchOn(text string) string {
	return regexp.MustCompile(`(?m)^#(\[|[a-z_]+ = )`).ReplaceAllString(text, "$1")
}

func TestTheExampleLoadsAndStatesTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(Source{Path: file(t, filepath.Join(folder(t), "hermes.toml"), exampleText(t))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults("").AutoContinue, c.AutoContinue); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	if diff := cmp.Diff(defaults("").Restart, c.Restart); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	if diff := cmp.Diff(defaults("").Handoff, c.Handoff); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	if diff := cmp.Diff(defaults("").Metrics, c.Metrics); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	if diff := cmp.Diff(defaults("").Notify, c.Notify); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	if len(c.Services) > 0 {
		t.Errorf("whoever copies it has a service that nobody asked for: %+v", c.Services)
	}
	want := []string{"codex", "exec", "--json", "--skip-git-repo-check", "{{args}}", "-"}
	if diff := cmp.Diff(want, c.Agents["codex"].Command); diff != "" {
		t.Error(diff)
	}
}

// section is what follows a table's header, which may be switched off, up to the next one.
func section(t *testing.T, text, header string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n"+header+"\n")
	if !found {
		_, after, found = strings.Cut(text, "\n#"+header+"\n")
	}
	if !found {
		t.Errorf("there is no %s", header)
	}
	if next := regexp.MustCompile(`(?m)^#?\[`).FindStringIndex(after); next != nil {
		return after[:next[0]]
	}
	return after
}

// A key of the structs that the example leaves out, or that it states under the wrong table, is one that nobody finds.
func TestTheExampleStatesEveryKey(t *testing.T) {
	t.Parallel()
	text := exampleText(t)
	const all = "*"
	for _, table := range []struct {
		header  string
		of      any
		inForce string // the keys that the example states without a #: they have defaults, or have to be there
	}{
		{"[auto_continue]", AutoContinue{}, all},
		{"[restart]", Restart{}, all},
		{"[[service]]", Service{}, ""},
		{"[service.limits]", Limits{}, ""},
		{"[service.ready]", Ready{}, ""},
		{"[service.health]", Health{}, ""},
		{"[agent.codex]", Agent{}, "command end_event error_event"},
		{"[agent.codex.hooks]", Hooks{}, ""},
		{"[agent.codex.wrap]", Wrap{}, ""},
		{"[metrics]", Metrics{}, ""},
		{"[notify]", Notify{}, "events rate timeout"},
		{"[handoff]", Handoff{}, all},
		{"[handoff.platform.telegram]", Platform{}, ""},
	} {
		lines := section(t, text, table.header)
		for field := range reflect.TypeOf(table.of).Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
			switch key {
			case "":
				t.Errorf("%T.%s has no toml tag", table.of, field.Name)
				continue
			case "-":
				continue
			case "restart", "limits", "ready", "health":
				section(t, text, "[service."+key+"]")
				continue
			case "hooks", "wrap":
				section(t, text, "[agent.codex."+key+"]")
				continue
			case "platform":
				section(t, text, "[handoff.platform.telegram]")
				continue
			}
			form := "#(?:| or | with )"
			if table.inForce == all || slices.Contains(strings.Fields(table.inForce), key) {
				form = ""
			}
			if n := len(regexp.MustCompile(`(?m)^`+form+regexp.QuoteMeta(key)+` = `).FindAllString(lines, -1)); n == 0 {
				t.Errorf("%s: there is no line %q", table.header, form+key+" = ")
			}
			if n := len(regexp.MustCompile(`(?m)^#?`+regexp.QuoteMeta(key)+` = `).FindAllString(lines, -1)); n > 1 {
				t.Errorf("%s: %s is there %d times", table.header, key, n)
			}
		}
	}
}

// statesDefaults checks that the example's values are the defaults, and those without one are set.
func statesDefaults(t *testing.T, defaults, example any, but ...string) {
	t.Helper()
	d, e := reflect.ValueOf(defaults), reflect.ValueOf(example)
	for field, v := range d.Fields() {
		got := e.FieldByIndex(field.Index)
		switch {
		case slices.Contains(but, field.Name):
		case v.IsZero() && got.IsZero():
			t.Errorf("%T.%s is not set", example, field.Name)
		case !v.IsZero() && !cmp.Equal(v.Interface(), got.Interface()):
			t.Errorf("%T.%s: %v is stated, %v the default", example, field.Name, got, v)
		}
	}
}

func withEnvFiles() *surroundings {
	return around(map[string]string{
		home + "/.config/hermes-supervisor/gateway.env": "A = 1", home + "/.config/hermes-supervisor/all.env": "B = 1",
	})
}

func TestTheExampleLoadsWithEveryKeySwitchedOn(t *testing.T) {
	t.Parallel()
	c, err := decode("hermes.toml", switchOn(exampleText(t)), withEnvFiles())
	if err != nil {
		t.Fatal(err)
	}
	statesDefaults(t, Agent{}, c.Agents["codex"])
	statesDefaults(t, Hooks{}, *c.Agents["codex"].Hooks, "Files")
	statesDefaults(t, Wrap{}, *c.Agents["codex"].Wrap)
	s := c.Services[0]
	statesDefaults(t, DefaultService(defaultRestart()), s, "Restart", "UnsetEnv", "StopTimeout")
	statesDefaults(t, Limits{}, s.Limits)
	statesDefaults(t, *defaultReady(), *s.Ready, "File", "Match", "TCP", "HTTP", "Status")
	statesDefaults(t, *defaultHealth(), *s.Health, "TCP", "HTTP", "Status")
	statesDefaults(t, Platform{Timeout: Duration(15 * time.Minute)}, c.Handoff.Platforms["telegram"], "Session", "Agent", "External")
	statesDefaults(t, Metrics{}, c.Metrics)
	statesDefaults(t, defaultNotify(), c.Notify)
	if s.Restart.Policy == c.Restart.Policy {
		t.Error("the example of [service.restart] changes nothing")
	}
}

// A line "# or key = …" works in place of the keys right above the comment that it stands in.
func TestTheExamplesAlternativesLoad(t *testing.T) {
	t.Parallel()
	lines := strings.Split(switchOn(exampleText(t)), "\n")
	isKey := func(i int) bool { return regexp.MustCompile(`^[a-z_]+ = `).MatchString(lines[i]) }
	tried := 0
	for i, line := range lines {
		alternative, found := strings.CutPrefix(line, "# or ")
		if !found {
			continue
		}
		text := slices.Clone(lines)
		text[i] = alternative
		if with, found := strings.CutPrefix(lines[i+1], "# with "); found {
			text[i+1] = with
		}
		above := i
		for !isKey(above) {
			above--
		}
		for ; isKey(above); above-- {
			text[above] = "#"
		}
		if _, err := decode("hermes.toml", strings.Join(text, "\n"), withEnvFiles()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		tried++
	}
	if tried != 10 {
		t.Errorf("%d alternatives", tried)
	}
}

// Lines as codex-cli prints them; the text of an answer may quote an event and must not be taken for one.
func TestTheExampleKnowsHowCodexEnds(t *testing.T) {
	t.Parallel()
	c, err := decode("hermes.toml", exampleText(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	end, fail := regexp.MustCompile(c.Agents["codex"].EndEvent), regexp.MustCompile(c.Agents["codex"].ErrorEvent)
	for line, want := range map[string][2]bool{
		`{"type":"turn.completed","usage":{"input_tokens":1}}`: {true, false},
		`{"type":"turn.failed","error":{"message":"x"}}`:       {false, true},
		`{"type":"turn.started"}`:                              {},
		`{"type":"error","message":"x"}`:                       {},
		`{"type":"item.completed","item":{"type":"agent_message","text":"{\"type\":\"turn.completed\"}"}}`:         {},
		`{"type":"item.completed","item":{"type":"mcp_tool_call","result":{"events":[{"type":"turn.completed"}]}}`: {},
	} {
		if got := [2]bool{end.MatchString(line), fail.MatchString(line)}; got != want {
			t.Errorf("end, error %v, not %v: %s", got, want, line)
		}
	}
}

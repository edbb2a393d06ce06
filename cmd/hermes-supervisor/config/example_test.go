package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

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

func TestTheExampleLoadsAndStatesTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(Source{Path: file(t, filepath.Join(folder(t), "hermes.toml"), exampleText(t))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults("").AutoContinue, c.AutoContinue); diff != "" {
		t.Errorf("not the defaults: %s", diff)
	}
	want := []string{"codex", "exec", "--json", "--skip-git-repo-check", "-"}
	if diff := cmp.Diff(want, c.Agents["codex"].Command); diff != "" {
		t.Error(diff)
	}
}

// A key of the structs that the example leaves out, or that it states under the wrong table, is one that nobody finds.
func TestTheExampleStatesEveryKey(t *testing.T) {
	t.Parallel()
	auto, agent, _ := strings.Cut(exampleText(t), "[agent.codex]\n")
	var zero Agent
	for _, table := range []struct {
		text     string
		of       any
		required map[string]bool // in force in the example: has a default, or has to be there
	}{
		{auto, AutoContinue{}, map[string]bool{"enabled": true, "freshness": true, "max_attempts": true, "backoff": true, "max_backoff": true}},
		{agent, zero, map[string]bool{"command": true, "end_event": true, "error_event": true}},
	} {
		for field := range reflect.TypeOf(table.of).Fields() {
			key := field.Tag.Get("toml")
			if key == "" {
				t.Errorf("%T.%s has no toml tag", table.of, field.Name)
			}
			comment := "#"
			if table.required[key] {
				comment = ""
			}
			if n := len(regexp.MustCompile(`(?m)^`+comment+regexp.QuoteMeta(key)+` = `).FindAllString(table.text, -1)); n != 1 {
				t.Errorf("%T: a line %q is there %d times", table.of, comment+key+" = ", n)
			}
		}
	}
}

func TestTheExampleLoadsWithEveryKeySwitchedOn(t *testing.T) {
	t.Parallel()
	c, err := decode("hermes.toml", regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(exampleText(t), "$1"))
	if err != nil {
		t.Fatal(err)
	}
	for field, v := range reflect.ValueOf(c.Agents["codex"]).Fields() {
		if v.IsZero() {
			t.Errorf("%s is not set", field.Name)
		}
	}
}

// Lines as codex-cli prints them; the text of an answer may quote an event and must not be taken for one.
func TestTheExampleKnowsHowCodexEnds(t *testing.T) {
	t.Parallel()
	c, err := decode("hermes.toml", exampleText(t))
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

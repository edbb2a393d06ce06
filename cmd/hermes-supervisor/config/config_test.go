package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

func TestAnUnknownAgentIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	c := Config{Path: "hermes.toml", Agents: map[string]Agent{"codex": {Command: []string{"codex"}}, "claude": {}}}
	if a, err := c.Agent("codex"); err != nil || a.Command[0] != "codex" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err := c.Agent("claud")
	unknown, ok := errors.AsType[*UnknownAgentError](err)
	if !ok {
		t.Fatalf("%v is no *UnknownAgentError", err)
	}
	known := agents.Names()
	want := &UnknownAgentError{File: "hermes.toml", Name: "claud", Known: known}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Error(diff)
	}
	if got, want := err.Error(), `agent "claud": not configured in hermes.toml (did you mean "claude"?); configured: `+strings.Join(known, ", "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	_, err = Config{}.Agent("x\ny")
	if got, want := err.Error(), `agent "x\ny": not configured in hermes.toml; configured: `+strings.Join(known, ", "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestTheNearestKeyIsAtMostThreeEditsAway(t *testing.T) {
	t.Parallel()
	known := []string{"backoff", "command", "enabled", "end_event", "env", "max_backoff"}
	for given, want := range map[string]string{
		"comand": "command", "cmmnd": "command", "COMMAND": "command", "end-event": "end_event", "endevent": "end_event",
		"maxbackoff": "max_backoff", "ev": "env", "backof": "backoff", "cmad": "command",
		"cad": "", "xyz": "", "": "", "e": "", "commandcommand": "", strings.Repeat("k", 1<<20): "",
	} {
		if got := nearestKey(given, known); got != want {
			t.Errorf("%.20s: %q, not %q", given, got, want)
		}
	}
	if got := nearestKey("ab", []string{"ax", "ay"}); got != "ax" {
		t.Errorf("of equal ones %q, not the first", got)
	}
}

func TestADurationIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"15m": 15 * time.Minute, "5s": 5 * time.Second, "1h": time.Hour, "1h30m": 90 * time.Minute, "10m10s": 610 * time.Second,
		"1h0m1s": time.Hour + time.Second, "20h": 20 * time.Hour, "1.5s": 1500 * time.Millisecond,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want || d.String() != text {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
}

func TestAnErrorStaysOneLine(t *testing.T) {
	t.Parallel()
	err := &Error{File: "a\nb", Line: 2, Key: "\x1b[31m", Problem: strings.Repeat("x", 5000)}
	if got, want := err.Error(), "a\ufffdb:2: \ufffd[31m: "+strings.Repeat("x", maxProblem)+"…"; got != want {
		t.Errorf("%q", got)
	}
}

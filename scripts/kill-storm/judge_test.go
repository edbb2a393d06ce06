//go:build linux

package main

import (
	"strings"
	"testing"

	"hermes-supervisor/fsstate/fault"
)

// written is a log as agents write it: kind, time, prompt, attempt and code of each line.
func written(t *testing.T, lines ...string) []line {
	t.Helper()
	var log []line
	for _, text := range lines {
		f := strings.Fields(text)
		l, err := parseLine(strings.Join([]string{f[0], f[1], "10", "20", f[2], f[3], f[4]}, " "))
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, l)
	}
	return log
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		log     []string
		durable int64 // of prompt a
		stopped bool  // and that end was an order to stop attempt 0
		want    string
	}{
		"a run that ended":                  {log: []string{"start 1 a 0 0", "end 2 a 0 0"}, durable: 3},
		"continued twice, then another one": {log: []string{"start 1 a 0 0", "die 2 a 0 137", "start 3 a 1 0", "start 4 a 2 0", "end 5 a 2 3", "start 7 b 0 0"}, durable: 6},
		"an attempt that never began":       {log: []string{"start 1 a 0 0", "start 2 a 2 0"}},
		"a tool in the way":                 {log: []string{"start 1 a 0 0", "overlap 2 - 1 0"}, want: "two runs overlap"},
		"two lifetimes":                     {log: []string{"start 1 a 0 0", "end 5 a 0 0", "start 4 a 1 0"}, want: "two runs overlap"},
		"a fourth start":                    {log: []string{"start 1 a 0 0", "start 2 a 1 0", "start 3 a 2 0", "start 4 a 3 0"}, want: "started 4 times"},
		"the same attempt again":            {log: []string{"start 1 a 0 0", "start 2 a 1 0", "start 3 a 1 0"}, want: "no attempt was charged"},
		"a start after the end":             {log: []string{"start 1 a 0 0", "end 2 a 0 0", "start 4 a 1 0"}, durable: 3, want: "after its end was on disk"},
		"launched before it was stopped":    {log: []string{"start 4 a 0 0"}, durable: 3, stopped: true},
		"launched after it was stopped":     {log: []string{"start 4 a 1 0"}, durable: 3, stopped: true, want: "after its end was on disk"},
		"begun anew after it was stopped":   {log: []string{"start 1 a 0 0", "start 4 a 0 0"}, durable: 3, stopped: true, want: "after its end was on disk"},
		"a prompt of nobody":                {log: []string{"start 1 c 0 0"}, want: "nobody gave it"},
		"another text than the prompt":      {log: []string{"wrong 1 - 0 0"}, want: "was not given its prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			launched := -1
			if tt.stopped {
				launched = 0
			}
			rule := judge(written(t, tt.log...), []*prompt{{name: "a", durable: tt.durable, launched: launched}, {name: "b", launched: -1}})
			if !strings.Contains(rule, tt.want) || tt.want == "" && rule != "" {
				t.Errorf("rule broken: %q, want %q", rule, tt.want)
			}
		})
	}
}

func TestReceiptCountsOnlyAfterTheLastRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		log  []string
		want bool
	}{
		"after the end":           {[]string{"start 1 a 0 0", "end 2 a 0 0", "receipt 0 - 0 0"}, true},
		"none":                    {[]string{"start 1 a 0 0", "end 2 a 0 0"}, false},
		"before the last run":     {[]string{"start 1 a 0 0", "end 2 a 0 0", "receipt 0 - 0 0", "start 3 a 1 0", "end 4 a 1 0"}, false},
		"before the next prompt":  {[]string{"start 1 a 0 0", "end 2 a 0 0", "receipt 0 - 0 0", "start 3 b 0 0"}, true},
		"that of the next prompt": {[]string{"start 1 a 0 0", "end 2 a 0 0", "start 3 b 0 0", "end 4 b 0 0", "receipt 0 - 0 0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := receipted(written(t, tt.log...), "a"); got != tt.want {
				t.Errorf("receipted: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestUnderstandTakesOnlyWhatAnAgentShouldBeGiven(t *testing.T) {
	t.Parallel()
	note := notePrefix + " by a crash.]\n\n"
	for text, want := range map[string]string{promptOf("x1"): "x1", note + promptOf("x1"): "", promptOf("x1") + "\n": ""} {
		if got := (cast{}).understand(text); got != want {
			t.Errorf("first run, %q: prompt %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{note + promptOf("x1"): "x1", promptOf("x1"): "", note + note + promptOf("x1"): ""} {
		if got := (cast{attempt: 1}).understand(text); got != want {
			t.Errorf("continuation, %q: prompt %q, want %q", text, got, want)
		}
	}
}

func TestEveryPointCanBeStagedForANewPrompt(t *testing.T) {
	t.Parallel()
	s := situation{fresh: true}
	for _, point := range fault.Points {
		if !s.suits(point) {
			t.Errorf("no scene passes %s", point)
		}
	}
}

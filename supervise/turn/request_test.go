package turn

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

func TestExpandIsOnePassAnElement(t *testing.T) {
	t.Parallel()
	v := values{prompt: `{{session}} "$(x)" {{prompt}}` + "\n", promptFile: "/p f", session: "a b", attempt: 2}
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"{{prompt}}", v.prompt}, // what a value holds is not expanded again
		{"--p={{prompt_file}}", "--p=/p f"},
		{"{{session}}-{{attempt}}", "a b-2"},
		{"{{session}}{{session}}", "a ba b"},
		{"{ {prompt} }", "{ {prompt} }"},
		{"{{{attempt}}}", "{2}"},
		{"", ""},
	} {
		if got := expand([]string{"x", c.in}, v); len(got) != 2 || got[0] != "x" || got[1] != c.want {
			t.Errorf("expand(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	argv := []string{"{{attempt}}"}
	if expand(argv, v); argv[0] != "{{attempt}}" {
		t.Error("the request's own argv was changed")
	}
}

func TestPromptRoute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv            []string
		byFile, byStdin bool
	}{
		{[]string{"agent", "-p"}, false, true},
		{[]string{"agent", "{{prompt}}"}, false, false},
		{[]string{"agent", "--in={{prompt_file}}"}, true, false},
		{[]string{"agent", "{{prompt_file}}", "{{prompt}}"}, true, false},
		{[]string{"agent", "{{", "prompt}}"}, false, true}, // no placeholder reaches over two elements
		{[]string{"agent", "{{session}}", "{{attempt}}"}, false, true},
	} {
		if byFile, byStdin := promptRoute(c.argv); byFile != c.byFile || byStdin != c.byStdin {
			t.Errorf("promptRoute(%q) = file %v, stdin %v", c.argv, byFile, byStdin)
		}
	}
}

func TestCheckRefusesWhatCannotBeKeptOrHandedOver(t *testing.T) {
	t.Parallel()
	valid := func() Request {
		return Request{Session: "s", Prompt: "p", HasPrompt: true, Agent: Agent{Command: []string{"agent"}}}
	}
	for name, c := range map[string]struct {
		change func(r *Request)
		says   string // "" = it is fine
	}{
		"as it is":               {func(*Request) {}, ""},
		"any string is a key":    {func(r *Request) { r.Session = "agent:main\n\x00/../é" }, ""},
		"no prompt":              {func(r *Request) { r.Prompt, r.HasPrompt = "", false }, ""},
		"a NUL on stdin":         {func(r *Request) { r.Prompt = "a\x00b" }, ""},
		"a long prompt on stdin": {func(r *Request) { r.Prompt = strings.Repeat("x", 500_000) }, ""},
		"a long prompt in a file": {func(r *Request) {
			r.Prompt = strings.Repeat("x", 500_000)
			r.Agent.Command = []string{"a", "{{prompt_file}}"}
		}, ""},
		"other braces":                 {func(r *Request) { r.Agent.Command = []string{"a", "{{ prompt }}", "{{X}}", "{}"} }, ""},
		"no key":                       {func(r *Request) { r.Session = "" }, "session key is empty"},
		"key not UTF-8":                {func(r *Request) { r.Session = "\xff" }, "not valid UTF-8"},
		"empty prompt":                 {func(r *Request) { r.Prompt = "" }, "prompt is empty"},
		"prompt not UTF-8":             {func(r *Request) { r.Prompt = "a\xffb" }, "not valid UTF-8"},
		"id not UTF-8":                 {func(r *Request) { r.ID = "\xff" }, "not valid UTF-8"},
		"no command":                   {func(r *Request) { r.Agent.Command = nil }, "no command"},
		"an empty command":             {func(r *Request) { r.Agent.Command = []string{""} }, "no command"},
		"unknown placeholder":          {func(r *Request) { r.Agent.Command = []string{"a", "{{promt}}"} }, "{{promt}} is no placeholder"},
		"unknown placeholder, resumed": {func(r *Request) { r.Agent.Resume = []string{"a", "x{{id}}y"} }, "{{id}} is no placeholder"},
		"a NUL in an argument":         {func(r *Request) { r.Prompt = "a\x00b"; r.Agent.Command = []string{"a", "{{prompt}}"} }, "NUL"},
		"a long prompt as an argument": {func(r *Request) {
			r.Prompt = strings.Repeat("x", 130_000)
			r.Agent.Resume = []string{"a", "{{prompt}}"}
		}, "does not fit one argument"},
	} {
		r := valid()
		c.change(&r)
		err := r.check()
		_, usage := errors.AsType[*UsageError](err)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!usage || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v; want a usage error with %q", name, err, c.says)
		}
	}
}

func TestContinuationResumesWhereTheAgentCan(t *testing.T) {
	t.Parallel()
	a := Agent{Command: []string{"start"}, Resume: []string{"resume"}}
	own := Agent{Command: a.Command, Resume: []string{"resume", "{{agent_session}}"}}
	for _, c := range []struct {
		name  string
		agent Agent
		turn  fsstate.Turn
		want  []string
	}{
		{"first run", a, fsstate.Turn{}, a.Command},
		{"continuation", a, fsstate.Turn{Attempts: 1}, a.Resume},
		{"no way to resume", Agent{Command: a.Command}, fsstate.Turn{Attempts: 1}, a.Command},
		{"session not known to us", own, fsstate.Turn{Attempts: 1}, a.Command},
		{"session known", own, fsstate.Turn{Attempts: 1, AgentSession: "x"}, own.Resume},
		{"session not known to the agent", own, fsstate.Turn{Attempts: 1, AgentSession: "x", Fresh: true}, a.Command},
	} {
		got, resumes := c.agent.argv(&c.turn)
		if !slices.Equal(got, c.want) || resumes != (got[0] == "resume") {
			t.Errorf("%s: argv %v, resumes %t", c.name, got, resumes)
		}
	}
}

func TestMomentsKeepTheirOrderWhenTheClockIsStepped(t *testing.T) {
	t.Parallel()
	wall := time.Date(2026, 7, 25, 12, 0, 0, 0, time.UTC)
	early := Moment{BootID: "a", Uptime: time.Minute, Wall: wall}
	late := Moment{BootID: "a", Uptime: 2 * time.Minute, Wall: wall.Add(-time.Hour)}
	if got := late.since(early); got != time.Minute {
		t.Errorf("a clock stepped back: %s later", got)
	}
	late.BootID = "b"
	if got := late.since(early); got != -time.Hour {
		t.Errorf("another boot: %s later", got)
	}
	early.BootID, late.BootID = "", ""
	if got := late.since(early); got != -time.Hour {
		t.Errorf("no boot id: %s later", got)
	}
}

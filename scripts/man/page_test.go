package main

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// odd is a program with what roff takes for more than text.
func odd() command {
	return command{
		Path: "prog", Use: "prog", Short: "Do it", Long: ".start of a request\n'and' another, a \\ and \"quotes\"\n\n  - a list\n  .x\nafter it",
		Flags: []option{{Name: "home", Shorthand: "h", Value: "DIR", Default: "/x", Usage: "where"}},
		Commands: []command{
			{Path: "prog run", Use: "prog run [flags]", Short: "Run it", Examples: []string{`prog run "a b"`, ".x"}, Exits: []exit{{"0", "done"}, {"128+n", "signal"}}},
			{Path: "prog secret", Hidden: true},
			{Path: "prog files", Short: "What is on disk", Long: "  a/  b", Topic: true},
		},
	}
}

func TestAPageHasTheCommandsOwnTexts(t *testing.T) {
	t.Parallel()
	all := pages(odd())
	if len(all) != 2 {
		t.Errorf("there are %d pages", len(all))
	}
	for page, wants := range map[string][]string{
		"prog.1": {
			".TH \"PROG\" \"1\"", `\&.start of a request`, `\(aqand\(aq another, a \e and \(dqquotes\(dq`, "\n.nf\n  \\- a list\n", ".SH \"WHAT IS ON DISK\"\n.nf\n  a/  b\n.fi",
			".TP\n\\fB\\-h\\fR, \\fB\\-\\-home\\fR \\fIDIR\\fR\nwhere (default /x)\n", "prog\\-run\\fR(1)",
		},
		"prog-run.1": {"prog run \\(dqa b\\(dq\n\\&.x\n", ".TP\n\\fB128+n\\fR\nsignal\n", `.SH "OPTIONS OF EVERY COMMAND"`},
	} {
		for _, want := range wants {
			if !strings.Contains(all[page], want) {
				t.Errorf("%s lacks %q:\n%s", page, want, all[page])
			}
		}
	}
}

func TestRoffTakesThePagesWithoutAWarning(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	all := pages(odd())
	all["hermes.toml.5"] = configPage("# it's\n.x = 'a\\b'\n")
	for name, text := range all {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-rCHECKSTYLE=1", "-z")
		cmd.Stdin = strings.NewReader(text)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil || strings.Contains(stderr.String(), "warning") || strings.Contains(stderr.String(), "error") {
			t.Errorf("%s: %v\n%s\n%s", name, err, stderr.String(), text)
		}
		cancel()
	}
}

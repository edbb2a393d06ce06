package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/wrap"
	"hermes-supervisor/supervise/turn"
)

// everyCommand is the tree of commands, the hidden ones too, as it stands before it has parsed anything.
func everyCommand() []*cobra.Command {
	root := (&app{}).command()
	root.InitDefaultHelpCmd()
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		_ = cmd.ParseFlags(nil) // brings in the flags of the parents
		all = append(all, cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return all
}

// documented are the exit codes of `help exit-codes`.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^  (\S+) +\S`).FindAllStringSubmatch(exitCodesText, -1) {
		codes[line[1]] = true
	}
	for code := range reasons {
		if !codes[strconv.Itoa(code)] {
			t.Errorf("the topic exit-codes lacks %d (%s)", code, reasons[code])
		}
	}
	return codes
}

// own are exit codes that one hidden command has for itself, from what it runs or for who started it.
var own = map[string][]int{"exec-with-limits": {exitNotExecutable, exitNotFound}, "serve-turn": {exitLost, 130}}

// TestEveryCommandHasAnExampleAndItsExitCodes fails for a command without; exits.go is where the codes are said.
func TestEveryCommandHasAnExampleAndItsExitCodes(t *testing.T) {
	t.Parallel()
	known := documented(t)
	for _, cmd := range everyCommand() {
		path := below(cmd)
		exits := exitsOf(path)
		if cmd.IsAdditionalHelpTopicCommand() {
			if len(exits) > 0 {
				t.Errorf("%s is a topic: it returns nothing", path)
			}
			continue
		}
		if cmd.Example == "" {
			t.Errorf("%s: the help has no Example", cmd.CommandPath())
		}
		if cmd.Short == "" || cmd.Long == "" && len(cmd.Short) < 20 {
			t.Errorf("%s: the help does not say what it does", cmd.CommandPath())
		}
		if len(exits) == 0 {
			t.Errorf("%s: the help has no exit codes: add a case %q to exitsAsWritten", cmd.CommandPath(), path)
		}
		for i, e := range exits {
			if !known[e.String()] && e.code != exitOwn && !slices.Contains(own[path], e.code) {
				t.Errorf("%s: %s is no exit code of DESIGN.md", path, e)
			}
			if e.means == "" {
				t.Errorf("%s: nothing says what %s means", path, e)
			}
			if i > 0 && e.code != exitOwn && e.code <= exits[i-1].code {
				t.Errorf("%s: the exit codes are not in order: %s after %s", path, e, exits[i-1])
			}
		}
	}
}

// example is one line of an Example, and the arguments that a shell makes of it.
type example struct {
	cmd  *cobra.Command
	line string
	argv [][]string
}

// TestExamplesAreCommandLines has bash read every example, with a hermes-supervisor that notes its arguments, and parses
// these with the flags of the command. PowerShell's do not stand in an Example.
func TestExamplesAreCommandLines(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	var all []example
	var script strings.Builder
	script.WriteString(`PATH=/nowhere
hermes-supervisor() { printf '%s\x1f' "$@" >&3; printf '\x1e' >&3; }
date() { printf 2026-01-02; }
sudo() { "$@"; }
SESSION_ID=s AGENT_PID=1 ID=i CLAIM=c
`)
	for _, cmd := range everyCommand() {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			if !strings.HasPrefix(line, "  ") || utf8.RuneCountInString(line) > helpWidth {
				t.Errorf("%s: an example is indented by two and has at most %d columns: %q", cmd.CommandPath(), helpWidth, line)
			}
			all = append(all, example{cmd: cmd, line: strings.TrimSpace(line)})
			fmt.Fprintf(&script, "{ %s\n} </dev/null >/dev/null 2>&1; wait; printf '\\x1d' >&3\n", line)
		}
	}
	noted := filepath.Join(t.TempDir(), "noted")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", "exec 3>>"+noted+"\n"+script.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	data, err := os.ReadFile(noted)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\x1d"), "\x1d")
	if len(lines) != len(all) {
		t.Fatalf("bash read %d of %d examples", len(lines), len(all))
	}
	for i, line := range lines {
		for call := range strings.SplitSeq(strings.TrimSuffix(line, "\x1e"), "\x1e") {
			all[i].argv = append(all[i].argv, strings.Split(strings.TrimSuffix(call, "\x1f"), "\x1f"))
		}
		checkExample(t, all[i])
	}
}

// checkExample parses an example as the program does.
func checkExample(t *testing.T, e example) {
	t.Helper()
	itself := false
	for _, argv := range e.argv {
		if len(argv) == 1 && argv[0] == "" {
			t.Errorf("%s: the example runs no hermes-supervisor: %s", e.cmd.CommandPath(), e.line)
			continue
		}
		root := (&app{}).command() // anew: flags remember what was parsed
		root.InitDefaultHelpCmd()
		cmd, rest, err := root.Find(argv)
		if err != nil {
			t.Errorf("%s: %s: %v", e.cmd.CommandPath(), e.line, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %s: %v", e.cmd.CommandPath(), e.line, err)
			continue
		}
		args := cmd.Flags().Args()
		if cmd.DisableFlagParsing {
			args = rest
			checkTyped(t, cmd.Name(), rest)
		}
		if err := cmd.ValidateArgs(args); err != nil {
			t.Errorf("%s: %s: %v", e.cmd.CommandPath(), e.line, err)
		}
		itself = itself || strings.HasPrefix(cmd.CommandPath(), e.cmd.CommandPath())
	}
	if !itself {
		t.Errorf("%s: the example shows another command: %s", e.cmd.CommandPath(), e.line)
	}
}

// checkTyped looks whether an agent's command line is one that is protected.
func checkTyped(t *testing.T, name string, args []string) {
	t.Helper()
	agent, err := config.Config{}.Agent(name)
	if err != nil {
		t.Error(err)
		return
	}
	if call, why := wrap.Read(*agent.Wrap, args, false, turn.Literal); why != nil || call.Prompt == "" {
		t.Errorf("%s %q is not protected: %v", name, args, why)
	}
}

// TestHelpFitsAndNamesFlagsThatThereAre reads every help as it is printed.
func TestHelpFitsAndNamesFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	flags := map[string]bool{"--": true}
	for _, cmd := range everyCommand() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
	}
	// What is said of other programs' flags.
	for _, theirs := range []string{"--input-format", "--message"} {
		flags[theirs] = true
	}
	for _, cmd := range everyCommand() {
		var out bytes.Buffer
		cmd.SetOut(&out)
		_ = (&app{}).printHelp(cmd)
		for line := range strings.SplitSeq(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%s: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: a line ends with a space: %q", cmd.CommandPath(), line)
			}
		}
		for _, name := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(cmd.Long+" "+cmd.Short+" "+cmd.Use, -1) {
			if !flags[name] && !cmd.DisableFlagParsing {
				t.Errorf("%s: the help speaks of %s, which no command has", cmd.CommandPath(), name)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("%s: --%s says nothing", cmd.CommandPath(), f.Name)
			}
		})
	}
}

// TestEveryPlaceholderIsKnownToCompletion holds the words of the Use lines and flags, by which completion goes.
func TestEveryPlaceholderIsKnownToCompletion(t *testing.T) {
	t.Parallel()
	guessed := []string{
		"KEY", "SESSION", "ID", "ID|SESSION", "NAME[@PROFILE]", "SERVICE", "PROFILE", "AGENT", "PLATFORM", "SIGNAL", "SHELL", "COMMAND",
		"FILE", "F", "FOLDER", "DIR",
	}
	for _, cmd := range everyCommand() {
		words := map[string]string{}
		for _, arg := range arguments(cmd) {
			words[strings.TrimSuffix(arg, "…")] = "its Use line"
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { words[placeholder(f)] = "--" + f.Name })
		for word, where := range words {
			choice := regexp.MustCompile(`^[a-z0-9-]+(\|[a-z0-9-]+)+$`).MatchString(word)
			if !choice && !slices.Contains(guessed, word) && !slices.Contains(freeText, word) {
				t.Errorf("%s: completion does not know %q in %s: use one of %v, say all values as a|b, or add it to freeText", cmd.CommandPath(), word, where, guessed)
			}
		}
	}
}

func TestArgumentsAreReadFromTheUseLine(t *testing.T) {
	t.Parallel()
	for use, want := range map[string]string{
		"show KEY":                     "[KEY]",
		"signal NAME[@PROFILE] SIGNAL": "[NAME[@PROFILE] SIGNAL]",
		"resume [KEY… | --all] [--agent NAME | -- ARGV…]":                                            "[KEY…]",
		"run --session KEY [--prompt TEXT | --prompt-file F|-] (--agent NAME [-- ARGS…] | -- ARGV…)": "[]",
		"run [-- ARGV…]":            "[]",
		"show ID|SESSION":           "[ID|SESSION]",
		"complete ID --claim CLAIM": "[ID]",
		"claude …":                  "[]",
		"help [COMMAND…]":           "[COMMAND…]",
		"request SESSION PLATFORM":  "[SESSION PLATFORM]",
	} {
		if got := fmt.Sprint(arguments(&cobra.Command{Use: use})); got != want {
			t.Errorf("%s: %s, not %s", use, got, want)
		}
	}
}

// TestREADMEAgreesWithTheTopics compares what stands in both.
func TestREADMEAgreesWithTheTopics(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(data), "`", "")

	_, tree, found := strings.Cut(readme, "\n    supervisor/  ")
	if !found {
		t.Fatal("README.md does not show the folder supervisor/")
	}
	tree, _, _ = strings.Cut("    supervisor/  "+tree, "\n\n")
	var want strings.Builder
	for line := range strings.SplitSeq(tree, "\n") {
		want.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if topic := filesText + "\n"; !strings.Contains(topic, want.String()) {
		t.Errorf("help files lacks what README.md has:\n%s", want.String())
	}

	codes := func(pattern, text string) map[string]string {
		all := map[string]string{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all[m[1]] = strings.Join(strings.Fields(m[2]), " ")
		}
		return all
	}
	table, _, _ := strings.Cut(exitCodesText, "\n\n")
	table = strings.ReplaceAll(table, "\n       ", " ")
	topic := codes(`(?m)^  (\S+) +(\S.*)$`, table)
	_, section, _ := strings.Cut(readme, "\n## Exit codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if diff := cmp.Diff(topic, codes(`(?m)^\| (\d\S*) \| (.*) \|$`, section)); diff != "" {
		t.Errorf("README.md and help exit-codes (-):\n%s", diff)
	}
	if len(topic) < 10 {
		t.Errorf("only %d exit codes are found: %v", len(topic), slices.Collect(maps.Keys(topic)))
	}
}

// TestTopicsAreTablesAsTheyAreWritten: the first line keeps its column, and a line that goes on is filled with what follows.
func TestTopicsAreTablesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	topic := exitCodesTopic()
	topic.SetOut(&out)
	_ = (&app{}).printHelp(topic)
	for _, want := range []string{"  0    done\n  1    failed\n", "\n       handoff; or the turn was left open\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help exit-codes lacks %q:\n%s", want, out.String())
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/fsstate"
)

// oddKeys are session keys with what a shell takes for more than a letter.
var oddKeys = []string{
	"agent:main:cli", "agent:main:telegram:dm:42", "fix me", "fix-tests", "grüße-日本", "it's",
	"one\ntwo", `say "hi" $HOME`, "!bang", "~x", "a=b@c", "-dash",
}

// completing is a home with open turns under those keys, and the environment of a shell in which this test binary is
// hermes-supervisor.
func completing(t *testing.T) (home string, environ []string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := fsstate.Open(fsstate.Home{Path: home, Root: home}, fsstate.Options{UnsafeFilesystem: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, key := range oddKeys {
		turn := &fsstate.Turn{Session: key, Phase: fsstate.PhaseRunning, Prompt: "x", StartedAt: time.Now()}
		if err := (fsstate.TurnFiles{Store: store}).Put(turn); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "hermes-supervisor")); err != nil {
		t.Skipf("no link can be made to the program: %v", err)
	}
	return home, []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "HERMES_HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "LC_ALL=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		"LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH"),
	}
}

// inShell runs a script in a real shell, and skips where there is none.
func inShell(t *testing.T, environ []string, script string, argv ...string) string {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, append(argv[1:], file)...)
	cmd.Env = environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", argv[0], err, stdout.String(), stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("%s: completion printed into the shell: %s", argv[0], stderr.String())
	}
	return stdout.String()
}

// TestCompletionInBash drives the script as bash's Tab does: with the line, the cursor, and the part of the word that bash will
// replace, which readline cuts at quotes and at the characters of COMP_WORDBREAKS.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	_, environ := completing(t)
	cases := []struct{ typed, replaced, want string }{
		{`turn sh`, `sh`, `<show>`},
		{`turn show fix`, `fix`, `<fix\ me><fix-tests>`},
		{`turn show fix\ `, `fix\ `, `<fix\ me>`},
		{`turn show "fix `, `fix `, `<fix me>`},
		{`turn show 'fix `, `fix `, `<fix me>`},
		{`turn show agent:main:`, ``, `<cli><telegram:dm:42>`},
		{`turn show agent:main:t`, `t`, `<telegram:dm:42>`},
		{`turn show "agent:main:t`, `agent:main:t`, `<agent:main:telegram:dm:42>`},
		{`turn show it`, `it`, `<it\'s>`},
		{`turn show "it`, `it`, `<it's>`},
		{`turn show 'it`, `it`, `<it'\''s>`},
		{`turn show sa`, `sa`, `<say\ \"hi\"\ \$HOME>`},
		{`turn show "sa`, `sa`, `<say \"hi\" \$HOME>`},
		{`turn show on`, `on`, `<$'one\ntwo'>`},
		{`turn show "on`, `on`, `<one"$'\n'"two>`},
		{`turn show $'on`, `on`, `<one\ntwo>`},
		{`turn show gr`, `gr`, `<grüße-日本>`},
		{`turn show \!`, `\!`, `<\!bang>`},
		{`turn show "!`, `!`, `<"'!'"bang>`},
		{`turn show \~`, `\~`, `<\~x>`},
		{`turn show a=`, ``, `<b@c>`},
		{`turn show -- -`, `-`, `<-dash>`},
		{`turn show fix-tests `, ``, `<>`}, // it takes one key
		{`turn resume fix-tests fix`, `fix`, `<fix\ me>`},
		{`turn list; hermes-supervisor turn interrupt gr`, `gr`, `<grüße-日本>`},
		{`handoff request fix-`, `fix-`, `<fix-tests>`},
		{`turn begin --session=gr`, `gr`, `<grüße-日本>`},
		{`turn run --agent cl`, `cl`, `<claude>`},
		{`hooks install clau`, `clau`, `<claude>`},
		{`run --restart=on`, `on`, `<on-failure>`},
		{`logs x --stream `, ``, `<err><out>`},
		{`completion p`, `p`, `<powershell>`},
		{`help exit`, `exit`, `<exit-codes>`},
		{`help turn sh`, `sh`, `<show>`},
		{`turn show --hom`, `--hom`, `<--home>`},
		{`--home /nowhere turn show fix`, `fix`, `<>`},
		{`turn show $(touch here) fix`, `fix`, `<>`},
		{`turn nothing x`, `x`, `<>`},
		{`claude -p `, ``, `<>`},
	}
	var script, want strings.Builder
	script.WriteString(`source <(hermes-supervisor completion bash)
try() {
    COMP_LINE="hermes-supervisor $1" COMP_POINT=$((${#1} + 18))
    COMPREPLY=(left)
    _hermes_supervisor hermes-supervisor "$2" ''
    printf '<%s>' "${COMPREPLY[@]}"
    echo
}
cd "$HOME"
`)
	for _, c := range cases {
		fmt.Fprintf(&script, "try %s %s\n", "'"+strings.ReplaceAll(c.typed, "'", `'\''`)+"'", "'"+strings.ReplaceAll(c.replaced, "'", `'\''`)+"'")
		want.WriteString(c.want + "\n")
	}
	script.WriteString("[[ ! -e here ]] || echo completion ran what was on the line\n")
	got := inShell(t, environ, script.String(), "bash", "--norc", "--noprofile")
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestCompletedWordsAreTheKey has bash read back what completion puts there, after each kind of quote.
func TestCompletedWordsAreTheKey(t *testing.T) {
	t.Parallel()
	_, environ := completing(t)
	var script, want strings.Builder
	for _, key := range append([]string{"\x1b[31m", "back\\slash", "`x`", "$(x)", "a'b\"c", "\u202e"}, oddKeys...) {
		for _, form := range []struct {
			opens, closes string
			quote         byte
		}{{"", "", 0}, {"'", "'", '\''}, {`"`, `"`, '"'}, {"$'", "'", '$'}} {
			fmt.Fprintf(&script, "printf '%%s\\0' %s%s%s\n", form.opens, bashWord(key, true, form.quote), form.closes)
			want.WriteString(key + "\x00")
		}
	}
	if got := inShell(t, environ, script.String(), "bash", "--norc", "--noprofile"); got != want.String() {
		t.Errorf("bash reads\n%q\nnot\n%q", got, want.String())
	}
}

// TestCompletionInZsh gives the function what zsh's completion gives it, and takes what it adds.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	_, environ := completing(t)
	got := inShell(t, environ, `
compdef() { :; }
source <(hermes-supervisor completion zsh)
compadd() { print -rn -- "${(@qqqq)${(P@)@[-1]}} " }
_files() { print -rn -- "files $* " }
compset() { :; }
try() {
    local -a words=("$@")
    local CURRENT=$# PREFIX=$@[-1] IPREFIX= QIPREFIX=
    _hermes-supervisor
    print
}
try hermes-supervisor turn sh
try hermes-supervisor turn show fix
try hermes-supervisor turn show "'fix "
try hermes-supervisor turn show agent:main:t
try hermes-supervisor turn show on
try hermes-supervisor turn show gr
try hermes-supervisor run --restart=on
try hermes-supervisor --home ""
try hermes-supervisor turn run --prompt-file ""
`, "zsh", "-f")
	want := `$'show' 
$'fix me' $'fix-tests' 
$'fix me' 
$'agent:main:telegram:dm:42' 
$'one\ntwo' 
$'grüße-日本' 
$'--restart=on-failure' 
files -/ 
files  
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestCompletionInFish asks fish itself what it would complete.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	_, environ := completing(t)
	got := inShell(t, environ, `
hermes-supervisor completion fish | source
for line in 'turn sh' 'turn show fix' 'turn show \'fix ' 'turn show agent:main:t' 'turn show on' 'turn show gr' 'turn show sa' 'run --restart=on' 'turn run --agent clau'
    complete -C "hermes-supervisor $line" | string match -r '^[^\t]*' | string collect -N
    echo
end
`, "fish", "--no-config")
	want := "show\n\nfix me\nfix-tests\n\nfix me\n\nagent:main:telegram:dm:42\n\none\ntwo\n\ngrüße-日本\n\nsay \"hi\" $HOME\n\n--restart=on-failure\n\nclaude\n\n"
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestCompletionInPowerShell asks PowerShell itself what it would complete.
func TestCompletionInPowerShell(t *testing.T) {
	t.Parallel()
	_, environ := completing(t)
	got := inShell(t, environ, `
hermes-supervisor completion powershell | Out-String | Invoke-Expression
foreach ($typed in 'turn sh', 'turn show fix', 'turn show agent:main:t', 'turn show on', 'turn show gr') {
    $line = "hermes-supervisor $typed"
    (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText -join '|'
}
`, "pwsh", "-NoProfile", "-NonInteractive", "-File")
	want := "show\n'fix me'|fix-tests\nagent:main:telegram:dm:42\n\"one`ntwo\"\n'grüße-日本'\n"
	if diff := cmp.Diff(want, strings.ReplaceAll(got, "\r\n", "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestPowerShellIsAnsweredInASCII holds without PowerShell what it gets.
func TestPowerShellIsAnsweredInASCII(t *testing.T) {
	home, _ := completing(t)
	t.Setenv("HERMES_HOME", home)
	for typed, want := range map[string]string{
		"turn\x1fshow\x1fgr": `{"candidates":[{"text":"'gr\u00fc\u00dfe-\u65e5\u672c'","list":"gr\u00fc\u00dfe-\u65e5\u672c","tip":"gr\u00fc\u00dfe-\u65e5\u672c"}],"offer":"words"}`,
		"turn\x1fshow\x1fon": "{\"candidates\":[{\"text\":\"\\\"one`ntwo\\\"\",\"list\":\"\\\"one\\\\ntwo\\\"\",\"tip\":\"\\\"one\\\\ntwo\\\"\"}],\"offer\":\"words\"}",
		"turn\x1fshow\x1fit": `{"candidates":[{"text":"'it''s'","list":"it's","tip":"it's"}],"offer":"words"}`,
	} {
		t.Setenv(powershellVar, typed)
		if got := answerOf("powershell"); got != want {
			t.Errorf("%q is answered\n%s\nnot\n%s", typed, got, want)
		}
	}
}

// answerOf is what __complete prints.
func answerOf(args ...string) string {
	a := &app{stdin: strings.NewReader("")}
	c := &completion{app: a, root: a.command(), until: time.Now().Add(readWait)}
	c.root.SetOut(io.Discard)
	c.root.SetErr(io.Discard)
	var out bytes.Buffer
	c.answer(&out, args)
	return out.String()
}

// TestCompletionIsHarmlessInAHostileHome completes where files are broken, block or are missing: it ends in time, prints
// nothing to stderr, exits with 0 and changes nothing.
func TestCompletionIsHarmlessInAHostileHome(t *testing.T) {
	t.Parallel()
	home, environ := completing(t)
	turns := filepath.Join(home, "supervisor", "turns")
	for name, content := range map[string]string{
		"=torn.json": `{"session": "to`, "=other.json": `{"session": "another's"}`, "=null.json": `null`, "=large.json": strings.Repeat(" ", 2<<20),
		"=nul.json": `{"session": "a\u0000b"}`,
	} {
		if err := os.WriteFile(filepath.Join(turns, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := makePipe(filepath.Join(turns, "=pipe.json")); err != nil {
		t.Logf("no FIFO here: %v", err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(turns, "=link.json")); err != nil {
		t.Logf("no link here: %v", err)
	}
	pipe := filepath.Join(filepath.Dir(home), "pipe")
	_ = makePipe(pipe)
	before := treeOf(t, filepath.Dir(home))
	for name, line := range map[string]string{
		"broken records":     "turn show ",
		"no such home":       "--home " + filepath.Join(home, "none") + " turn show ",
		"a file for a home":  "--home " + filepath.Join(turns, "=torn.json") + " turn show ",
		"a FIFO as config":   "-c " + pipe + " start ",
		"a FIFO as a home":   "--home " + pipe + " turn resume ",
		"a flag with no end": "turn run --wait ",
		"nothing known":      "\x00\xff ",
		"half a quote":       `turn show "`,
		"half an escape":     `turn show \`,
		"half a variable":    `turn show ${HO`,
	} {
		for _, args := range [][]string{
			{"bash", "hermes-supervisor " + line, ""},
			append([]string{"zsh", ""}, strings.Fields(line)...),
			append([]string{"fish", "'"}, strings.Fields(line)...),
			{"tcsh", line},
			nil,
		} {
			if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "\x00") }) {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(home), "bin", "hermes-supervisor"), append([]string{completeName}, args...)...)
			cmd.Env = environ
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			began := time.Now()
			out, err := cmd.Output()
			cancel()
			if err != nil || stderr.Len() > 0 {
				t.Errorf("%s: %q: %v, stderr %q", name, args, err, stderr.String())
			}
			if took := time.Since(began); took > completeWait+5*time.Second { // a busy machine starts it late
				t.Errorf("%s: %q took %v", name, args, took)
			}
			if name == "broken records" && len(args) == 3 && args[0] == "bash" && !strings.Contains(string(out), "fix-tests") {
				t.Errorf("%s: %q hides the good ones: %q", name, args, out)
			}
		}
	}
	if diff := cmp.Diff(before, treeOf(t, filepath.Dir(home))); diff != "" {
		t.Errorf("completion changed something:\n%s", diff)
	}
}

// treeOf is what lies below a folder, with sizes and times.
func treeOf(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCompletionOfTenThousandTurns offers a bounded part of them, whose common beginning is that of all.
func TestCompletionOfTenThousandTurns(t *testing.T) {
	home, _ := completing(t)
	t.Setenv("HERMES_HOME", home)
	for i := range 10_000 {
		key := fmt.Sprintf("nightly-%05d", i)
		if i == 9_999 {
			key = "night"
		}
		if err := os.WriteFile(filepath.Join(home, "supervisor", "turns", key+".json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	_, found := candidatesOf([]string{"turn", "show"}, "ni")
	t.Logf("%d candidates in %v", len(found), time.Since(began))
	if len(found) != maxCandidates || found[0].text != "night" || found[len(found)-1].text != "nightly-09998" {
		t.Errorf("%d candidates, from %v to %v", len(found), found[0], found[len(found)-1])
	}
	if _, found = candidatesOf([]string{"turn", "show"}, "nightly-0777"); len(found) != 10 {
		t.Errorf("%d candidates for a longer word", len(found))
	}
}

func candidatesOf(words []string, current string) (string, []candidate) {
	a := &app{stdin: strings.NewReader("")}
	c := &completion{app: a, root: a.command(), until: time.Now().Add(readWait)}
	return c.candidates(words, current)
}

// TestServicesAndProfilesComplete takes names from hermes.toml and from what was run.
func TestServicesAndProfilesComplete(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the configuration's owner is not looked at in the same way")
	}
	home, _ := completing(t)
	t.Setenv("HERMES_HOME", home)
	config := filepath.Join(filepath.Dir(home), "hermes.toml")
	text := "[[service]]\nname = \"gateway\"\ncommand = [\"x\"]\n[agent.mine]\ncommand = [\"x\"]\n[handoff.platform.desk]\nexternal = true\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERMES_SUPERVISOR_CONFIG", config)
	if err := os.WriteFile(filepath.Join(home, "supervisor", "services", "old.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "profiles", "office"), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"start":                   "[gateway old]",
		"logs":                    "[gateway old]",
		"signal gateway|US":       "[USR1 USR2]",
		"stop|gateway@":           "[gateway@default gateway@office]",
		"stop|unknown@":           "[]",
		"turn run --agent|m":      "[mine]",
		"handoff claim":           "[desk]",
		"handoff request fix|":    "[desk]",
		"agents show|min":         "[mine]",
		"serve-turn --profile":    "[default office]",
		"run -- |x":               "[]",
		"turn resume --all -- |x": "[]",
	} {
		before, current, _ := strings.Cut(line, "|")
		_, found := candidatesOf(strings.Fields(before), current)
		got := []string{}
		for _, one := range found {
			got = append(got, one.text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, not %s", line, got, want)
		}
	}
}

package config

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnEnvFileIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# comment\r\n" +
		"  PLAIN = a b=c  \r\n" +
		"\n" +
		"EMPTY=\n" +
		"DOLLAR=$HOME ${X} ~ {{home}} \\n\n" +
		"HASH=a#b\n" +
		"SINGLE=' a \\n \"b\" # c '   # comment\n" +
		"DOUBLE=\"a\\n\\\"b\\\" \\\\ \\t # 'c'\"\n" +
		"_1=last"
	want := map[string]string{
		"PLAIN": "a b=c", "EMPTY": "", "DOLLAR": "$HOME ${X} ~ {{home}} \\n", "HASH": "a#b", "SINGLE": " a \\n \"b\" # c ",
		"DOUBLE": "a\n\"b\" \\ \\t # 'c'", "_1": "last",
	}
	got, err := Service{}.readEnv("/f", func(string) (string, error) { return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABadEnvFileIsToldWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"no assignment", "A=1\n\nhunter2", `/f:3: is no KEY=VALUE`},
		{"no name", "hunter2 x=1", `/f:1: has no variable's name before the = (letters, digits and _)`},
		{"export", "export A=hunter2", `/f:1: has no variable's name before the = (letters, digits and _)`},
		{"quote not closed", "A='hunter2", `/f:1: has a quote ' that is not closed on the line`},
		{"quote escaped", `A="hunter2\"`, `/f:1: has a quote " that is not closed on the line`},
		{"more behind the quote", `A="hunter2"x`, `/f:1: has more than a comment behind the closing quote`},
		{"comment in a value", "A=hunter2 # mine", `/f:1: has a # in a value without quotes: put the value into quotes, or the comment on a line of its own`},
		{"twice", "A=1\nA=hunter2", `/f:2: A is set twice`},
		{"ours", "HERMES_SUPERVISOR_INSTANCE=hunter2", `/f:1: HERMES_SUPERVISOR_INSTANCE is the supervisor's own`},
		{"unset too", "X=hunter2", `/f:1: X is in unset_env too`},
		{"no text", "A=hunter2\xff", `/f:1: is no UTF-8 text`},
		{"NUL", "A=hunter2\x00", `/f:1: is no UTF-8 text`},
	} {
		_, err := Service{UnsetEnv: []string{"X"}}.readEnv("/f", func(string) (string, error) { return tc.text, nil })
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

func TestAnEnvFileThatOthersCanChangeIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no modes to check")
	}
	dir, other := folder(t), folder(t)
	path := file(t, filepath.Join(other, "web.env"), "A = 1\n")
	conf := file(t, filepath.Join(dir, "hermes.toml"), service+"env_file = '"+path+"'\n")
	if c, err := Load(Source{Path: conf}); err != nil || c.Services[0].FileEnv[0]["A"] != "1" {
		t.Fatalf("%+v, %v", c, err)
	}
	mode(t, path, 0o620)
	refused(t, conf, conf+":4: service.env_file: "+path+": can be written by others (mode 0620): chmod go-w "+path)
	mode(t, path, 0o600)
	mode(t, other, 0o770)
	refused(t, conf, conf+":4: service.env_file: "+path+": its folder "+other+" can be written by others (mode 0770): chmod go-w "+other)
	mode(t, other, 0o700)
	if _, err := Load(Source{Path: link(t, conf, filepath.Join(dir, "link"))}); err != nil {
		t.Error(err)
	}
	file(t, path, strings.Repeat("#", maxFile+1))
	refused(t, conf, conf+":4: service.env_file: "+path+": is larger than 128 KiB")
}

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestTheConfigurationIsTheFlagsThenTheVariablesThenTheUsers(t *testing.T) {
	t.Parallel()
	user, named := t.TempDir(), filepath.Join(t.TempDir(), "n.toml")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	standard := Source{Path: filepath.Join(user, "hermes-supervisor", "hermes.toml"), Dir: filepath.Join(user, "hermes-supervisor")}
	for _, tc := range []struct {
		name, flag, variable string
		want                 Source
	}{
		{"flag", named, "other.toml", Source{Path: named, Explicit: true, Dir: filepath.Dir(named)}},
		{"flag below the working directory", filepath.Join("x", "n.toml"), "", Source{Path: filepath.Join("x", "n.toml"), Explicit: true, Dir: filepath.Join(here, "x")}},
		{"variable", "", named, Source{Path: named, Explicit: true, Dir: filepath.Dir(named)}},
		{"neither", "", "", standard},
	} {
		got, err := Find(tc.flag, env(map[string]string{Var: tc.variable, "HERMES_HOME": t.TempDir()}), user)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestTheDefaultIsNeverWhereAgentsWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	through := link(t, dir, filepath.Join(t.TempDir(), "link"))
	const remedy = ": name a file with -c or HERMES_SUPERVISOR_CONFIG"
	for _, tc := range []struct {
		name, user, home, want string
	}{
		{"folder of the working directory", "conf", "", "conf: the user's configuration folder is not absolute"},
		{"folder in the home", filepath.Join(dir, ".config"), dir, "lies inside the Hermes home " + dir + ", where agents write"},
		{"folder is the home", dir, filepath.Join(dir, "hermes-supervisor"), "lies inside the Hermes home"},
		{"folder in the home by a link", filepath.Join(through, "not", "yet"), dir, "lies inside the Hermes home " + dir},
		{"home by a link", filepath.Join(dir, "c"), through, "lies inside the Hermes home " + through},
	} {
		got, err := Find("", env(map[string]string{"HERMES_HOME": tc.home}), tc.user)
		if err == nil {
			t.Errorf("%s: found %+v", tc.name, got)
		} else if !strings.Contains(err.Error(), tc.want) || !strings.HasSuffix(err.Error(), remedy) {
			t.Errorf("%s:\n got %v\nwant %s…%s", tc.name, err, tc.want, remedy)
		}
	}
	for name, user := range map[string]string{"beside the home": dir + "-conf", "above the home": dir} {
		if _, err := Find("", env(map[string]string{"HERMES_HOME": filepath.Join(dir, "home")}), user); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDefaultHomeCountsWhereNoneIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vars := env(map[string]string{"HOME": dir, "LOCALAPPDATA": dir})
	if _, err := Find("", vars, filepath.Join(hermesHome(vars), "config")); err == nil {
		t.Error("a configuration inside ~/.hermes is found")
	}
	if _, err := Find("", vars, filepath.Join(dir, ".config")); err != nil {
		t.Error(err)
	}
}

func TestWithoutAConfigurationFolderTheDefaultsHold(t *testing.T) {
	t.Parallel()
	s, err := Find("", func(string) string { return "" }, "")
	if err != nil || s != (Source{}) {
		t.Fatalf("%+v, %v", s, err)
	}
	if cfg, err := Load(s); err != nil || !cfg.AutoContinue.Enabled || cfg.AutoContinue.MaxAttempts != 2 {
		t.Errorf("%+v, %v", cfg, err)
	}
}

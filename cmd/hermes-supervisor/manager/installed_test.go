package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/fsstate"
)

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// plant writes files into folders of a test's own, by their paths below it, and returns the roots.
func plant(t *testing.T, files map[string]string) (Roots, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return Roots{
		SystemdUser: []string{in("user"), in("everyone")}, SystemdSystem: []string{in("system")}, LaunchAgents: []string{in("agents")},
		LaunchDaemons: []string{in("daemons")}, S6: []string{in("service")}, Tasks: []string{in("tasks")}, Linger: in("linger"), UserHome: in("me"),
	}, dir
}

func root(path string) fsstate.Home { return fsstate.Home{Path: path, Root: path} }

func profile(path, name string) fsstate.Home {
	return fsstate.Home{Path: filepath.Join(path, "profiles", name), Root: path, Profile: name}
}

const hermesPlist = `<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
  <key>Label</key><string>ai.hermes.gateway</string>
  <key>ProgramArguments</key>
  <array>
    <!-- <string>--profile</string><string>commented</string> -->
    <string>/opt/python</string><string>-m</string><string>hermes_cli.main</string>
    <string>--profile</string><string>work</string><string>gateway</string><string>run</string>
  </array>
  <key>EnvironmentVariables</key><dict><key>HERMES_HOME</key><string>/h &amp; h</string></dict>
</dict></plist>`

func TestRivalsAreHermessOwnUnitsOfTheSameHome(t *testing.T) {
	t.Parallel()
	const exec = "[Service]\nExecStart=/opt/hermes/python -m hermes_cli.main "
	for _, tc := range []struct {
		name  string
		files map[string]string
		home  func(dir string) fsstate.Home
		want  []string // names
	}{
		{"the user's own home", map[string]string{"user/hermes-gateway.service": exec + "gateway run\n"}, func(d string) fsstate.Home { return root(d + "/me/.hermes") }, []string{"hermes-gateway.service"}},
		{"another home", map[string]string{"user/hermes-gateway.service": exec + "gateway run\n"}, func(string) fsstate.Home { return root("/elsewhere") }, nil},
		{"of the environment", map[string]string{"user/hermes-gateway.service": exec + "gateway run\nEnvironment=A=b \"HERMES_HOME=/h x%%y\"\n"}, func(string) fsstate.Home { return root("/h x%y") }, []string{"hermes-gateway.service"}},
		{"%h", map[string]string{"user/hermes-gateway.service": exec + "gateway run\nEnvironment=HERMES_HOME=%h/data\n"}, func(d string) fsstate.Home { return root(d + "/me/data") }, []string{"hermes-gateway.service"}},
		{"a drop-in moves it", map[string]string{"user/hermes-gateway.service": exec + "gateway run\n", "user/hermes-gateway.service.d/a.conf": "[Service]\nEnvironment=HERMES_HOME=/h\n"}, func(string) fsstate.Home { return root("/h") }, []string{"hermes-gateway.service"}},
		{"a profile, for its root", map[string]string{"user/hermes-gateway-work.service": exec + "--profile work gateway run\n"}, func(d string) fsstate.Home { return root(d + "/me/.hermes") }, []string{"hermes-gateway-work.service"}},
		{"a profile, for itself", map[string]string{"user/hermes-gateway-work.service": exec + "-p work gateway run\n"}, func(d string) fsstate.Home { return profile(d+"/me/.hermes", "work") }, []string{"hermes-gateway-work.service"}},
		{"a profile, for another", map[string]string{"user/hermes-gateway-work.service": exec + "--profile=work gateway run\n"}, func(d string) fsstate.Home { return profile(d+"/me/.hermes", "play") }, nil},
		{"the root, for a profile", map[string]string{"user/hermes-gateway.service": exec + "gateway run\n"}, func(d string) fsstate.Home { return profile(d+"/me/.hermes", "work") }, nil},
		{"the machine's, of nobody's home", map[string]string{"system/hermes-gateway.service": exec + "gateway run\n"}, func(string) fsstate.Home { return root("/h") }, []string{"hermes-gateway.service"}},
		{"the machine's, with a home", map[string]string{"system/hermes-gateway.service": exec + "gateway run\nEnvironment=HERMES_HOME=/g\n"}, func(string) fsstate.Home { return root("/h") }, nil},
		{"empty", map[string]string{"user/hermes-gateway.service": ""}, func(string) fsstate.Home { return root("/h") }, []string{"hermes-gateway.service"}},
		{"not a unit", map[string]string{"user/hermes-gateway.service.bak": exec, "user/other.service": exec}, func(d string) fsstate.Home { return root(d + "/me/.hermes") }, nil},
		{"launchd", map[string]string{"agents/ai.hermes.gateway.plist": hermesPlist}, func(string) fsstate.Home { return profile("/h & h", "work") }, []string{"ai.hermes.gateway"}},
		{"launchd, another", map[string]string{"agents/ai.hermes.gateway.plist": hermesPlist}, func(string) fsstate.Home { return profile("/h & h", "play") }, nil},
		{"launchd, binary", map[string]string{"agents/ai.hermes.gateway.plist": "bplist00\xd1\x01"}, func(string) fsstate.Home { return root("/h") }, []string{"ai.hermes.gateway"}},
		{"s6", map[string]string{"service/gateway-work/run": "#!/bin/sh\nexec s6-setuidgid hermes hermes -p work gateway run --replace\n"}, func(string) fsstate.Home { return root("/opt/data") }, []string{"gateway-work"}},
		{"s6, the root's", map[string]string{"service/gateway-default/run": "#!/bin/sh\nexec hermes gateway run\n"}, func(string) fsstate.Home { return profile("/opt/data", "work") }, nil},
		{"s6, down", map[string]string{"service/gateway-work/run": "exec hermes -p work gateway run\n", "service/gateway-work/down": ""}, func(string) fsstate.Home { return root("/opt/data") }, nil},
		{"Windows", map[string]string{"tasks/Hermes_Gateway": string(UTF16("<Task><Actions><Exec><Command>wscript</Command><Arguments>x.vbs</Arguments></Exec></Actions></Task>"))}, func(string) fsstate.Home { return root("/h") }, []string{"Hermes_Gateway"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			roots, dir := plant(t, tc.files)
			rivals, err := Rivals(roots, tc.home(dir))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range rivals {
				names = append(names, r.Name)
				if r.Remove == "" || filepath.Dir(r.Path) == dir {
					t.Errorf("%+v", r)
				}
			}
			same(t, names, tc.want)
		})
	}
}

// TestAUnitWhoseHomeIsSetElsewhereIsARival: in a file, in a drop-in of several units, on the command line of env or of a
// shell. What could not be read or understood is a rival of every home.
func TestAUnitWhoseHomeIsSetElsewhereIsARival(t *testing.T) {
	t.Parallel()
	const exec = "[Service]\nExecStart=/opt/hermes/python -m hermes_cli.main gateway run\n"
	for name, tc := range map[string]struct {
		files       map[string]string // DIR in a text is the folder that they are in
		its, others bool              // found for the home that is meant, and for any other
	}{
		"a file":                       {map[string]string{"env": "# of ours\nA=b\nHERMES_HOME=\"/its\"\n", "user/hermes-gateway.service": exec + "EnvironmentFile=DIR/env\n"}, true, false},
		"a file outranks the unit":     {map[string]string{"env": "HERMES_HOME=/its\n", "user/hermes-gateway.service": exec + "EnvironmentFile=-DIR/env\nEnvironment=HERMES_HOME=/h\n"}, true, false},
		"a file that may be missing":   {map[string]string{"user/hermes-gateway.service": exec + "EnvironmentFile=-DIR/env\nEnvironment=HERMES_HOME=/its\n"}, true, false},
		"a file that is missing":       {map[string]string{"user/hermes-gateway.service": exec + "EnvironmentFile=DIR/env\n"}, true, true},
		"a file of another specifier":  {map[string]string{"user/hermes-gateway.service": exec + "EnvironmentFile=%t/env\n"}, true, true},
		"a specifier":                  {map[string]string{"user/hermes-gateway.service": exec + "Environment=HERMES_HOME=%t/h\n"}, true, true},
		"files that were taken away":   {map[string]string{"user/hermes-gateway.service": exec + "EnvironmentFile=DIR/env\nEnvironmentFile=\nEnvironment=HERMES_HOME=/its\n"}, true, false},
		"the manager's environment":    {map[string]string{"user/hermes-gateway.service": exec + "PassEnvironment=LANG HERMES_HOME\n"}, true, true},
		"a drop-in of a prefix":        {map[string]string{"user/hermes-gateway-x.service": exec, "user/hermes-gateway-.service.d/a.conf": "[Service]\nEnvironment=HERMES_HOME=/its\n"}, true, false},
		"a drop-in of all services":    {map[string]string{"user/hermes-gateway.service": exec, "everyone/service.d/a.conf": "[Service]\nEnvironment=HERMES_HOME=/its\n"}, true, false},
		"its own drop-in is the last":  {map[string]string{"user/hermes-gateway.service": exec, "user/service.d/z.conf": "[Service]\nEnvironment=HERMES_HOME=/h\n", "user/hermes-gateway.service.d/a.conf": "[Service]\nEnvironment=HERMES_HOME=/its\n"}, true, false},
		"env":                          {map[string]string{"user/hermes-gateway.service": "[Service]\nExecStart=/usr/bin/env HERMES_HOME=/its hermes gateway run\n"}, true, false},
		"a shell":                      {map[string]string{"user/hermes-gateway.service": "[Service]\nExecStart=/bin/sh -c 'HERMES_HOME=/its exec hermes gateway run'\n"}, true, true},
		"a script":                     {map[string]string{"user/hermes-gateway.service": "[Service]\nExecStart=/home/me/start-gateway\n"}, true, true},
		"s6":                           {map[string]string{"service/gateway-default/run": "#!/bin/sh\nexport HERMES_HOME=/its\nexec hermes gateway run\n"}, true, false},
		"launchd's script of a shell":  {map[string]string{"agents/ai.hermes.gateway.plist": "<key>ProgramArguments</key><array><string>osascript</string><string>do shell script &quot;exec py -m hermes_cli.main --profile x gateway run&quot;</string></array><key>HERMES_HOME</key><string>/h</string>"}, true, true},
		"of another, though in a file": {map[string]string{"env": "HERMES_HOME=/h\n", "user/hermes-gateway.service": exec + "EnvironmentFile=DIR/env\n"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roots, dir := plant(t, tc.files)
			for name, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for home, want := range map[string]bool{"/its": tc.its, "/others": tc.others} {
				if found, err := Rivals(roots, root(home)); err != nil || (len(found) > 0) != want {
					t.Errorf("%s: %v, %v", home, found, err)
				}
			}
		})
	}
}

func TestAMaskedUnitIsNone(t *testing.T) {
	t.Parallel()
	roots, dir := plant(t, map[string]string{"user/x": "", "everyone/hermes-gateway.service": "[Service]\nExecStart=/hermes gateway run\n"})
	home := root(dir + "/me/.hermes")
	if found, err := Rivals(roots, home); err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "user", "hermes-gateway.service")); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	if found, err := Rivals(roots, home); err != nil || len(found) != 0 {
		t.Errorf("masked: %v, %v", found, err)
	}
}

func TestInstalledFindsOurOwnAndWhatTheyGrant(t *testing.T) {
	t.Parallel()
	j := Job{Program: "/usr/bin/hermes-supervisor", Home: "/h", Budget: Budget{Services: 79 * time.Second, Margin: 15 * time.Second}}
	other := j
	other.Home = "/elsewhere"
	roots, dir := plant(t, map[string]string{
		"user/hermes-supervisor-1.service":                 SystemdUnit(j, false),
		"user/hermes-supervisor-2.service":                 SystemdUnit(other, false),
		"user/hermes-supervisor-3.service":                 "[Service]\nExecStart=/usr/bin/hermes-supervisor --home /h run\n", // somebody's own
		"system/hermes-supervisor-1.service":               SystemdUnit(j, true),
		"system/hermes-supervisor-1.service.d/budget.conf": "[Service]\nTimeoutStopSec=3min\n",
		"everyone/hermes-supervisor.service":               SystemdUnit(Packaged(Systemd, User), false),
		"agents/org.hermes-supervisor.plist":               LaunchdPlist(j, "hermes-supervisor"),
		"daemons/org.hermes-supervisor.plist":              LaunchdPlist(j, "hermes-supervisor"),
		"tasks/hermes-supervisor":                          string(UTF16(withoutComments(TaskXML(j, "hermes-supervisor")))), // as the service keeps it
	})
	units, err := Installed(roots, root("/h"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Duration{}
	for _, u := range units {
		got[u.Manager+" "+u.Scope+" "+u.Name] = u.Stop
		if u.Home != "/h" || u.Text == "" {
			t.Errorf("%+v", u)
		}
	}
	want := map[string]time.Duration{
		"systemd user hermes-supervisor-1.service": 94 * time.Second, "systemd system hermes-supervisor-1.service": 3 * time.Minute,
		"launchd user org.hermes-supervisor": GUIExitTimeOut, "launchd system org.hermes-supervisor": 94 * time.Second, "windows-task user hermes-supervisor": 0,
	}
	same(t, got, want)
	units, err = Installed(roots, root(dir+"/me/.hermes"))
	if err != nil || len(units) != 1 || units[0].Name != "hermes-supervisor.service" {
		t.Errorf("a package's, for each user's own home: %+v, %v", units, err)
	}
}

func TestLinger(t *testing.T) {
	t.Parallel()
	roots, _ := plant(t, map[string]string{"linger/me": ""})
	for user, want := range map[string]bool{"me": true, "you": false, "": false, "../me": false} {
		if got, err := Linger(roots, user); err != nil || got != want {
			t.Errorf("%q: %v, %v", user, got, err)
		}
	}
	if got, err := Linger(Roots{}, "me"); err != nil || got {
		t.Errorf("without a folder: %v, %v", got, err)
	}
}

func TestNameIsTheHomes(t *testing.T) {
	t.Parallel()
	for name, home := range map[string]fsstate.Home{
		"hermes-supervisor": root("/me/.hermes"), "hermes-supervisor-work": profile("/me/.hermes", "work"),
		"hermes-supervisor-fbdca692": root("/srv/hermes"), "hermes-supervisor-work-fbdca692": profile("/srv/hermes", "work"),
	} {
		if got := Name(home, "/me/.hermes"); got != name {
			t.Errorf("%s is %s, want %s", home.Path, got, name)
		}
	}
}

func TestWordIsOneForAShell(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a/b.c": "/a/b.c", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "--user": "--user", "/$x": "'/$x'"} {
		if got := Word(path); got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
}

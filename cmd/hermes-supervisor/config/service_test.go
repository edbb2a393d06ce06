package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// service is a good table, to which a case adds one line (line 4).
const service = "[[service]]\nname = \"web\"\ncommand = [\"web\"]\n"

// everyKey has all keys of [restart] and of a service. Beside it stands the env file /secrets.env.
const everyKey = `
[[service]]
name = "first"
command = ["~/bin/first", "~", "{{profile}}:${SET}", "$$1 $~", "${UNSET:-${SET}/{{home}}}", "${EMPTY}|${EMPTY:-e}"]
cwd = "${SET}"
env = { A = "~/a", B = "b~", "a b" = "", C = "{{home}}", TOKEN = "${SET}" }
env_file = ["~/secrets.env", "/etc/{{profile}}.env"]
unset_env = ["X"]
profiles = ["default", "coder"]
autostart = false
stop_signal = "INT"
stop_scope = "group"
stop_timeout = "70s"
output = "pipe"
log_max = "1GiB"
restart.policy = "never"
restart.park_exit = []
limits = { memory = "512MiB", open_files = 1024, nice = -5 }
[service.ready]
file = "{{home}}/ready"
deadline = "90s"
[service.health]
heartbeat = "~/beat"
max_age = "2m"
interval = "10s"
timeout = "10s"
failures = 1

[restart]
policy = "on-failure"
delay = "2s"
max_delay = "3s"
reset_after = "1h"
storm_starts = 3
storm_window = "10s"
restart_exit = [3]
park_exit = [4, 5]

[[service]]
name = "second"
command = ["/bin/second"]
env_file = "~/secrets.env"
profiles = "all"
ready = { http = "http://127.0.0.1:80/", status = [204] }
health = { tcp = "[::1]:80" }
`

const home = "/home/me"

// around are surroundings with the variables SET and EMPTY and some env files.
func around(files map[string]string) *surroundings {
	return &surroundings{
		home: home,
		lookup: func(name string) (string, bool) {
			value, set := map[string]string{"SET": "/set", "EMPTY": "", "LATIN1": "caf\xe9", "BRACES": "{{x}}", "LONG": strings.Repeat("x", 1<<16)}[name]
			return value, set
		},
		read: func(path string) (string, error) {
			text, found := files[path]
			if !found {
				return "", errMissing
			}
			return text, nil
		},
	}
}

func everything() *surroundings {
	return around(map[string]string{home + "/secrets.env": "TOKEN = from the file\nPASSWORD='{{x}} ${y} ~'\n"})
}

// again checks that a configuration that is printed loads to the same one.
func again(t *testing.T, c Config) {
	t.Helper()
	text, err := c.TOML()
	if err != nil {
		t.Fatal(err)
	}
	around := everything()
	around.lookup, around.home = func(string) (string, bool) { return "", false }, "" // everything is resolved
	around.read = func(path string) (string, error) { return fileOf(c, path), nil }
	got, err := decode(c.Path, text, around)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("loads to another one: %s\n%s", diff, text)
	}
}

// fileOf is an env file as the configuration has read it.
func fileOf(c Config, path string) string {
	var b strings.Builder
	for _, s := range c.Services {
		for i, p := range s.EnvFile {
			if p != path || b.Len() > 0 {
				continue
			}
			for name, value := range s.FileEnv[i] {
				fmt.Fprintf(&b, "%s=\"%s\"\n", name, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value))
			}
		}
	}
	return b.String()
}

func TestEveryKeyOfAServiceReachesItsField(t *testing.T) {
	t.Parallel()
	c, err := decode("f", everyKey, everything())
	if err != nil {
		t.Fatal(err)
	}
	restart := Restart{
		Policy: RestartOnFailure, Delay: Wait(2 * time.Second), MaxDelay: Duration(3 * time.Second), ResetAfter: Duration(time.Hour),
		StormStarts: 3, StormWindow: Duration(10 * time.Second), RestartExit: []int{3}, ParkExit: []int{4, 5},
	}
	ours := restart
	ours.Policy, ours.ParkExit = RestartNever, []int{}
	secrets := map[string]string{"TOKEN": "from the file", "PASSWORD": "{{x}} ${y} ~"}
	second := DefaultService(restart)
	second.Name, second.Command, second.Profiles = "second", []string{"/bin/second"}, Profiles{All: true}
	second.EnvFile, second.FileEnv = Paths{home + "/secrets.env"}, []map[string]string{secrets}
	second.Ready = &Ready{HTTP: "http://127.0.0.1:80/", Status: []int{204}, Deadline: Duration(time.Minute)}
	second.Health = &Health{TCP: "[::1]:80", Interval: Duration(30 * time.Second), Timeout: Duration(5 * time.Second), Failures: 3}
	want := []Service{{
		Name:     "first",
		Command:  []string{home + "/bin/first", home, "{{profile}}:/set", "$1 ~", "/set/{{home}}", "|e"},
		Cwd:      "/set",
		Env:      map[string]string{"A": home + "/a", "B": "b~", "a b": "", "C": "{{home}}", "TOKEN": "/set"},
		EnvFile:  Paths{home + "/secrets.env", "/etc/{{profile}}.env"},
		FileEnv:  []map[string]string{secrets, nil},
		UnsetEnv: []string{"X"},
		Profiles: Profiles{Names: []string{"default", "coder"}},

		StopSignal: "INT", StopScope: ScopeGroup, StopTimeout: Duration(70 * time.Second),
		Output: OutputPipe, LogMax: 1 << 30, Restart: ours,
		Limits: Limits{Memory: 512 << 20, OpenFiles: 1024, Nice: -5},
		Ready:  &Ready{File: "{{home}}/ready", Deadline: Duration(90 * time.Second)},
		Health: &Health{
			Heartbeat: home + "/beat", MaxAge: Duration(2 * time.Minute), Interval: Duration(10 * time.Second),
			Timeout: Duration(10 * time.Second), Failures: 1,
		},
	}, second}
	if diff := cmp.Diff(want, c.Services); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(restart, c.Restart); diff != "" {
		t.Error(diff)
	}
}

func TestABadServiceIsOneLineWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	const plain = `(up to 64 of a-z, 0-9, _ and -, a letter or digit first)`
	const known = `(known: {{home}} {{profile}})`
	for _, tc := range []struct{ name, text, want string }{
		{"services by name", "[service.web]\ncommand = [\"x\"]", `:1: service: must be tables [[service]], not a table`},
		{"services inline", "service = [{ name = \"a\" }]", `:1: service: must be tables [[service]], not an array`},
		{"unknown key", service + "cmd = 1", `:4: service.cmd: unknown key (did you mean "cwd"?)`},
		{"unknown key in the first of two", service + "restrat = 1\n" + service + "name2 = 1", `:4: service.restrat: unknown key (did you mean "restart"?)`},
		{"unknown key in the second of three", service + "[service.env]\nA = \"[[service]]\"\n[[agent]]\n[[ 'service' ]] # here\nname = \"b\"\nnam = 1\n[[service]]\nname = \"c\"\nnam = 1", `:9: service.nam: unknown key (did you mean "name"?)`},
		{"a header in a string of many lines", service + "env.A = '''\n[[service]]\n'''\n[[\"service\"]]\nname = 1", `:8: service.name: must be a string, not an integer`},
		{"unknown key of a table", service + "[service.ready]\nurl = \"x\"", `:5: service.ready.url: unknown key`},
		{"the file's contents are no key", service + "FileEnv = []\n", `:4: service.FileEnv: unknown key`},
		{"a table that is an array", service + "[[service.health]]", `:4: service.health: must be a table, not an array of tables`},
		{"no name", "\n[[service]]\ncommand = [\"x\"]", `:2: service: needs a name (as in name = "gateway")`},
		{"no name in the second", service + "[[service]]\ncommand = [\"x\"]", `:4: service: needs a name (as in name = "gateway")`},
		{"name", "[[service]]\nname = \"../web\"", `:2: service.name: "../web" is no service name ` + plain},
		{"name twice", service + "[[service]]\nname = \"b\"\ncommand = [\"b\"]\n" + service, `:8: service.name: "web" is the name of another service too`},
		{"no command", "[[service]]\nname = \"web\"\ncwd = \"/\"", `:1: service: needs a command (as in command = ["hermes", "gateway", "run"])`},
		{"relative program", "[[service]]\nname = \"web\"\ncommand = [\"bin/web\"]", `:3: service.command: element 1: must be an absolute path (~/ and ${NAME} are expanded) or a name in PATH`},
		{"program of another user", "[[service]]\nname = \"web\"\ncommand = [\"~me/web\"]", `:3: service.command: element 1: must be an absolute path (~/ and ${NAME} are expanded) or a name in PATH`},
		{"program in the home", "[[service]]\nname = \"web\"\ncommand = [\"{{home}}/web\"]", `:3: service.command: element 1: the program cannot be a placeholder`},
		{"program that expands to nothing", "[[service]]\nname = \"web\"\ncommand = [\"${EMPTY}\"]", `:3: service.command: element 1: must name a program`},
		{"variable that is not set", "[[service]]\nname = \"web\"\ncommand = [\"x\", \"a\", \"${UNSET}\"]", `:3: service.command: element 3 "${UNSET}": the variable UNSET is not set (${UNSET:-} takes nothing for it)`},
		{"variable that is not set, in a default", service + "cwd = \"${UNSET:-${UNSET2}}\"", `:4: service.cwd: the variable UNSET2 is not set (${UNSET2:-} takes nothing for it)`},
		{"variable in the shell's way", service + "cwd = \"$HOME\"", `:4: service.cwd: has a $ of its own (write $$ for it, ${NAME} for a variable)`},
		{"variable in another way of the shell's", service + "cwd = \"${SET%/}\"", `:4: service.cwd: "${SET%/}" names no variable (as in ${NAME} or ${NAME:-default})`},
		{"variable not closed", service + "[service.env]\nA = \"1\"\nB = \"x${SET\"", `:4: service.env: "B": has a ${ that is not closed`},
		{"variable that is no text", service + "env.A = \"${LATIN1}\"", `:4: service.env: "A": the value of the variable LATIN1 is no UTF-8`},
		{"variable with braces", service + "env.A = \"${BRACES}\"", `:4: service.env: "A": has {{ from a variable or a default that is no placeholder`},
		{"value without end", service + "env.A = \"${LONG}${LONG}${LONG}\"", `:4: service.env: "A": is longer than 128 KiB when it is expanded`},
		{"defaults without end", service + "cwd = \"" + strings.Repeat("${U:-", 10) + strings.Repeat("}", 10) + "\"", `:4: service.cwd: has more than 8 defaults in one another`},
		{"unknown placeholder", service + "env.A = \"{{hom}}\"", `:4: service.env: "A": unknown placeholder "{{hom}}" ` + known + ` (did you mean "{{home}}"?)`},
		{"placeholder of an agent", "[[service]]\nname = \"web\"\ncommand = [\"x\", \"{{prompt}}\"]", `:3: service.command: element 2 "{{prompt}}": unknown placeholder "{{prompt}}" ` + known},
		{"NUL", service + `cwd = "/a\u0000"`, `:4: service.cwd: has a NUL character`},
		{"relative cwd", service + "cwd = \"data\"", `:4: service.cwd: must be an absolute path, or begin with ~/ or {{home}}/`},
		{"cwd beside the home", service + "cwd = \"{{home}}2\"", `:4: service.cwd: must be an absolute path, or begin with ~/ or {{home}}/`},
		{"cwd that is empty", service + "cwd = \"${EMPTY}\"", `:4: service.cwd: names no folder`},
		{"our variable", service + "env.HERMES_HOME = \"x\"", `:4: service.env: HERMES_HOME is the supervisor's own`},
		{"relative env file", service + "env_file = \"web.env\"", `:4: service.env_file: must be an absolute path, or begin with ~/ or {{home}}/`},
		{"env file that is none", service + "env_file = [\"\"]", `:4: service.env_file: names no file`},
		{"env file missing", service + "env_file = \"~/web.env\"", `:4: service.env_file: /home/me/web.env: no such file`},
		{"env file of a number", service + "env_file = 1", `:4: service.env_file: must be a string or an array of strings, not an integer`},
		{"profile's name", service + "profiles = [\"a\", \"B\"]", `:4: service.profiles: "B" is no profile name ` + plain},
		{"profile twice", service + "profiles = [\"a\", \"a\"]", `:4: service.profiles: names "a" twice`},
		{"no profile", service + "profiles = []", `:4: service.profiles: names no home (the root home is "default")`},
		{"profile as a string", service + "profiles = \"coder\"", `:4: service.profiles: must be "all" or an array of profiles' names, not "coder"`},
		{"profiles as a number", service + "profiles = 1", `:4: service.profiles: must be "all" or an array of profiles' names, not an integer`},
		{"signal in the long form", service + "stop_signal = \"SIGTERM\"", `:4: service.stop_signal: must be "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL", not "SIGTERM" (did you mean "TERM"?)`},
		{"scope", service + "stop_scope = \"tree\"", `:4: service.stop_scope: must be "leader", "group", not "tree"`},
		{"output", service + "output = \"files\"", `:4: service.output: must be "file", "pipe", not "files" (did you mean "file"?)`},
		{"size as a number", service + "log_max = 1", `:4: service.log_max: must be a size in quotes (as in "64MiB"), not an integer`},
		{"size of zero", service + "log_max = \"0MiB\"", `:4: service.log_max: must be above zero, not "0MiB"`},
		{"size in other units", service + "log_max = \"64MB\"", `:4: service.log_max: "64MB" is no size (as in "512KiB", "64MiB", "2GiB")`},
		{"size that overflows", service + "limits.memory = \"8388608TiB\"", `:4: service.limits.memory: "8388608TiB" is no size (as in "512KiB", "64MiB", "2GiB")`},
		{"descriptors", service + "limits.open_files = -1", `:4: service.limits.open_files: must be 1 to 1048576, not -1`},
		{"nice", service + "limits.nice = 20", `:4: service.limits.nice: must be -20 to 19, not 20`},
		{"ready by nothing", service + "[service.ready]\ndeadline = \"1m\"", `:4: service.ready: needs one of output, file, tcp, http`},
		{"ready by two", service + "[service.ready]\nhttp = \"http://x\"\nfile = \"/x\"", `:5: service.ready.http: cannot stand beside file: one of output, file, tcp, http`},
		{"ready by anything", service + "ready.output = \".*\"", `:4: service.ready.output: matches an empty line, so it would match any output`},
		{"ready by a relative file", service + "ready.file = \"x\"", `:4: service.ready.file: must be an absolute path, or begin with ~/ or {{home}}/`},
		{"ready by a port alone", service + "ready.tcp = \":80\"", `:4: service.ready.tcp: must be HOST:PORT (as in "127.0.0.1:8080"), not ":80"`},
		{"ready by port 0", service + "ready.tcp = \"localhost:0\"", `:4: service.ready.tcp: must be HOST:PORT (as in "127.0.0.1:8080"), not "localhost:0"`},
		{"ready by a port's name", service + "ready.tcp = \"localhost:http\"", `:4: service.ready.tcp: must be HOST:PORT (as in "127.0.0.1:8080"), not "localhost:http"`},
		{"ready by another scheme", service + "ready.http = \"ftp://x\"", `:4: service.ready.http: must be a URL (as in "http://127.0.0.1:8080/health")`},
		{"ready by https", service + "ready.http = \"https://x\"", `:4: service.ready.http: https is not supported: name an http:// address of this machine, or its port by tcp`},
		{"ready by a user", service + "ready.http = \"http://me:secret@x\"", `:4: service.ready.http: a user in the URL is not supported`},
		{"status without http", service + "ready = { tcp = \"x:1\", status = [200] }", `:4: service.ready.status: belongs to http, which is not there`},
		{"no status", service + "ready = { http = \"http://x\", status = [99] }", `:4: service.ready.status: HTTP statuses are 100 to 599, not 99`},
		{"health by nothing", service + "[service.health]", `:4: service.health: needs one of heartbeat, tcp, http`},
		{"heartbeat without an age", service + "[service.health]\nheartbeat = \"/x\"", `:5: service.health.heartbeat: heartbeat needs a max_age (as in max_age = "2m")`},
		{"an age without heartbeat", service + "[service.health]\nmax_age = \"1m\"\ntcp = \"x:1\"", `:5: service.health.max_age: belongs to heartbeat, which is not there`},
		{"checks that overlap", service + "[service.health]\ntcp = \"x:1\"\ninterval = \"1s\"", `:6: service.health.interval: timeout (5s) must not be above interval (1s)`},
		{"no failures", service + "health = { tcp = \"x:1\", failures = 0 }", `:4: service.health.failures: must be 1 to 100, not 0`},

		{"policy", "[restart]\npolicy = \"on_failure\"", `:2: restart.policy: must be "always", "on-failure", "never", not "on_failure" (did you mean "on-failure"?)`},
		{"policy of a service", service + "restart.policy = true", `:4: service.restart.policy: must be a string, not true or false`},
		{"delay above its limit", "[restart]\ndelay = \"6m\"", `:2: restart.delay: delay (6m) must not be above max_delay (5m)`},
		{"delay above the limit of all", service + "restart.delay = \"2s\"\n[restart]\nmax_delay = \"1s\"", `:4: service.restart.delay: delay (2s) must not be above max_delay (1s)`},
		{"limit below the delay of all", service + "[service.restart]\nmax_delay = \"100ms\"", `:5: service.restart.max_delay: delay (1s) must not be above max_delay (100ms)`},
		{"no start", "[restart]\nstorm_starts = 0", `:2: restart.storm_starts: must be 1 to 1000, not 0`},
		{"exit code in both", service + "restart.restart_exit = [78]", `:4: service.restart.restart_exit: 78 is in restart_exit too`},
		{"exit code", "[restart]\npark_exit = [-1]", fmt.Sprintf(`:2: restart.park_exit: exit codes are 0 to %d, not -1`, int64(maxExit))},
		{"[restart] goes first", service + "x = 1\n[restart]\ny = 1", `:6: restart.y: unknown key`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := decode("hermes.toml", tc.text, around(nil))
			if err == nil {
				t.Fatalf("loaded: %+v", c)
			}
			if got, want := err.Error(), "hermes.toml"+tc.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestAsWrittenNothingIsExpanded(t *testing.T) {
	t.Parallel()
	const values = "cwd = \"${UNSET}/x\"\nenv_file = \"/no/such/file\"\nenv.A = \"$\"\n"
	c, err := decode("f", service+values, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Services[0]; s.Cwd != "${UNSET}/x" || s.Env["A"] != "$" || s.FileEnv != nil {
		t.Errorf("%+v", s)
	}
	if _, err := c.Services[0].At("/h", ""); err == nil {
		t.Error("an env file that nobody has read is none")
	}
	path := file(t, filepath.Join(folder(t), "hermes.toml"), service+values)
	if _, err := LoadAsWritten(Source{Path: path}); err != nil {
		t.Error(err)
	}
	if _, err := Load(Source{Path: path}); err == nil {
		t.Error("Load does not expand")
	}
}

func TestPlacesAreFilledForEachHome(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	file(t, filepath.Join(dir, "coder.env"), "A = from the file\nB = from the file {{home}}\n")
	quoted := "'" + dir + "/{{profile}}.env'"
	c, err := decode("f", service+"env.A = '{{home}}|{{profile}}'\nenv_file = "+quoted+"\nready.file = '{{home}}/r'\nhealth = { heartbeat = '{{home}}/h', max_age = '1m' }", ownSurroundings())
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.Services[0].At("/h/{{profile}}", "coder")
	if err != nil {
		t.Fatal(err)
	}
	want := c.Services[0]
	want.Cwd, want.EnvFile, want.FileEnv = "/h/{{profile}}", nil, nil
	want.Env = map[string]string{"A": "/h/{{profile}}|coder", "B": "from the file {{home}}"}
	want.Ready = &Ready{File: "/h/{{profile}}/r", Deadline: want.Ready.Deadline}
	health := *want.Health
	health.Heartbeat = "/h/{{profile}}/h"
	want.Health = &health
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
	if c.Services[0].Env["A"] != "{{home}}|{{profile}}" || c.Services[0].Ready.File != "{{home}}/r" {
		t.Errorf("the service itself was changed: %+v", c.Services[0])
	}
	_, err = c.Services[0].At("/h", "")
	if bad, ok := errors.AsType[*Error](err); !ok || bad.File != filepath.Join(dir, "default.env") || bad.Problem != "no such file" {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestProfilesHaveTheService(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		p    Profiles
		want [3]bool
	}{
		{Profiles{All: true}, [3]bool{true, true, true}},
		{Profiles{Names: []string{"default"}}, [3]bool{true, true, false}},
		{Profiles{Names: []string{"coder"}}, [3]bool{false, false, true}},
		{Profiles{}, [3]bool{}},
	} {
		if got := [3]bool{tc.p.Has(""), tc.p.Has("default"), tc.p.Has("coder")}; got != tc.want {
			t.Errorf("%+v: root, root, coder: %v", tc.p, got)
		}
	}
}

func TestASizeIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1B": 1, "1023B": 1023, "1KiB": 1 << 10, "1025KiB": 1025 << 10, "64MiB": 64 << 20, "3GiB": 3 << 30, "8388607TiB": 8388607 << 40,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "B", "MiB", "-1B", "1.5MiB", "1 MiB", "1mib", "64", "8388608TiB", "99999999999999999999B"} {
		if err := new(Size).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for a size", text)
		}
	}
}

func TestADigestChangesWithWhatAProcessWasStartedWith(t *testing.T) {
	t.Parallel()
	load := func(t *testing.T, text string) string {
		t.Helper()
		c, err := decode("f", service+text, around(map[string]string{"/1": "A = 1", "/2": "A = 2", "/3": "A = 1"}))
		if err != nil {
			t.Fatal(err)
		}
		return c.Services[0].Digest()
	}
	base := load(t, "")
	if len(base) != 64 {
		t.Errorf("%q is no SHA-256 in hex", base)
	}
	seen := map[string]string{base: ""}
	for _, text := range []string{
		"cwd = '/'", "env.A = '1'", "env.A = '2'", "env.A1 = ''", "env = { A = '1', B = '2' }", "unset_env = ['A']", "unset_env = ['A', 'B']", "env_file = '/2'\nenv.B = ''",
		"limits.memory = '1B'", "limits.open_files = 1", "limits.nice = 1", "output = 'pipe'", "env_file = '/{{profile}}'", "env_file = '/{{profile}}2'",
	} {
		digest := load(t, text)
		if other, same := seen[digest]; same {
			t.Errorf("%q and %q have one digest", other, text)
		}
		seen[digest] = text
	}
	for _, text := range []string{
		"restart.policy = 'never'", "stop_signal = 'INT'", "stop_scope = 'group'", "stop_timeout = '1s'", "ready.tcp = 'x:1'", "health.tcp = 'x:1'",
		"log_max = '1B'", "profiles = 'all'", "autostart = false",
	} {
		if load(t, text) != base {
			t.Errorf("%q changes the digest", text)
		}
	}
	for _, same := range [][2]string{
		{"env_file = '/1'", "env_file = '/3'"},
		{"env_file = '/1'", "env.A = '1'"},
		{"env_file = ['/2', '/1']", "env.A = '1'"},
		{"unset_env = ['A', 'B', 'A']", "unset_env = ['B', 'A']"},
	} {
		if load(t, same[0]) != load(t, same[1]) {
			t.Errorf("%q and %q start the same, but have two digests", same[0], same[1])
		}
	}
}

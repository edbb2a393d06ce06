package manager

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"howett.net/plist" // of tests alone: a reader of property lists that is not ours
	"pgregory.net/rapid"
)

// job is one whose paths need all that can be quoted and escaped.
func job() Job {
	return Job{
		Program: "/opt/a b/hermes-supervisor", Home: `/home/me/%h $HOME "q" 'x' <&> \t\`, Config: "/etc/h;s/hermes.toml",
		Search: `/usr/bin:/a b:/c%d:/e"f`, Logs: "/var/log/<a & b>.log", RunAs: "me", Unsafe: true,
		Budget: Budget{Services: 79 * time.Second, Slowest: "gate--way---2", Turns: 29 * time.Second, Margin: 15 * time.Second},
	}
}

// allowed are the keys of launchd.plist(5) and what each is. A dict has those of the second table.
var allowed = map[string]string{
	"Label": "string", "Disabled": "bool", "UserName": "string", "GroupName": "string", "Program": "string",
	"ProgramArguments": "strings", "EnableGlobbing": "bool", "EnableTransactions": "bool", "KeepAlive": "dict", "RunAtLoad": "bool",
	"RootDirectory": "string", "WorkingDirectory": "string", "EnvironmentVariables": "dict", "Umask": "integer", "TimeOut": "integer",
	"ExitTimeOut": "integer", "ThrottleInterval": "integer", "InitGroups": "bool", "WatchPaths": "strings", "QueueDirectories": "strings",
	"StartOnMount": "bool", "StartInterval": "integer", "StandardInPath": "string", "StandardOutPath": "string", "StandardErrorPath": "string",
	"Debug": "bool", "WaitForDebugger": "bool", "SoftResourceLimits": "dict", "HardResourceLimits": "dict", "Nice": "integer",
	"ProcessType": "string", "AbandonProcessGroup": "bool", "LowPriorityIO": "bool", "LaunchOnlyOnce": "bool", "SessionCreate": "bool",
	"LimitLoadToSessionType": "strings", "LegacyTimers": "bool",
}

var allowedBelow = map[string]map[string]string{
	"KeepAlive":            {"SuccessfulExit": "bool", "Crashed": "bool", "PathState": "dict", "OtherJobEnabled": "dict"},
	"SoftResourceLimits":   {"Core": "integer", "CPU": "integer", "Data": "integer", "FileSize": "integer", "MemoryLock": "integer", "NumberOfFiles": "integer", "NumberOfProcesses": "integer", "ResidentSetSize": "integer", "Stack": "integer"},
	"EnvironmentVariables": {"PATH": "string"},
}

func kind(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case uint64, int64:
		return "integer"
	case map[string]any:
		return "dict"
	case []any:
		if slices.ContainsFunc(v, func(e any) bool { _, is := e.(string); return !is }) {
			return "array"
		}
		return "strings"
	}
	return "?"
}

func TestThePlistIsWhatLaunchdDocuments(t *testing.T) {
	t.Parallel()
	j := job()
	text := LaunchdPlist(j, "hermes-supervisor")
	var dict map[string]any
	if _, err := plist.Unmarshal([]byte(text), &dict); err != nil {
		t.Fatal(err)
	}
	for key, value := range dict {
		if got := kind(value); got != allowed[key] {
			t.Errorf("%s is %s, and launchd documents %q", key, got, allowed[key])
		}
		if below, is := value.(map[string]any); is {
			for name, v := range below {
				if got := kind(v); got != allowedBelow[key][name] {
					t.Errorf("%s.%s is %s, and launchd documents %q", key, name, got, allowedBelow[key][name])
				}
			}
		}
	}
	want := map[string]any{
		"Label":                "org.hermes-supervisor",
		"ProgramArguments":     []any{j.Program, "--home", j.Home, "--config", j.Config, "--unsafe-filesystem", "run", "--final-exit", "0"},
		"EnvironmentVariables": map[string]any{"PATH": j.Search},
		"RunAtLoad":            true, "KeepAlive": map[string]any{"SuccessfulExit": false}, "ThrottleInterval": uint64(10), "ExitTimeOut": uint64(94),
		"AbandonProcessGroup": true, "SoftResourceLimits": map[string]any{"NumberOfFiles": uint64(4096)},
		"StandardOutPath": j.Logs, "StandardErrorPath": j.Logs,
	}
	same(t, dict, want)
}

func TestTheTaskIsXMLWithWhatItNeeds(t *testing.T) {
	t.Parallel()
	j := job()
	j.RunAs = `PLACE\me & you`
	data := UTF16(TaskXML(j, "hermes-supervisor"))
	if !bytes.HasPrefix(data, []byte{0xff, 0xfe, '<', 0}) {
		t.Fatalf("it begins with % x", data[:8])
	}
	var task struct {
		XMLName xml.Name `xml:"http://schemas.microsoft.com/windows/2004/02/mit/task Task"`
		Version string   `xml:"version,attr"`
		Logon   []string `xml:"Triggers>LogonTrigger>UserId"`
		User    string   `xml:"Principals>Principal>UserId"`
		Type    string   `xml:"Principals>Principal>LogonType"`
		Set     struct {
			MultipleInstancesPolicy, ExecutionTimeLimit                                     string
			DisallowStartIfOnBatteries, StopIfGoingOnBatteries, Enabled, StartWhenAvailable bool
			RestartOnFailure                                                                struct {
				Interval string
				Count    int
			}
		} `xml:"Settings"`
		Exec struct{ Command, Arguments string } `xml:"Actions>Exec"`
	}
	dec := xml.NewDecoder(strings.NewReader(plainText(data)))
	dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { // it is decoded already
		if label != "UTF-16" {
			return nil, errors.New("declared as " + label)
		}
		return in, nil
	}
	if err := dec.Decode(&task); err != nil {
		t.Fatal(err)
	}
	s := task.Set
	if task.Version != "1.2" || s.MultipleInstancesPolicy != "IgnoreNew" || s.ExecutionTimeLimit != "PT0S" || s.RestartOnFailure.Interval != "PT1M" ||
		s.RestartOnFailure.Count != 255 || s.DisallowStartIfOnBatteries || s.StopIfGoingOnBatteries || !s.Enabled || !s.StartWhenAvailable ||
		len(task.Logon) != 1 || task.Logon[0] != j.RunAs || task.User != j.RunAs || task.Type != "InteractiveToken" {
		t.Errorf("%+v", task)
	}
	if task.Exec.Command != j.Program {
		t.Errorf("the command is %q", task.Exec.Command)
	}
	same(t, windowsWords(task.Exec.Arguments), j.argv(FinalElsewhere)[1:])
}

// TestWindowsLine holds the quoting to the table of learn.microsoft.com, "Parsing C command-line arguments".
func TestWindowsLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		words []string
		line  string
	}{
		{[]string{"abc", "d", "e"}, `abc d e`},
		{[]string{`a\\b`, "d e", "f"}, `a\\b "d e" f`},
		{[]string{`a"b`}, `"a\"b"`},
		{[]string{`a\"b`}, `"a\\\"b"`},
		{[]string{`C:\a b\`}, `"C:\a b\\"`},
		{[]string{""}, `""`},
	} {
		if got := windowsLine(tc.words); got != tc.line {
			t.Errorf("%q is %s, want %s", tc.words, got, tc.line)
		}
		same(t, windowsWords(tc.line), tc.words)
	}
}

// TestWhatIsWrittenIsReadAgain is over any path that a unit can hold. That systemd reads it the same is TestUnderSystemd's.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`/[ -~öß日]{0,20}`)
		j := Job{Program: path.Draw(t, "program"), Home: path.Draw(t, "home"), Config: path.Draw(t, "config"), Search: path.Draw(t, "path")}
		if err := j.Check(Launchd); err != nil {
			t.Fatal(err)
		}
		unit := SystemdUnit(j, false)
		s := readSystemd("/home/me", unit)
		if want := j.argv(FinalSystemd); !slices.Equal(s.exec, want) || s.env["PATH"] != j.Search || s.unclear {
			t.Fatalf("read %q, %q, want %q, %q", s.exec, s.env["PATH"], want, j.Search)
		}
		list := LaunchdPlist(j, "name")
		argv, _, _ := file{manager: Launchd, text: list}.command("")
		if want := j.argv(FinalElsewhere); !slices.Equal(argv, want) || plistString(list, "PATH") != j.Search {
			t.Fatalf("read %q, want %q", argv, want)
		}
		task := plainText(UTF16(TaskXML(j, "name")))
		argv, _, _ = file{manager: WindowsTask, text: task}.command("")
		if want := j.argv(FinalElsewhere); !slices.Equal(argv, want) {
			t.Fatalf("read %q, want %q", argv, want)
		}
		for _, text := range []string{unit, list, task} {
			if ours, untouched := Ours(text); !ours || !untouched {
				t.Fatalf("ours %v, untouched %v:\n%s", ours, untouched, text)
			}
			if ours, untouched := Ours(text + "# more\n"); !ours || untouched {
				t.Fatalf("with a line more: ours %v, untouched %v", ours, untouched)
			}
		}
	})
}

func TestWhatNoUnitCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	if err := job().Check(Systemd); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"/a\nExecStartPre=/bin/evil", "/a\r", "/a\x00", "/a\x1b[31m", "/a\x7f", "/a\u0085", "/a\u2028", "/caf\xe9", "/a\uffff", "relative", "../up"} {
		for name, j := range map[string]Job{"home": {Program: "/p", Home: bad}, "program": {Program: bad}, "config": {Program: "/p", Config: bad}} {
			if _, is := errors.AsType[*TextError](j.Check(WindowsTask)); !is {
				t.Errorf("%s %q passes", name, bad)
			}
		}
	}
	if _, is := errors.AsType[*TextError](Job{Program: "/p", Search: "/usr/bin:/a\nb"}.Check(Systemd)); !is {
		t.Error("a PATH with a line end passes")
	}
}

// TestAProgramThatSystemdDoesNotRunGetsNoUnit: systemd calls such a unit bad, however the path is quoted.
func TestAProgramThatSystemdDoesNotRunGetsNoUnit(t *testing.T) {
	t.Parallel()
	for _, program := range []string{`/a"b`, `/a'b`, `/a\b`} {
		j := Job{Program: program}
		if _, is := errors.AsType[*TextError](j.Check(Systemd)); !is || j.Check(Launchd) != nil || j.Check(WindowsTask) != nil {
			t.Errorf("%s: systemd %v, launchd %v, Windows %v", program, j.Check(Systemd), j.Check(Launchd), j.Check(WindowsTask))
		}
	}
}

func TestSearchPathHasNoRelativeFolder(t *testing.T) {
	t.Parallel()
	sep := string(filepath.ListSeparator)
	got := SearchPath(strings.Join([]string{"", "/usr/bin", "bin", ".", "/opt/x"}, sep))
	if want := "/usr/bin" + sep + "/opt/x"; filepath.IsAbs("/usr/bin") && got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpanIsThatOfSystemd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"94": 94 * time.Second, "1min 30s": 90 * time.Second, "2min": 2 * time.Minute, "1.5s": 1500 * time.Millisecond, "90sec": 90 * time.Second,
		"500ms": 500 * time.Millisecond, "1h": time.Hour, "infinity": Forever, "0": Forever, "": 0, "soon": 0, "5 parsecs": 0, "s": 0,
	} {
		if got := span(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// FuzzUnitsOfOthers: what lies in a folder of units may be anything.
func FuzzUnitsOfOthers(f *testing.F) {
	for _, text := range []string{SystemdUnit(job(), true), LaunchdPlist(job(), "n"), string(UTF16(TaskXML(job(), "n"))), "ExecStart=\"%", "ExecStart=\\", hermesPlist} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		text := plainText(data)
		Ours(text)
		for _, manager := range []string{Systemd, Launchd, WindowsTask, S6} {
			u := file{manager: manager, scope: User, name: "gateway-x", text: text, dropIns: []string{text}}
			u.command("/home/me")
			u.stop("/home/me")
			u.hermesHome(Roots{UserHome: "/home/me"}, root("/h"))
		}
	})
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// TestPackagedUnitsAreWhatInstallPrints keeps the files for packagers from drifting. To renew one:
//
//	hermes-supervisor install KIND --print --packaged > scripts/…
func TestPackagedUnitsAreWhatInstallPrints(t *testing.T) {
	t.Parallel()
	for path, f := range map[string]installFlags{
		"systemd/user/hermes-supervisor.service":    {manager: manager.Systemd},
		"systemd/system/hermes-supervisor@.service": {manager: manager.Systemd, system: true},
		"launchd/org.hermes-supervisor.plist":       {manager: manager.Launchd},
		"windows/hermes-supervisor.xml":             {manager: manager.WindowsTask},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := os.ReadFile(filepath.Join("..", "..", "scripts", filepath.FromSlash(path)))
			if err != nil {
				t.Fatal(err)
			}
			f.scope = manager.User
			if f.system {
				f.scope = manager.System
			}
			i := installation{manager: f.manager, text: unitText(&f, manager.Packaged(f.manager, f.scope), "hermes-supervisor")}
			if string(got) != string(i.bytes()) {
				t.Errorf("it is\n%s\nand install prints\n%s", got, i.bytes())
			}
		})
	}
}

// TestWithoutAHomeNoUnitIsMadeForEverybody is root without HOME, whose own unit went to all users.
func TestWithoutAHomeNoUnitIsMadeForEverybody(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	f := &installFlags{manager: manager.Systemd, scope: manager.User, goos: "linux"}
	if i, err := (&app{}).installationOf(f, fsstate.Home{Path: "/some/home", Root: "/some/home"}); !errors.Is(err, errNoFolder) {
		t.Errorf("%s, %v", i.path, err)
	}
}

// TestNoUnitIsWrittenIntoTheWorkingFolder: a HOME or XDG_CONFIG_HOME that is no absolute path is no folder of systemd's.
func TestNoUnitIsWrittenIntoTheWorkingFolder(t *testing.T) {
	f := &installFlags{manager: manager.Systemd, scope: manager.User, goos: "linux"}
	home := fsstate.Home{Path: "/some/home", Root: "/some/home"}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "relative")
	if i, err := (&app{}).installationOf(f, home); !errors.Is(err, errNoFolder) {
		t.Errorf("%s, %v", i.path, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("HOME", "/home/me")
	if i, err := (&app{}).installationOf(f, home); err != nil || filepath.Dir(i.path) != filepath.FromSlash("/home/me/.config/systemd/user") {
		t.Errorf("%s, %v", i.path, err)
	}
}

// TestTheStopBudgetIsAboveWhatAStopMayTake holds the figures of the budget, which stand apart so that it needs none of the
// supervision, to those that the supervision goes by.
func TestTheStopBudgetIsAboveWhatAStopMayTake(t *testing.T) {
	t.Parallel()
	climb := func(ladder process.Ladder) (total time.Duration) {
		for _, step := range ladder {
			total += step.Wait
		}
		return total
	}
	afterwards := climb(process.KillLadder())
	b := manager.StopBudget(config.Config{})
	if least := defaultDrain + climb(process.StopLadder(5*time.Second)) + afterwards; b.Turns < least || b.Total() <= b.Turns {
		t.Errorf("turns get %s, and may take %s", b.Turns, least)
	}

	gateway := load(t, "[[service]]\npreset = \"hermes-gateway\"\n[handoff.platform.some]\ncommand = [\"/bin/cat\"]\n")
	b = manager.StopBudget(gateway)
	if least := 75*time.Second + afterwards; b.Services < least || b.Slowest != "hermes-gateway" || b.Total() <= least {
		t.Errorf("the gateway gets %s, and may take %s", b.Services, least)
	}
	if least := 30*time.Second + climb(process.StopLadder(5*time.Second)) + afterwards; b.Handoffs < least {
		t.Errorf("handoffs get %s, and may take %s", b.Handoffs, least)
	}
	if packaged := manager.Packaged(manager.Systemd, manager.User).Budget; packaged != b {
		t.Errorf("a package's unit has %+v, and the built-in services need %+v", packaged, b)
	}

	long := load(t, "[[service]]\nname = \"one\"\ncommand = [\"/bin/cat\"]\nstop_timeout = \"1s\"\n[[service]]\nname = \"two\"\ncommand = [\"/bin/cat\"]\nstop_timeout = \"10m\"\n")
	if b := manager.StopBudget(long); b.Slowest != "two" || b.Total() < 10*time.Minute+afterwards {
		t.Errorf("%+v", b)
	}
	if got, want := stopBudget(long, ownService{argv: []string{"/bin/cat"}}), manager.StopBudget(long).Total(); got != want {
		t.Errorf("with a service of the command line %s, want %s", got, want)
	}
}

func load(t *testing.T, text string) config.Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "hermes.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.LoadAsWritten(config.Source{Path: path, Explicit: true, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestWhatEachManagerIsTold is what install and uninstall would run on each system.
func TestWhatEachManagerIsTold(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	t.Setenv("SystemRoot", dir)
	t.Setenv("HERMES_HOME", "")
	a := &app{stdout: os.Stdout, stderr: os.Stderr, config: filepath.Join(dir, "hermes.toml")}
	if err := os.WriteFile(a.config, []byte("[agent.worker]\ncommand = [\"/bin/cat\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := a.resolveHome()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind, goos, path string
		start, stop      []string // how the commands begin
	}{
		{
			manager.Launchd, "darwin", "Library/LaunchAgents/org.hermes-supervisor.plist",
			[]string{"launchctl enable gui/", "launchctl bootstrap gui/"},
			[]string{"launchctl bootout gui/"},
		},
		{
			manager.WindowsTask, "windows", "hermes-supervisor.xml",
			[]string{"schtasks /Create /F /TN hermes-supervisor /XML ", "schtasks /Run /TN hermes-supervisor"},
			[]string{"schtasks /End /TN hermes-supervisor", "schtasks /Delete /F /TN hermes-supervisor"},
		},
		{
			manager.Systemd, "linux", ".config/systemd/user/hermes-supervisor.service",
			[]string{"systemctl --user daemon-reload", "systemctl --user enable --now hermes-supervisor.service"},
			[]string{"systemctl --user disable --now hermes-supervisor.service"},
		},
	} {
		f := &installFlags{manager: tc.kind, goos: tc.goos, scope: manager.User}
		i, err := a.installationOf(f, home)
		if err != nil {
			t.Errorf("%s: %v", tc.kind, err)
			continue
		}
		if i.path != filepath.Join(dir, filepath.FromSlash(tc.path)) {
			t.Errorf("%s goes to %s", tc.kind, i.path)
		}
		begins := func(argv []string, want string) bool { return strings.HasPrefix(strings.Join(argv, " "), want) }
		if !slices.EqualFunc(i.start, tc.start, begins) || !slices.EqualFunc(i.stop, tc.stop, begins) {
			t.Errorf("%s: start %q, stop %q", tc.kind, i.start, i.stop)
		}
		job, err := a.jobOf(t.Context(), f, home)
		if err != nil {
			t.Errorf("%s: %v", tc.kind, err)
		}
		i.text = unitText(f, job, unitName(f, home))
		told := &told{app: &app{json: true}}
		for _, want := range []string{unitInstalled, unitUnchanged} { // what was written is what is read again, UTF-16 too
			if err := i.write(told, false); err != nil || told.state != want {
				t.Errorf("%s: %s, %v, want %s", tc.kind, told.state, err, want)
			}
		}
		asMade := i.text
		i.text += "\n"
		if err := i.write(told, false); err != nil || told.state != unitReplaced {
			t.Errorf("%s: %s, %v, want it replaced", tc.kind, told.state, err)
		}
		i.text = asMade // what lies there now is not as we made it
		if err := i.write(told, false); err == nil {
			t.Errorf("%s: what somebody has changed is replaced", tc.kind)
		}
		if err := i.write(told, true); err != nil || told.state != unitReplaced {
			t.Errorf("%s, forced: %s, %v", tc.kind, told.state, err)
		}
	}
}

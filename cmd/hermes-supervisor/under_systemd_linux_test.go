package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

const unitUnderTest = "hermes-supervisor.service"

// TestUnderSystemd installs the unit in a real `systemd --user`, and lets it be restarted, hung, killed, stopped and
// misconfigured.
func TestUnderSystemd(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	w := &systemdWorld{userManager: m, home: fsstate.Home{Path: filepath.Join(m.dir, hostileUser+"/.hermes"), Root: filepath.Join(m.dir, hostileUser+"/.hermes")}}
	t.Cleanup(func() {
		_ = w.command("booted", "systemctl", "--user", "disable", unitUnderTest).Run()
		_ = w.command("booted", "systemctl", "--user", "kill", "--kill-who=all", "-s", "KILL", unitUnderTest).Run()
		w.sweep()
	})
	w.dropIn(t, "StandardOutput=append:"+m.log)
	w.configure(t, `
[auto_continue]
backoff = "10ms"
max_attempts = 9
[[service]]
name = "backend"
command = ["agent", "log", "`+m.dir+`/backend", "hang"]
stop_timeout = "5s"
[agent.worker]
command = ["agent", "log", "`+m.dir+`/launches", "save", "`+m.dir+`/prompts", "touch", "`+m.dir+`/begun", "await", "`+m.dir+`/go", "log", "`+m.dir+`/finished"]
`)
	said := m.do(t, "hermes-supervisor", "install", "systemd")
	for _, step := range []string{"wrote ", "daemon-reload", "enable --now " + unitUnderTest, "loginctl enable-linger"} {
		if !strings.Contains(said, step) {
			t.Errorf("install does not say %q:\n%s", step, said)
		}
	}
	w.active(t)
	if again := m.do(t, "hermes-supervisor", "install", "systemd"); !strings.Contains(again, "as it should be") {
		t.Errorf("a second install:\n%s", again)
	}
	if got := m.show("TimeoutStopUSec"); got != "44s" { // 20 + 5 + 2 + 2 for continued turns, 15 to spare
		t.Errorf("TimeoutStopUSec is %s", got)
	}
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"a hung run is restarted, and its service lives on", w.hang},
		{"a turn outlives the death of run", w.killRun},
		{"a restart in the middle of a turn lets it finish", w.restartDrains},
		{"a turn that a restart cut goes on", w.restartCuts},
		{"a stop leaves no process", w.stop},
		{"a configuration that cannot be is not tried again", w.misconfigure},
		{"uninstall", w.uninstall},
	} {
		if !t.Run(step.name, step.do) {
			t.Fatalf("the steps after this one need it:\n%s", m.said())
		}
	}
}

func (w *systemdWorld) hang(t *testing.T) {
	t.Helper()
	w.dropIn(t, "StandardOutput=append:"+w.log, fmt.Sprintf("WatchdogSec=%d", int(watchdog.Seconds())), "RestartSec=50ms", "TimeoutStopSec="+grantedStop.String())
	w.do(t, "systemctl", "--user", "daemon-reload")
	w.do(t, "systemctl", "--user", "restart", unitUnderTest)
	first := w.active(t)
	before, _, _ := w.service()
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.until(t, "systemd restarts a run that hangs", func() bool { return w.show("NRestarts") == "1" })
	second := w.active(t)
	after, _, _ := w.service()
	if second == first || after != before {
		t.Errorf("run %d, then %d; its service %+v, then %+v", first, second, before, after)
	}
	if !strings.Contains(w.said(), "SIGABRT") {
		t.Errorf("it was not the watchdog:\n%s", w.said())
	}
}

func (w *systemdWorld) killRun(t *testing.T) {
	t.Helper()
	before := w.begin(t)
	first := w.active(t)
	w.do(t, "systemctl", "--user", "kill", "--kill-who=main", "-s", "KILL", unitUnderTest)
	w.until(t, "another run is up", func() bool { pid, _ := strconv.Atoi(w.show("MainPID")); return pid > 0 && pid != first })
	w.active(t)
	if turn := w.turn(); turn == nil || turn.Keeper != before || ident.Check(before) != ident.Alive {
		t.Errorf("the keeper was %+v; the turn now: %+v", before, turn)
	}
	w.finish(t, "attempt 0", "attempt 1")
}

func (w *systemdWorld) restartDrains(t *testing.T) {
	t.Helper()
	w.begin(t)
	first := w.active(t)
	w.do(t, "systemctl", "--user", "restart", "--no-block", unitUnderTest)
	w.until(t, "the stop waits for the turn", func() bool {
		_, _, runs := w.service()
		return !runs && w.show("ActiveState") == "deactivating"
	})
	w.finish(t, "attempt 0", "attempt 1")
	w.until(t, "another run is up", func() bool { pid, _ := strconv.Atoi(w.show("MainPID")); return pid > 0 && pid != first })
	w.active(t)
}

func (w *systemdWorld) restartCuts(t *testing.T) {
	t.Helper()
	w.begin(t)
	first := w.active(t)
	_ = os.Remove(filepath.Join(w.dir, "begun"))
	w.do(t, "systemctl", "--user", "restart", "--no-block", unitUnderTest)
	w.until(t, "the stop waits for the turn", func() bool {
		_, _, runs := w.service()
		return !runs && w.show("ActiveState") == "deactivating"
	})
	run, err := os.FindProcess(first) // a handle, so that nobody else is meant later on
	if err != nil {
		t.Fatal(err)
	}
	sent := time.Now()
	w.until(t, "another run is up", func() bool {
		if time.Since(sent) > 2*sameSignal {
			_ = run.Signal(syscall.SIGTERM) // once more: at once
			sent = time.Now()
		}
		pid, _ := strconv.Atoi(w.show("MainPID"))
		return pid > 0 && pid != first
	})
	w.continued(t, 2)
	w.finish(t, "attempt 0", "attempt 1", "attempt 2")
}

func (w *systemdWorld) stop(t *testing.T) {
	t.Helper()
	w.active(t)
	w.begin(t)
	began := time.Now()
	w.do(t, "systemctl", "--user", "stop", "--no-block", unitUnderTest)
	w.until(t, "the stop takes longer than the unit grants, and than the watchdog", func() bool {
		return w.show("ActiveState") == "deactivating" && time.Since(began) > max(3*grantedStop, 2*watchdog)
	})
	w.finish(t, "attempt 0", "attempt 1")
	w.until(t, "the stop is done", func() bool { return w.show("ActiveState") != "deactivating" })
	if got := w.show("Result"); got != "success" || w.show("ActiveState") != "inactive" {
		t.Errorf("after the stop: %s, %s", w.show("ActiveState"), got)
	}
	if left := processesWith("HERMES_HOME="+w.home.Path, w.cmd.Process.Pid); len(left) > 0 {
		t.Errorf("still there after the stop: %v\n%s", left, w.said())
	}
}

// TestTheSystemUnitIsOneToSystemd has systemd look at what only root could install.
func TestTheSystemUnitIsOneToSystemd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skipf("systemd is needed: %v", err)
	}
	dir := t.TempDir()
	for name, j := range map[string]manager.Job{
		"hermes-supervisor.service":  {Program: "/bin/true", Home: hostileUser, Config: "/h.toml", Search: "/usr/bin:/a b%h", RunAs: "root"},
		"hermes-supervisor@.service": {Program: "/bin/true", RunAs: "%i"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(manager.SystemdUnit(j, true)), 0o600); err != nil {
			t.Fatal(err)
		}
		verify := exec.Command("booted", "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", strings.Replace(path, "@.", "@root.", 1))
		out, err := verify.CombinedOutput()
		if err != nil && verify.ProcessState.ExitCode() == 97 {
			t.Skipf("%s", out)
		}
		if err != nil || strings.Contains(string(out), name) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func (w *systemdWorld) misconfigure(t *testing.T) {
	t.Helper()
	w.configure(t, "[auto_continue]\nfreshnes = \"1m\"\n")
	if out, err := w.command("booted", "systemctl", "--user", "start", unitUnderTest).CombinedOutput(); err == nil {
		t.Errorf("the start of a wrong configuration: %s", out)
	}
	w.until(t, "it is not tried again", func() bool { return w.show("ActiveState") == "failed" })
	if status, restarts := w.show("ExecMainStatus"), w.show("NRestarts"); status != "78" || restarts != "0" {
		t.Errorf("exit code %s, %s restarts", status, restarts)
	}
}

func (w *systemdWorld) uninstall(t *testing.T) {
	t.Helper()
	w.do(t, "hermes-supervisor", "uninstall", "systemd")
	if w.exists(hostileUser + "/.config/systemd/user/" + unitUnderTest) {
		t.Error("the file is there after uninstall")
	}
	if again := w.do(t, "hermes-supervisor", "uninstall", "systemd"); !strings.Contains(again, "nothing to remove") {
		t.Errorf("uninstall again: %s", again)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
)

const unitUnderTest = "hermes-supervisor.service"

// TestUnderSystemd installs the unit in a real `systemd --user`, and lets it be restarted, hung, killed, stopped and
// misconfigured.
func TestUnderSystemd(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	w := &systemdWorld{userManager: m, home: fsstate.Home{Path: filepath.Join(m.dir, hostileUser+"/.hermes"), Root: filepath.Join(m.dir, hostileUser+"/.hermes")}}
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

// systemdWorld is a home under a user's manager.
type systemdWorld struct {
	*userManager

	home fsstate.Home
}

func (w *systemdWorld) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, hostileUser+"/.config/hermes-supervisor/hermes.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// service is the backend's process while it runs under a living supervisor.
func (w *systemdWorld) service() (process, supervisor ident.Ident, ok bool) {
	store, err := fsstate.OpenRead(w.home)
	if err != nil {
		return process, supervisor, false
	}
	defer store.Close()
	rec, err := fsstate.ServiceFiles{Store: store}.Get("backend")
	var s phase.State
	if err != nil || json.Unmarshal(rec.State, &s) != nil {
		return process, supervisor, false
	}
	return rec.Process, rec.Supervisor, s.Phase == phase.Running && ident.Check(rec.Supervisor) == ident.Alive
}

func (w *systemdWorld) turn() *fsstate.Turn {
	store, err := fsstate.OpenRead(w.home)
	if err != nil {
		return nil
	}
	defer store.Close()
	turn, err := fsstate.TurnFiles{Store: store}.Get("work")
	if err != nil {
		return nil
	}
	return turn
}

// active waits until the unit runs and has its service, and returns run's pid.
func (w *systemdWorld) active(t *testing.T) (pid int) {
	t.Helper()
	w.until(t, "the unit is up, and its service", func() bool {
		pid, _ = strconv.Atoi(w.show("MainPID"))
		_, supervisor, runs := w.service()
		return pid > 0 && w.show("ActiveState") == "active" && runs && supervisor.PID == pid
	})
	return pid
}

// grantedStop is far below what a stop takes: run itself has to say how long it needs, as when the configuration is newer
// than the unit.
const grantedStop = 50 * time.Millisecond

// dropIn changes what is not under test: how long it takes, and where the output goes.
func (w *systemdWorld) dropIn(t *testing.T, lines ...string) {
	t.Helper()
	folder := filepath.Join(w.dir, hostileUser+"/.config/systemd/user", unitUnderTest+".d")
	err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "test.conf"), []byte("[Service]\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

func (w *systemdWorld) hang(t *testing.T) {
	t.Helper()
	w.dropIn(t, "StandardOutput=append:"+w.log, "WatchdogSec=1", "RestartSec=50ms", "TimeoutStopSec="+grantedStop.String())
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

// begin has run continue a turn: one whose keeper and agent were killed. It returns the keeper's identity.
func (w *systemdWorld) begin(t *testing.T) ident.Ident {
	t.Helper()
	for _, name := range []string{"begun", "go", "launches", "prompts", "finished"} {
		_ = os.Remove(filepath.Join(w.dir, name))
	}
	keeper := w.command("hermes-supervisor", "turn", "run", "--session", "work", "--agent", "worker", "--prompt", "Sum it up.")
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the agent has begun", func() bool { return w.exists("begun") })
	own := w.turn()
	if own == nil {
		t.Fatal("no turn is open")
	}
	_ = os.Remove(filepath.Join(w.dir, "begun"))
	_ = keeper.Process.Kill()
	_ = keeper.Wait()
	if ident.Check(own.Owner) == ident.Alive {
		_ = syscall.Kill(own.Owner.PID, syscall.SIGKILL)
	}
	return w.continued(t, 1)
}

// continued waits until run's keeper has the agent at work in that attempt.
func (w *systemdWorld) continued(t *testing.T, attempt int) (keeper ident.Ident) {
	t.Helper()
	w.until(t, fmt.Sprintf("continuation %d is at work", attempt), func() bool {
		turn := w.turn()
		if turn == nil || turn.Attempts != attempt || turn.Phase != fsstate.PhaseRunning || !w.exists("begun") {
			return false
		}
		keeper = turn.Keeper
		return true
	})
	return keeper
}

func (w *systemdWorld) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.dir, name))
	return err == nil
}

func (w *systemdWorld) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.dir, name))
	return string(data)
}

// finish lets the agent end, and holds what it logged against what it must have been asked: the prompt once in each run.
func (w *systemdWorld) finish(t *testing.T, launches ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the turn concludes", func() bool { return w.turn() == nil })
	want := strings.Join(launches, "\n") + "\n"
	if got := w.read("launches"); got != want {
		t.Errorf("the agent was launched as %q, want %q", got, want)
	}
	if got := w.read("finished"); got != launches[len(launches)-1]+"\n" {
		t.Errorf("the work was finished as %q, want once, by %q", got, launches[len(launches)-1])
	}
	if got := strings.Count(w.read("prompts"), "Sum it up."); got != len(launches) {
		t.Errorf("the prompt was given %d times to %d runs:\n%s", got, len(launches), w.read("prompts"))
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
	w.until(t, "another run is up", func() bool {
		_ = syscall.Kill(first, syscall.SIGTERM) // once more: at once; within 100 ms it is the same signal
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
	w.until(t, "the stop takes longer than the unit grants", func() bool {
		return w.show("ActiveState") == "deactivating" && time.Since(began) > 10*grantedStop
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

// processesWith are those that have this in their environment, but for one.
func processesWith(variable string, but int) (found []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+variable+"\x00")) || filepath.Base(dir) == strconv.Itoa(but) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
	}
	return found
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

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

// grantedStop is below what a stop takes: run itself has to say how long it needs, as when the configuration is newer than
// the unit. On a machine that is busy with other tests that word may need a while to be heard.
const grantedStop = 2 * time.Second

// watchdog is so long that a machine which is busy with other tests does not look like a run that hangs.
const watchdog = 3 * time.Second

// dropIn changes what is not under test: how long it takes, and where the output goes.
func (w *systemdWorld) dropIn(t *testing.T, lines ...string) {
	t.Helper()
	folder := filepath.Join(w.dir, hostileUser+"/.config/systemd/user", unitUnderTest+".d")
	err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "test.conf"), []byte("[Service]\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
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
	var own *fsstate.Turn
	w.until(t, "the agent has begun, and its pid is recorded", func() bool {
		own = w.turn()
		return w.exists("begun") && own != nil && own.Phase == fsstate.PhaseRunning && own.Owner.PID != 0
	})
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

// processesWith are those that have this in their environment, but for one: their command lines by pid.
func processesWith(variable string, but int) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+variable+"\x00")) || pid == but {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

// sweep ends what a test that failed has left: nothing that a unit of KillMode=process started ends with its manager.
func (w *systemdWorld) sweep() {
	for range 3 { // run first, or it would start its services again
		for pid := range processesWith("HERMES_HOME="+w.home.Path, w.cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runOf is a run of a home and a configuration of its own.
func runOf(t *testing.T, dir, toml string, flags ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM and no unixgram sockets")
	}
	config := filepath.Join(dir, "hermes.toml")
	if err := os.WriteFile(config, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("hermes-supervisor", append(flags, "--home", filepath.Join(dir, "home"), "--config", config, "run")...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	return cmd
}

// TestARunThatIsNotToBeIsNeverReady: that a second one was up before it ended had systemctl start, and install, say that all
// was well, and systemd start it again for ever.
func TestARunThatIsNotToBeIsNeverReady(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "hs-notify-") //nolint:usetesting // that folder's path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const toml = "[[service]]\nname = \"one\"\ncommand = [\"/bin/cat\"]\nautostart = false\n[[service]]\nname = \"two\"\ncommand = [\"/bin/cat\"]\nautostart = false\n"
	socket := filepath.Join(dir, "notify")
	first, second := runOf(t, dir, toml), runOf(t, dir, toml)
	conn := managerSocket(t, socket)
	for _, run := range []*exec.Cmd{first, second} {
		run.Env = append(run.Env, "NOTIFY_SOCKET="+socket)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for heard(t, conn) != "READY=1" {
	}
	out, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != exitBusy {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		said := heard(t, conn)
		if strings.Contains(said, "READY=1") {
			t.Errorf("the second said that it is ready")
		}
		if strings.HasPrefix(said, "STOPPING=1") { // the first: all that the second said came before
			break
		}
	}
	_ = first.Wait()
}

// TestAStopIsNoReadiness: what has not become ready rests when it is stopped, and not as it is meant to.
func TestAStopIsNoReadiness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := runOf(t, dir, "[[service]]\nname = \"slow\"\ncommand = [\"agent\", \"hang\"]\nready = { file = \""+filepath.Join(dir, "never")+"\" }\n", "--json")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = run.Process.Kill() })
	defer stuck.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch {
		case bytes.Contains(lines.Bytes(), []byte(`"phase":"starting"`)):
			_ = run.Process.Signal(syscall.SIGTERM)
		case bytes.Contains(lines.Bytes(), []byte(`"event":"ready"`)):
			t.Errorf("said after the stop: %s", lines.Bytes())
		}
	}
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}

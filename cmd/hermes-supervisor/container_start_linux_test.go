package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAStopOfAContainerThatIsBeingStartedIsHeard stops one before run listens: it waits for the key of a new volume.
func TestAStopOfAContainerThatIsBeingStartedIsHeard(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	folder := filepath.Join(data, "user", ".config", "hermes-supervisor")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(folder, "key.lock"))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	c := startContainer(t, data, configMap(t, "[agent.worker]\ncommand = [\"agent\", \"hang\"]\n"))
	c.await("run waits for the key", func() (bool, error) {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.init))
		return slices.ContainsFunc(links, func(link string) bool { at, _ := os.Readlink(link); return at == lock.Name() }), err
	})
	if err := unix.Kill(c.init, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = c.cmd.Wait(); c.cmd.ProcessState.ExitCode() != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d", c.cmd.ProcessState.ExitCode())
	}
}

// TestAContainerRunsNoConfigurationInThePlaceOfTheMissing: an engine makes a folder of a file that is not there to be mounted,
// and the copy of the last start is still in the volume.
func TestAContainerRunsNoConfigurationInThePlaceOfTheMissing(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for name, from := range map[string]string{"none": filepath.Join(data, "missing"), "a folder": data} {
		old := filepath.Join(data, "user", ".config", "hermes-supervisor", "hermes.toml")
		if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		start := exec.Command("sh", filepath.Join("..", "..", "scripts", "container", "start"), "check")
		start.Env = append(os.Environ(), "HOME="+filepath.Join(data, "user"), "XDG_CONFIG_HOME=", "HERMES_HOME="+filepath.Join(data, "home"), "HERMES_SUPERVISOR_CONFIG_FROM="+from)
		out, err := start.CombinedOutput()
		if code := start.ProcessState.ExitCode(); code != exitConfiguration || !strings.Contains(string(out), from+" is no file") {
			t.Errorf("%s: exit code %d, %v\n%s", name, code, err, out)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
)

// container is scripts/container/start as the first process of a pid and mount namespace of its own, as a container engine
// starts it, with a volume that outlives it.
type container struct {
	t    *testing.T
	data string // the volume
	cmd  *exec.Cmd
	init int // what is pid 1 in there
	said bytes.Buffer
}

// inNamespaces are the words before a command line that give it namespaces of its own.
func inNamespaces(t *testing.T) []string {
	t.Helper()
	enter := []string{"unshare", "--fork", "--pid", "--mount-proc", "--kill-child"}
	if os.Geteuid() != 0 {
		enter = append(enter, "--user", "--map-root-user")
	}
	if said, err := exec.Command(enter[0], append(enter[1:], "nsenter", "--version")...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", strings.Join(enter, " "), err, said)
	}
	return enter
}

// startContainer starts one on that volume, whose configuration lies as a ConfigMap does.
func startContainer(t *testing.T, data, configMap string) *container {
	t.Helper()
	c := &container{t: t, data: data}
	argv := append(inNamespaces(t), "sh", filepath.Join("..", "..", "scripts", "container", "start"), "run")
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), "HOME="+filepath.Join(data, "user"), "XDG_CONFIG_HOME=", "HERMES_HOME="+filepath.Join(data, "home"),
		"HERMES_SUPERVISOR_CONFIG_FROM="+filepath.Join(configMap, "hermes.toml"), "GORACE=atexit_sleep_ms=0")
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // --kill-child: pid 1 and with it all the others
		_ = c.cmd.Wait()
		if t.Failed() {
			t.Logf("the container said:\n%s", c.said.String())
		}
	})
	c.await("pid 1", func() (bool, error) {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.cmd.Process.Pid))
		if fields := strings.Fields(string(children)); err == nil && len(fields) == 1 {
			c.init, err = strconv.Atoi(fields[0])
		}
		return c.init != 0, err
	})
	// Until then it is unshare, then the shell.
	c.await("the supervisor in the place of the shell", func() (bool, error) {
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.init))
		return strings.HasPrefix(string(argv), "hermes-supervisor\x00run\x00"), err
	})
	return c
}

func (c *container) await(what string, done func() (bool, error)) {
	c.t.Helper()
	if err := within(patience, done); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

// command is one in the container, as `docker exec` or a probe runs it.
func (c *container) command(argv ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(c.init), "--pid", "--mount", "--preserve-credentials", "--"}, argv...)...)
	if os.Geteuid() != 0 {
		cmd.Args = append([]string{"nsenter", "--user"}, cmd.Args[1:]...)
	}
	cmd.Env = c.cmd.Env
	return cmd
}

// healthy waits until a probe succeeds.
func (c *container) healthy(probe ...string) {
	c.t.Helper()
	c.await(strings.Join(probe, " "), func() (bool, error) { return c.command(probe...).Run() == nil, nil })
}

// members are the processes of the container, by the numbers that they have outside of it.
func (c *container) members() []int {
	c.t.Helper()
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.init))
	if err != nil {
		c.t.Fatal(err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		c.t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		if of, err := os.Readlink(link); err != nil || of != space {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombies counts the ended children of pid 1 that nobody has taken away.
func (c *container) zombies() int {
	n := 0
	for _, pid := range c.members() {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(c.init) {
			n++
		}
	}
	return n
}

// turn is the open turn of a session, nil where there is none.
func (c *container) turn(session string) *fsstate.Turn {
	home := filepath.Join(c.data, "home")
	store, err := fsstate.OpenRead(fsstate.Home{Path: home, Root: home})
	if err != nil {
		return nil
	}
	defer store.Close()
	t, _ := fsstate.TurnFiles{Store: store}.Get(session)
	return t
}

// running waits for that attempt at the session's turn, and for its agent to be at work.
func (c *container) running(session string, attempt int) *fsstate.Turn {
	c.t.Helper()
	var open *fsstate.Turn
	c.await(fmt.Sprintf("attempt %d at %s", attempt, session), func() (bool, error) {
		open = c.turn(session)
		began, _ := os.ReadFile(filepath.Join(c.data, "attempts"))
		return open != nil && open.Phase == fsstate.PhaseRunning && open.Attempts == attempt &&
			strings.Contains(string(began), fmt.Sprintf("attempt %d\n", attempt)), nil
	})
	return open
}

// gone waits until nothing of the container lives.
func (c *container) gone(pids []int) {
	c.t.Helper()
	c.await("end of all processes", func() (bool, error) {
		for _, pid := range pids {
			if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
				return false, nil
			}
		}
		return true, nil
	})
}

// configMap lays hermes.toml out as Kubernetes does: in a folder that anybody could write to, were it not mounted read-only,
// behind two links.
func configMap(t *testing.T, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "config")
	version := filepath.Join(dir, "..2026_11_30_10_00_00.1234567890")
	err := errors.Join(
		os.MkdirAll(version, 0o755),
		os.WriteFile(filepath.Join(version, "hermes.toml"), []byte(text), 0o444),
		os.Symlink(filepath.Base(version), filepath.Join(dir, "..data")),
		os.Symlink(filepath.Join("..data", "hermes.toml"), filepath.Join(dir, "hermes.toml")),
		os.Chmod(dir, 0o777),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestContainer starts the supervisor as PID 1, twice on one volume: what was at work when the first container was killed
// goes on in the second one.
func TestContainer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	at := func(name string) string { return filepath.Join(data, name) }
	config := configMap(t, fmt.Sprintf(`
[auto_continue]
backoff = "10ms"

[agent.worker]
command = ["agent", "save", %q, "log", %q, "await", %q]

[[service]]
name = "gateway"
command = ["sh", "-c", "trap 'touch stopped; exit' TERM; while :; do sleep 0.1; done"]
cwd = %q
`, at("prompts"), at("attempts"), at("go"), data))

	c := startContainer(t, data, config)
	c.healthy("hermes-supervisor", "status", "--health")
	c.healthy("hermes-supervisor", "status", "--health=ready")
	info, err := os.Stat(at("user/.config/hermes-supervisor/hermes.toml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the configuration: %v, %v", info, err)
	}

	// Strangers: orphans that fell to pid 1.
	if said, err := c.command("sh", "-c", "(sleep 0.1; touch "+at("stranger")+") & (sleep 0.1) &").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	c.await("strangers that are reaped", func() (bool, error) {
		_, err := os.Stat(at("stranger"))
		return err == nil && c.zombies() == 0, nil
	})

	// kill -9 of an agent and its keeper: continued.
	ask := c.command("hermes-supervisor", "turn", "run", "--session", "job", "--agent", "worker", "--prompt", "long job")
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	open := c.running("job", 0)
	if said, err := c.command("sh", "-c", fmt.Sprintf("kill -KILL %d %d", open.Keeper.PID, open.Owner.PID)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	_ = ask.Wait()
	c.running("job", 1)

	// The container is killed: with pid 1 all others end, and another one on the same volume goes on.
	pids := c.members()
	if err := unix.Kill(c.init, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.gone(pids)
	c = startContainer(t, data, config)
	c.running("job", 2)
	if err := os.WriteFile(at("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.await("end of the turn", func() (bool, error) { return c.turn("job") == nil, nil })
	prompts, err := os.ReadFile(at("prompts"))
	if n := strings.Count(string(prompts), "long job"); err != nil || n != 3 {
		t.Errorf("the prompt was given %d times, not 3 (%v):\n%s", n, err, prompts)
	}

	// SIGTERM, as every orchestrator stops: in order, exit code 0, and nothing is left.
	c.healthy("hermes-supervisor", "status", "--health=ready")
	pids = c.members()
	if err := unix.Kill(c.init, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
	c.gone(pids)
	if _, err := os.Stat(at("stopped")); err != nil {
		t.Errorf("the service was not told to stop: %v", err)
	}
}

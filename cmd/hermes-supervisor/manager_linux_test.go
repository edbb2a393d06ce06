package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// userManager is a `systemd --user` of a test's own: with its own runtime folder, home and configuration folder.
type userManager struct {
	dir string
	env []string
	cmd *exec.Cmd
	log string // what the unit prints: there is no journal
}

// hostileUser is the name of the user's own folder: all that a unit has to quote or to escape.
const hostileUser = `us er; %h $HOME ${PATH} "q" 'x' \t\`

// exitNow is SIGRTMIN+24, by which a user's manager ends at once.
const exitNow = syscall.Signal(34 + 24)

// startManager starts one, or skips the test where this machine cannot have one. It ends with the test.
func startManager(t *testing.T) *userManager {
	t.Helper()
	program := ""
	for _, path := range []string{"/lib/systemd/systemd", "/usr/lib/systemd/systemd"} {
		if _, err := os.Stat(path); err == nil {
			program = path
		}
	}
	if _, err := exec.LookPath("systemctl"); err != nil || program == "" {
		t.Skip("systemd is needed, and is not installed here")
	}
	dir, err := os.MkdirTemp("", "hs-systemd-") //nolint:usetesting // that folder's path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &userManager{dir: dir, log: filepath.Join(dir, "unit.log")}
	for _, name := range []string{"run", hostileUser + "/.config/hermes-supervisor", hostileUser + "/.hermes"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, hostileUser), "XDG_CONFIG_HOME=" + filepath.Join(dir, hostileUser, ".config"),
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "HERMES_HOME=" + filepath.Join(dir, hostileUser, ".hermes"),
		"GORACE=atexit_sleep_ms=0", "SYSTEMD_PAGER=", "LC_ALL=C",
	}
	m.cmd = m.command("booted", program, "--user")
	var said bytes.Buffer
	m.cmd.Stdout, m.cmd.Stderr = &said, &said
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.cmd.Wait() }()
	t.Cleanup(func() {
		_ = m.cmd.Process.Signal(exitNow)
		<-ended
	})
	err = within(patience, func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("it ended: %w\n%s", err, &said)
		default:
		}
		_, missing := os.Stat(filepath.Join(dir, "run", "systemd", "private"))
		return missing == nil && m.command("booted", "systemctl", "--user", "list-units").Run() == nil, nil
	})
	if err != nil {
		t.Skipf("systemd --user does not run here: %v", err)
	}
	return m
}

// command is a program in this manager's surroundings.
func (m *userManager) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = m.env, m.dir
	if path, err := exec.LookPath(argv[0]); err == nil {
		cmd.Path = path
	}
	return cmd
}

// do runs a program that must end well, and returns what it printed.
func (m *userManager) do(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := m.command(append([]string{"booted"}, argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(argv, " "), err, out, m.said())
	}
	return string(out)
}

// show is one property of the unit.
func (m *userManager) show(property string) string {
	out, _ := m.command("booted", "systemctl", "--user", "show", "-p", property, "--value", unitUnderTest).Output()
	return strings.TrimSpace(string(out))
}

// until waits for a property of the unit.
func (m *userManager) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	if err := within(patience, func() (bool, error) { return done(), nil }); err != nil {
		t.Fatalf("%s: %v\nActiveState=%s SubState=%s Result=%s MainPID=%s\n%s", what, err,
			m.show("ActiveState"), m.show("SubState"), m.show("Result"), m.show("MainPID"), m.said())
	}
}

// said is what the unit printed.
func (m *userManager) said() string {
	text, _ := os.ReadFile(m.log)
	return string(text)
}

// booted runs a program where systemd believes that the machine was booted with it, which is all that it asks before it
// runs as a user's manager: in a mount namespace of its own, whose /run has the folder that says so. Exit code 97 where
// the system does not let us.
func booted() {
	runtime.LockOSThread()
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		err := errors.Join(
			unix.Unshare(unix.CLONE_NEWNS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"),
			os.MkdirAll("/run/systemd/system", 0o755),
		)
		if err != nil {
			fmt.Fprintln(os.Stderr, "booted: a mount namespace of its own is needed:", err)
			os.Exit(97)
		}
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "booted:", err)
	os.Exit(99)
}

//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/output"
)

// TestLogsFollowsUntilCtrlC waits for each line before the next is written.
func TestLogsFollowsUntilCtrlC(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	store, err := fsstate.Open(fsstate.Home{Path: home, Root: home}, fsstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := output.Open(store, "api")
	if err != nil {
		t.Fatal(err)
	}
	launch := func() [2]*os.File {
		t.Helper()
		stdout, stderr, err := log.Files()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stdout.Close(); stderr.Close() })
		return [2]*os.File{stdout, stderr}
	}
	service := launch()
	service[0].WriteString("old\n")
	cmd := exec.Command("hermes-supervisor", "--home", home, "logs", "api", "-f", "-n", "1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	read := bufio.NewReader(stdout)
	wants := func(want string) {
		t.Helper()
		if line, err := read.ReadString('\n'); line != want {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
	}
	wants("old\n")
	service[1].WriteString("warn\n")
	wants("err | warn\n")
	service[0].WriteString("half ")
	service[1].WriteString("between\n")
	wants("err | between\n")
	service[0].WriteString("line\n")
	wants("half line\n")
	service = launch() // a restart
	service[0].WriteString("again\n")
	wants("again\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("ended by %v: a shell says 130 of a program that Ctrl-C has ended", exit)
	}
}

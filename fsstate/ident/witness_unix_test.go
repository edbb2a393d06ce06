//go:build linux || darwin

package ident

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// startOnWitness hands the child its witness as stdin, as every launch of ours does, and closes our copy: from then on
// only the child can hold it.
func startOnWitness(t *testing.T, helper string) (c *child, line, path string) {
	t.Helper()
	f, path := newWitness(t)
	c, line = start(t, helper, func(cmd *exec.Cmd) { cmd.Stdin = f })
	f.Close()
	return c, line, path
}

func TestWitnessIsHeldByAChildAndFreeAfterSIGKILL(t *testing.T) {
	t.Parallel()
	c, _, path := startOnWitness(t, "idle")
	expectWitness(t, "child runs", path, WitnessHeld)
	c.end()
	expectWitness(t, "child killed", path, WitnessFree)
}

func TestWitnessIsHeldByAStoppedChild(t *testing.T) {
	t.Parallel()
	c, _, path := startOnWitness(t, "idle")
	id, err := Of(c.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	if Stopped(id) {
		t.Error("running, but seen as stopped")
	}
	stop(t, id.PID)
	expectWitness(t, "child stopped", path, WitnessHeld)
	if got := Check(id); got != Alive {
		t.Errorf("stopped: %v", got)
	}
	if !Stopped(id) {
		t.Error("stopped, and not seen as such")
	}
	other := id
	other.Start++
	if Stopped(other) {
		t.Error("another process with this pid is seen as stopped")
	}
	c.end()
	if Stopped(id) {
		t.Error("dead, but seen as stopped")
	}
}

func stop(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("child did not stop: %v, status %#x", err, status)
	}
}

func TestFIFOInPlaceOfAWitnessIsUnknownAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	expectWitness(t, "FIFO", path, WitnessUnknown)
	expectWitness(t, "device", os.DevNull, WitnessUnknown)
}

func TestUnreadableWitnessIsUnknown(t *testing.T) {
	t.Parallel()
	_, path := newWitness(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	expectWitness(t, "mode 0", path, WitnessUnknown)
}

func TestProbesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	f, path := newWitness(t)
	f.Close()
	probe, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := flock(int(probe.Fd()), unix.LOCK_SH); err != nil { // another probe, halfway through
		t.Fatal(err)
	}
	expectWitness(t, "free, and being probed", path, WitnessFree)
}

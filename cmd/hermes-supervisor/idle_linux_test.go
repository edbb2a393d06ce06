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
	"time"

	"golang.org/x/sys/unix"
)

const (
	rescanEvery = 30 * time.Second // of run
	// stillFor is longer than the pause after which run gives memory back, which is the last that it does.
	stillFor = 3 * time.Second
	watchFor = 5 * time.Second
)

// TestRunMakesNoSystemCallWhileNothingHappens lets strace say so. The calls that a thread was in when strace stopped it
// are begun again; from then on there must be none.
func TestRunMakesNoSystemCallWhileNothingHappens(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		standsStillWith(t, "")
	})
	t.Run("with metrics and notices", func(t *testing.T) {
		t.Parallel()
		standsStillWith(t, "[metrics]\ntextfile = '"+filepath.Join(t.TempDir(), "m.prom")+"'\n[notify]\ncommand = ['/bin/cat']\n")
	})
}

func standsStillWith(t *testing.T, more string) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skipf("strace is needed: %v", err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "hermes.toml")
	err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(config, []byte(more+`
[[service]]
name = "first"
command = ["/bin/sleep", "300"]

[[service]]
name = "second"
command = ["/bin/sleep", "300"]

[agent.some]
command = ["/bin/cat"]
`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	run := exec.Command("hermes-supervisor", "--home", filepath.Join(dir, "home"), "--config", config, "run")
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(3*rescanEvery, func() { _ = run.Process.Kill() })
	defer timer.Stop()
	stop := func() error { return errors.Join(run.Process.Signal(unix.SIGTERM), run.Wait()) }
	if err := settle(run.Process.Pid, began); err != nil {
		t.Fatal(errors.Join(err, stop()), said.String())
	}

	trace := filepath.Join(dir, "trace")
	strace := exec.Command("strace", "-f", "-ttt", "-o", trace, "-p", strconv.Itoa(run.Process.Pid))
	var straceSaid bytes.Buffer
	strace.Stderr = &straceSaid
	if err := strace.Start(); err != nil {
		t.Fatal(errors.Join(err, stop()))
	}
	if err := standsStill(time.Second, func() (string, error) {
		text, err := os.ReadFile(trace)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return string(text), err
	}); err != nil {
		t.Error(err)
	}
	from := time.Now()
	time.Sleep(watchFor) // what is to be seen is that nothing happens
	to := time.Now()
	if err := stop(); err != nil {
		t.Errorf("run: %v\n%s", err, &said)
	}
	if err := strace.Wait(); err != nil && straceSaid.Len() > 0 && !strings.Contains(straceSaid.String(), "attached") {
		t.Skipf("strace cannot trace here: %s", bytes.TrimSpace(straceSaid.Bytes()))
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	during, after := linesBetween(string(text), from, to)
	if len(during) > 0 {
		t.Errorf("calls in %s in which nothing happened:\n%s", watchFor, strings.Join(during, "\n"))
	}
	if after == 0 {
		t.Errorf("strace did not even see the stop; it said: %s", &straceSaid)
	}
}

// settle waits until a run does nothing any more, with enough time until its next rescan to be watched.
func settle(pid int, began time.Time) error {
	for {
		if err := standsStill(stillFor, func() (string, error) { return switchesOf(pid) }); err != nil {
			return err
		}
		if time.Since(began)%rescanEvery < rescanEvery-2*watchFor {
			return nil
		}
	}
}

// standsStill waits until a value has not changed for so long.
func standsStill(still time.Duration, read func() (string, error)) error {
	var last string
	since := time.Now()
	return within(patience, func() (bool, error) {
		now, err := read()
		if now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= still, err
	})
}

// switchesOf are the context switches of each thread: whoever makes a call that blocks, or wakes up, adds to them.
func switchesOf(pid int) (string, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, switches, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		fmt.Fprintln(&all, file, switches)
	}
	if all.Len() == 0 {
		return "", fmt.Errorf("pid %d has ended", pid)
	}
	return all.String(), nil
}

// linesBetween are the lines "TID SECONDS.FRACTION CALL" of a trace of that time, and the number of later ones.
func linesBetween(trace string, from, to time.Time) (during []string, after int) {
	seconds := func(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
	for line := range strings.Lines(trace) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		switch at, err := strconv.ParseFloat(fields[1], 64); {
		case err != nil || at < seconds(from):
		case at <= seconds(to):
			during = append(during, strings.TrimSpace(line))
		default:
			after++
		}
	}
	return during, after
}

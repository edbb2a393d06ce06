//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The environment by which the processes of a storm are known: our own mark, and what the supervisor gives a service.
const (
	markVar     = "KILL_RUN"
	serviceVar  = "HERMES_SUPERVISOR_SERVICE"
	instanceVar = "HERMES_SUPERVISOR_INSTANCE"
)

// A process is a living process that carries the mark. Service and instance are "" for a run, and for what it has forked
// and not executed yet.
type process struct {
	pid               int
	service, instance string
}

func (p process) String() string {
	return fmt.Sprintf("pid %d of %s, instance %.8s", p.pid, p.service, p.instance)
}

// read reads one process; false when it is gone (what has no memory any more has no environment), or somebody else's.
func read(pid int, mark string) (p process, marked bool) {
	p.pid = pid
	data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // not ours, where it cannot be read
	for pair := range bytes.SplitSeq(data, []byte{0}) {
		switch name, value, _ := strings.Cut(string(pair), "="); name {
		case markVar:
			marked = value == mark
		case serviceVar:
			p.service = value
		case instanceVar:
			p.instance = value
		}
	}
	return p, marked
}

// living are the processes that carry the mark.
func living(mark string) (all []process, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, marked := read(pid, mark); marked {
				all = append(all, p)
			}
		}
	}
	return all, err
}

// kill kills exactly this process: the handle is taken first, then what it stands for is looked at again.
func (p process) kill(mark string) bool {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return false
	}
	defer handle.Release() //nolint:errcheck // frees the handle, whatever it says
	_, marked := read(p.pid, mark)
	return marked && handle.Kill() == nil
}

// killAll kills everything that carries the mark, until nothing does.
func killAll(mark string) {
	for range 1000 {
		all, err := living(mark)
		if err != nil || len(all) == 0 {
			return
		}
		for _, p := range all {
			p.kill(mark)
		}
		time.Sleep(pollEvery)
	}
}

// A child is a program that this one has started.
type child struct {
	*exec.Cmd

	done chan struct{} // closed when it has ended
}

// start runs a program in a session of its own.
func start(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd, make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = cmd.Wait() // status tells
	}()
	return c, nil
}

// ended waits for the end of a child; false when it lives on after so long, or ctx has ended.
func (c *child) ended(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// status is how an ended child ended: "exit status 0", "signal: killed".
func (c *child) status() string { return c.ProcessState.String() }

// reap takes away what died after its parent, which comes to us. Nothing that we have started may be running.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid == 0 {
			return
		}
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/scripts/bench"
)

const (
	homes       = 1000
	rescanEvery = 30 * time.Second // of a watch
)

// idle is the CPU time that a rescan of many homes takes in which nothing happens.
func (h *handoffs) idle(ctx context.Context) error {
	root := filepath.Join(h.Dir, "idle")
	for i := range homes - 1 {
		if err := os.MkdirAll(filepath.Join(root, "profiles", fmt.Sprintf("p%04d", i)), 0o700); err != nil {
			return err
		}
	}
	w, err := start(h.Command(ctx, root, "handoff", "watch"))
	if err != nil {
		return err
	}
	pid := w.Process.Pid
	quiet, last := time.Now(), time.Duration(-1)
	err = until(ctx, "it is up", func() (bool, error) {
		time.Sleep(100 * time.Millisecond)
		now, err := cpuOf(pid)
		if now != last {
			quiet, last = time.Now(), now
		}
		return time.Since(quiet) > 5*time.Second, err
	})
	if err != nil {
		return err
	}
	// One period from any moment on has one rescan in it. The first one may find what has just been made.
	var spent time.Duration
	for range 2 {
		before, err := cpuOf(pid)
		if err != nil {
			return err
		}
		time.Sleep(rescanEvery)
		after, err := cpuOf(pid)
		if err != nil {
			return err
		}
		spent = after - before
	}
	if err := w.stop(); err != nil {
		return err
	}
	h.Held(fmt.Sprintf("CPU of a rescan of %d idle homes", homes), bench.Ms(spent), "", "below 50 ms", spent < 50*time.Millisecond)
	return nil
}

// cpuOf is the time that the threads of a process have run.
func cpuOf(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("pid %d has ended", pid)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, err
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what a supervisor's processes take together.
type cost struct {
	processes int
	threads   int
	pss       int // kB
	cpu       time.Duration
	switches  int // context switches, voluntary or not
}

// costOf adds up what the processes take now, and have taken since their start.
func costOf(pids []int) (cost, error) {
	c := cost{processes: len(pids)}
	for _, pid := range pids {
		pss, err := field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
		if err != nil {
			return c, err
		}
		c.pss += pss
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil {
			return c, err
		}
		for _, task := range tasks {
			if err := c.addTask(task); err != nil && !gone(err) {
				return c, err
			}
		}
	}
	return c, nil
}

// addTask adds one thread. Its CPU time is the scheduler's own count, in ns; that of stat(5) comes in ticks of 10 ms.
func (c *cost) addTask(task string) error {
	stat, err := os.ReadFile(task + "/schedstat")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(stat), " ")
	cpu, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return fmt.Errorf("read %s/schedstat: %w", task, err)
	}
	voluntary, err1 := field(task+"/status", "voluntary_ctxt_switches:")
	forced, err2 := field(task+"/status", "nonvoluntary_ctxt_switches:")
	c.threads++
	c.cpu += time.Duration(cpu)
	c.switches += voluntary + forced
	return errors.Join(err1, err2)
}

// since is what c takes now, and has taken since before.
func (c cost) since(before cost) cost {
	c.cpu = max(c.cpu-before.cpu, 0) // a thread that ended took its count with it
	c.switches = max(c.switches-before.switches, 0)
	return c
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// field is the number behind a key of a file of lines "key: number …".
func field(path, key string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) > 1 && fields[0] == key {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				return 0, fmt.Errorf("read %s: %w", path, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("read %s: it has no %q", path, key)
}

// loadAverage is the number of processes that wanted a processor in the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// childrenOf are the children of a process as the kernel lists them; none where it has ended.
func childrenOf(pid int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is a good one
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// supervisors are the processes of a trial that are not services: for runit and s6 there is one more for each service.
func (t *trial) supervisors() []int {
	service := t.bench.service
	pids := []int{t.cmd.Process.Pid}
	for i := 0; i < len(pids); i++ {
		for _, child := range childrenOf(pids[i]) {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err == nil && exe != service {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// endOrphans takes away what an ended supervisor has left to this process, which is its subreaper. What lives on after
// the grace is killed and counted.
func (b *bench) endOrphans(grace time.Duration) (killed int, err error) {
	const look = 20 * time.Millisecond
	dead := map[int]bool{}
	for began := time.Now(); time.Since(began) < grace+patience; time.Sleep(look) {
		left := 0
		for _, pid := range childrenOf(os.Getpid()) {
			if b.running[pid] {
				continue
			}
			// It is a child of ours that nobody else reaps: the number is its own until this reaps it.
			if reaped, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); reaped == pid {
				continue
			}
			left++
			if time.Since(began) >= grace && !dead[pid] {
				dead[pid] = true
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if left == 0 {
			return len(dead), nil
		}
	}
	return len(dead), fmt.Errorf("processes are left that SIGKILL does not end: children of pid %d", os.Getpid())
}

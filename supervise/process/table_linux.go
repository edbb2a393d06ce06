package process

import (
	"os"
	"strconv"
)

// scanTable does the same from the whole process table.
func scanTable(roots []int) ([]proc, bool, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, false, err
	}
	names, err := d.Readdirnames(-1)
	_ = d.Close()
	if err != nil {
		return nil, false, err
	}
	var all []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, err := readProc(pid); err == nil {
				all = append(all, p)
			}
		}
	}
	return descend(roots, all), true, nil
}

// descend keeps, of a whole process table, the roots and what is below them; the calling process is only looked below.
func descend(roots []int, all []proc) []proc {
	self := os.Getpid()
	byPID, below := map[int]proc{}, map[int][]int{}
	for _, p := range all {
		byPID[p.pid] = p
		below[p.ppid] = append(below[p.ppid], p.pid)
	}
	var procs []proc
	seen := map[int]bool{}
	queue := append([]int(nil), roots...)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if p, ok := byPID[pid]; ok && pid != self {
			procs = append(procs, p)
		}
		queue = append(queue, below[pid]...)
	}
	return procs
}

package ident

import (
	"os"

	gops "github.com/shirou/gopsutil/v4/process"
)

// scanTagged reads the environments out of the processes' memory, by gopsutil. Processes that may not be opened
// (other users', elevated, protected) are not found; the job object of an instance is what ends its tree here.
func scanTagged() (Tagged, error) {
	pids, err := gops.Pids()
	if err != nil {
		return nil, err
	}
	found := Tagged{}
	self := os.Getpid()
	for _, pid := range pids {
		if pid <= 0 || int(pid) == self {
			continue
		}
		env, err := (&gops.Process{Pid: pid}).Environ()
		if err != nil {
			continue // gone, or not ours to read
		}
		found.add(int(pid), env)
	}
	return found, nil
}

package ident

import "os"

// scanTagged reads the environments out of the processes' memory. Processes that may not be opened (other users',
// elevated, protected) are not found; the job object of an instance is what ends its tree here.
func scanTagged() (Tagged, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	found := Tagged{}
	self := os.Getpid()
	for _, pid := range all {
		if pid == self {
			continue
		}
		env, err := environment(pid)
		if err != nil {
			continue // gone, or not ours to read
		}
		found.add(pid, env)
	}
	return found, nil
}

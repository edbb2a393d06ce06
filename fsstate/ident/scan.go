package ident

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tagged maps an instance to the processes whose environment carries it in [InstanceVar], sorted by pid.
type Tagged map[string][]int

// scanLimit ends a scan that a process holds up: reading an environment waits for the pages behind it, and those may
// lie on a dead server, or be held back on purpose.
const scanLimit = 10 * time.Second

// scanSlot lets one scan run at a time, so that a scan which hangs for ever costs one thread and not one per call.
var scanSlot = make(chan struct{}, 1)

var errScanStuck = errors.New("a process does not let its environment be read")

// ScanTagged goes once over the processes that are visible here and collects the instances in their environments,
// except this process's own. A process whose environment may not be read, or which has overwritten it, is not found:
// an empty answer proves something only beside a pid check and a free witness. An error means that the scan itself
// could not be done, within 10 s.
func ScanTagged() (Tagged, error) {
	return scanWithin(scanSlot, scanTagged)
}

// scanWithin runs a scan under scanLimit, which includes the wait for another one.
func scanWithin(slot chan struct{}, scan func() (Tagged, error)) (Tagged, error) {
	timeout := time.NewTimer(scanLimit)
	defer timeout.Stop()

	type answer struct {
		tagged Tagged
		err    error
	}
	done := make(chan answer, 1)
	select {
	case slot <- struct{}{}:
	case <-timeout.C:
		return nil, scanError(errScanStuck)
	}
	go func() {
		defer func() { <-slot }()
		tagged, err := scan()
		done <- answer{tagged, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return nil, scanError(a.err)
		}
		for _, pids := range a.tagged {
			slices.Sort(pids)
		}
		return a.tagged, nil
	case <-timeout.C:
		return nil, scanError(errScanStuck)
	}
}

func scanError(err error) error {
	return fmt.Errorf("search environments for %s: %w", InstanceVar, err)
}

// add notes the tags of one process. A variable may stand twice in an environment: then both values count.
func (t Tagged) add(pid int, environ []string) {
	for _, entry := range environ {
		instance, ok := strings.CutPrefix(entry, InstanceVar+"=")
		if ok && instance != "" && !slices.Contains(t[instance], pid) {
			t[instance] = append(t[instance], pid)
		}
	}
}

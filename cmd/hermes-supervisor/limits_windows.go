package main

import "errors"

// limitsNote is what differs on this system.
const limitsNote = `
Windows has none of these limits.
`

// limitsSupported says whether this system has the limits.
func limitsSupported() bool { return false }

var errLimits = &limitError{"of any kind", errors.New("not supported on Windows")}

// become says that a program cannot be replaced by another here.
func become(limits, []string) error {
	return errLimits
}

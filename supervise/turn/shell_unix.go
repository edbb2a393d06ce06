//go:build unix

package turn

// shell runs a command line that a person gave as one string.
func shell(command string) []string { return []string{"/bin/sh", "-c", command} }

//go:build !linux

package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

// storm does nothing here: what it judges by is Linux's.
func storm(_ context.Context, _ options, stdout io.Writer) (string, error) {
	fmt.Fprintf(stdout, "SKIPPED kill storm: needs /proc, pidfds and a subreaper, and this is %s\n", runtime.GOOS)
	return "", nil
}

func nobody([]string) int { return 2 }

var agent, launcher, tool, fork = nobody, nobody, nobody, nobody

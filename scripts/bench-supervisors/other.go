//go:build !linux

package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

// measure does nothing here: what it reads is Linux's, and the peers are Debian's.
func measure(_ context.Context, _ options, stdout, _ io.Writer) error {
	fmt.Fprintf(stdout, "SKIPPED: needs /proc, a subreaper and Debian's packages, and this is %s\n", runtime.GOOS)
	return nil
}

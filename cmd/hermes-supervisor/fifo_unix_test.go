//go:build unix

package main

import (
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// makeFIFO FILE makes a named pipe.
func makeFIFO(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "fifo FILE")
	ts.Check(unix.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

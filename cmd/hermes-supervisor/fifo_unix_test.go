//go:build unix

package main

import (
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// makeFIFO FILE makes a named pipe.
func makeFIFO(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "fifo FILE")
	ts.Check(makePipe(ts.MkAbs(args[0])))
}

func makePipe(path string) error { return unix.Mkfifo(path, 0o600) }

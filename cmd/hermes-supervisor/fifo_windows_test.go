package main

import (
	"errors"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeFIFO is never called: the scripts do not run here.
func makeFIFO(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no named pipes in folders here")
}

func makePipe(string) error { return errors.New("no such thing") }

package main

import (
	"maps"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs are what a script may exec: this test binary under another name. The command line under test is the real
// main, in a process of its own.
var programs = map[string]func(){
	"hermes-supervisor": mainNoted,
	"agent":             agent,
}

func TestMain(m *testing.M) {
	all := maps.Clone(programs)
	maps.Copy(all, systemPrograms)
	testscript.Main(m, all)
}

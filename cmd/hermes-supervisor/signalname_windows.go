package main

import (
	"os"
	"syscall"
)

// signalNames are what Windows has something for: KILL ends a process, INT and TERM become CTRL_BREAK.
var signalNames = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM}

// stopSignals are those that run answers.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// passedSignals: there are none of that kind.
var passedSignals []os.Signal

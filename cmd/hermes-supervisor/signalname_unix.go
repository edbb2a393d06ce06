//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

var signalNames = map[string]unix.Signal{
	"HUP": unix.SIGHUP, "INT": unix.SIGINT, "QUIT": unix.SIGQUIT, "KILL": unix.SIGKILL, "USR1": unix.SIGUSR1,
	"USR2": unix.SIGUSR2, "TERM": unix.SIGTERM, "CONT": unix.SIGCONT, "STOP": unix.SIGSTOP, "TSTP": unix.SIGTSTP,
	"WINCH": unix.SIGWINCH, "ALRM": unix.SIGALRM, "ABRT": unix.SIGABRT, "PIPE": unix.SIGPIPE,
}

// stopSignals are those that run answers.
var stopSignals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// passedSignals are those that run passes on to the service of its command line.
var passedSignals = []os.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGALRM}

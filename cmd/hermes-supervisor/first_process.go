package main

import (
	"os"
	"os/signal"
	"syscall"
)

// listened is called when a command hears SIGTERM and SIGINT itself.
var listened = func() {}

// firstProcess gives these two their effect in the first process of a container, for which the kernel has no default action,
// and Go's own in the place of it is exit code 2: until a command listens they end the program with the code that a shell
// would tell. Nothing has been begun by then.
func firstProcess(pid int) {
	if pid != 1 {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	listened = func() { signal.Stop(signals) }
	go func() {
		if s, is := (<-signals).(syscall.Signal); is {
			os.Exit(128 + int(s)) //nolint:forbidigo // as the default action would
		}
	}()
}

package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"sync"

	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// parentPipe is our stdin where the app that has started this program can hold its other end: a pipe, or a socket, which
// is what some runtimes make for one. Whatever else it is tells nothing of the app: a terminal ends with its window, the
// null device at once, a file at its end.
func (a *app) parentPipe() (*os.File, error) {
	stdin, ok := a.stdin.(*os.File)
	what := "nothing that could be looked at"
	if ok {
		info, err := stdin.Stat()
		switch {
		case err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
			return stdin, nil
		case err == nil && process.IsTerminal(stdin):
			what = "a terminal"
		case err == nil && info.Mode()&fs.ModeDevice != 0:
			what = "a device"
		case err == nil && info.Mode().IsRegular():
			what = "a file"
		}
	}
	return nil, &turn.UsageError{Problem: "--with-parent needs a pipe as stdin, whose other end the starting app keeps open; it is " + what}
}

// withParent tells once that the app is gone: it has closed the pipe, or has ended. What it writes is read and dropped, so
// that it never waits for us. Both are looked for until this process ends, or ctx.
func withParent(ctx context.Context, pipe *os.File, say func(format string, args ...any)) <-chan struct{} {
	gone := make(chan struct{}, 1)
	var once sync.Once
	tell := func(what string) {
		once.Do(func() {
			say("the app that started this program %s: stopping everything in order", what)
			gone <- struct{}{}
		})
	}
	go func() {
		_, _ = io.Copy(io.Discard, pipe) // an error is an end, too: nobody can write to it
		tell("closed the pipe")
	}()
	go func() {
		switch err := process.AwaitParent(ctx); {
		case err == nil:
			tell("has ended")
		case ctx.Err() == nil:
			say("the end of the app is seen by the end of the pipe alone: %v", err)
		}
	}()
	return gone
}

// Command hermes-supervisor keeps what an AI agent was asked to do from being lost, done twice, or done again.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"hermes-supervisor/supervise/turn"
)

// Nobody profiles the heap of this program, and the table for that costs a keeper of every turn its pages.
func init() { runtime.MemProfileRate = 0 }

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program: it returns the exit code of DESIGN.md, and only main ends the process.
func run(args []string, stdin io.Reader, stdout, stderr *os.File) int {
	started := turn.Now() // first thing: a stop request that is older than this process is not meant for it
	firstProcess(os.Getpid())
	a := &app{
		stdin: stdin, stdout: stdout, stderr: stderr, notes: newBacklog(stderr, lostLines), started: started, json: asksForJSON(args),
	}
	code := a.execute(args)
	if a.ordered.Load() { // it has taken its time
		a.notes.close()
	} else {
		a.notes.flush()
	}
	return code
}

func (a *app) execute(args []string) int {
	if len(args) > 0 && args[0] == completeName {
		a.complete(args[1:])
		return 0
	}
	if rest, ok := a.hookCall(args); ok {
		a.hook(rest)
		return a.code
	}
	if name, rest, ok := a.wrapCall(args); ok {
		if err := a.wrap(name, rest); err != nil {
			return a.report(err)
		}
		return a.code
	}
	root := a.command()
	root.SetArgs(args)
	if err := errors.Join(root.ExecuteContext(context.Background()), a.unsaid); err != nil {
		return a.report(err)
	}
	return a.code
}

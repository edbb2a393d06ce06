// Loop is the peer of bench-handoffs: it watches a folder and starts a command, with nothing recorded, for each file that
// is renamed into it: FOLDER COMMAND ARG…
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/fsnotify/fsnotify"
)

func main() {
	if err := loop(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "loop: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is the main of a program of its own
	}
}

func loop(folder string, command []string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := watcher.Add(folder); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	for event := range watcher.Events {
		if !event.Has(fsnotify.Create) {
			continue
		}
		if err := exec.CommandContext(context.Background(), command[0], command[1:]...).Run(); err != nil { //nolint:gosec // its own command line
			return err
		}
	}
	return nil
}

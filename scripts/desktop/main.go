package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) } //nolint:forbidigo // this is main

// run is the app. Its window is stdout, and its button is stdin.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: desktop -- hermes-supervisor [-c hermes.toml]")
		return 2
	}
	s, err := start(ctx, args)
	if err != nil {
		fmt.Fprintf(stderr, "desktop: start the supervisor: %v\n", err)
		return 1
	}
	fmt.Fprintf(stdout, "supervisor %d\n", s.cmd.Process.Pid)
	quit := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(stdin).ReadString('\n')
		close(quit)
	}()
	for s.events != nil {
		select {
		case <-quit:
			quit = nil
			if err := s.leave(); err != nil {
				fmt.Fprintf(stderr, "desktop: %v\n", err)
			}
		case e, more := <-s.events:
			switch {
			case !more:
				s.events = nil
			case e.Event == "service":
				fmt.Fprintf(stdout, "%s %s\n", e.Service, e.Phase)
			default:
				fmt.Fprintln(stdout, e.Event)
			}
		}
	}
	if err := s.cmd.Wait(); err != nil {
		fmt.Fprintf(stderr, "desktop: the supervisor ended: %v\n", err)
		return 1
	}
	return 0
}

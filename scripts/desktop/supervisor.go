package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
)

// event is what the app understands of a line; it ignores the rest.
type event struct {
	Event   string `json:"event"`
	Service string `json:"service"`
	Phase   string `json:"phase"`
	Text    string `json:"text"`
}

// supervisor is a hermes-supervisor of the app's own.
type supervisor struct {
	cmd    *exec.Cmd
	pipe   io.Closer    // while it is open, the app lives
	events <-chan event // closed when it prints nothing any more
}

// start runs argv, a command line of hermes-supervisor without its command.
func start(ctx context.Context, argv []string) (*supervisor, error) {
	// Not CommandContext's kill at the end of ctx: that would leave the services alive.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], append(argv[1:], "--json", "run", "--with-parent")...) //nolint:gosec // the app's own command line
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	events := make(chan event)
	go func() {
		defer close(events)
		for in := bufio.NewScanner(lines); in.Scan(); {
			var e event
			if json.Unmarshal(in.Bytes(), &e) == nil {
				events <- e
			}
		}
	}()
	return &supervisor{cmd: cmd, pipe: pipe, events: events}, nil
}

// leave begins the stop in order. The events go on until it is over.
func (s *supervisor) leave() error { return s.pipe.Close() }

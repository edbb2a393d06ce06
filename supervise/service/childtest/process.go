//go:build unix

package childtest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// command is this program again, with another script, on the same streams.
func (c *child) command(words []string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), path)
	cmd.Args = slices.Concat(c.self, words)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd, nil
}

// start starts another child, and reaps it when it ends.
func (c *child) start(session bool, words []string) error {
	cmd, err := c.command(words)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // how it ends is its own affair
	return nil
}

// leave starts another child by way of one that has ended when leave returns.
func (c *child) leave(words []string) error {
	cmd, err := c.command(slices.Concat([]string{"fork", "{"}, words, []string{"}", "exit", "0"}))
	if err != nil {
		return err
	}
	return cmd.Run()
}

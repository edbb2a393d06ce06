package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// Become runs a program with this process's streams and environment, or with another stdin that is not nil, and returns its
// exit code: no process can take another's place here. Ctrl-C reaches the program itself, as the console has it.
func Become(program string, args []string, stdin *os.File) (code int, err error) {
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, os.Interrupt)
	defer signal.Stop(ours)
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	err = cmd.Run()
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		return exited.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	return 0, nil
}

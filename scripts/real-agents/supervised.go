package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A supervised is one `hermes-supervisor turn run`, or a `hermes-supervisor run`.
type supervised struct {
	cmd    *exec.Cmd
	stdout string // file names
	stderr string
	result string // what --outcome names
	began  time.Time
	ended  chan struct{}
	over   time.Time // after ended
	code   int       // the same; -1: ended by a signal
}

// start runs the turn. Flags are added to those of every run. Its output goes to files: an agent that outlives its keeper must not keep us waiting on a pipe.
func (t *trial) start(ctx context.Context, flags ...string) (*supervised, error) {
	number := len(t.runs) + 1
	name := func(kind string) string { return filepath.Join(t.dir, fmt.Sprintf("run-%d.%s", number, kind)) }
	r := &supervised{stdout: name("out"), stderr: name("err"), result: name("outcome"), ended: make(chan struct{})}
	args := append([]string{
		"--home", t.home, "-c", t.config(), "turn", "run",
		"--session", t.session, "--prompt", t.prompt, "--outcome", r.result, "--agent", t.agent.preset,
	}, flags...)
	return r, t.launch(ctx, r, args)
}

// startRun runs `hermes-supervisor run`, which continues what others have left.
func (t *trial) startRun(ctx context.Context) (*supervised, error) {
	name := func(kind string) string { return filepath.Join(t.dir, "supervisor."+kind) }
	r := &supervised{stdout: name("out"), stderr: name("err"), ended: make(chan struct{})}
	return r, t.launch(ctx, r, []string{"--home", t.home, "-c", t.config(), "run"})
}

func (t *trial) launch(ctx context.Context, r *supervised, args []string) error {
	r.cmd = exec.CommandContext(ctx, t.supervisor, args...)
	r.cmd.Dir, r.cmd.Env = t.cwd(), t.env()
	stdout, err := os.Create(r.stdout)
	if err != nil {
		return err
	}
	defer stdout.Close() //nolint:errcheck // the child has its own
	stderr, err := os.Create(r.stderr)
	if err != nil {
		return err
	}
	defer stderr.Close() //nolint:errcheck // the child has its own
	r.cmd.Stdout, r.cmd.Stderr = stdout, stderr
	r.began = time.Now()
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("start hermes-supervisor: %w", err)
	}
	t.runs = append(t.runs, r)
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // the exit code tells all
		r.over = time.Now()
		r.code = r.cmd.ProcessState.ExitCode()
	}()
	return nil
}

// wait waits for the end of a run; its code is known then.
func (r *supervised) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for hermes-supervisor to end: %w", context.Cause(ctx))
	}
}

// kill ends the keeper, and nothing that it launched.
func (r *supervised) kill(ctx context.Context) error {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the keeper: %w", err)
	}
	return r.wait(ctx)
}

// interrupt is a person's Ctrl-C; stop is what a service manager sends.
func (r *supervised) interrupt() error { return r.cmd.Process.Signal(syscall.SIGINT) }
func (r *supervised) stop() error      { return r.cmd.Process.Signal(syscall.SIGTERM) }

// finish runs the turn from its start to its end.
func (t *trial) finish(ctx context.Context, flags ...string) (*supervised, error) {
	r, err := t.start(ctx, flags...)
	if err != nil {
		return nil, err
	}
	return r, r.wait(ctx)
}

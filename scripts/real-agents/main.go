// Real-agents runs real coding agents under hermes-supervisor, kills them at chosen moments of a turn, and checks what
// hermes-supervisor promises of a turn: it is finished in one continuation that carries the original prompt, its end is
// never followed by a second run, and two agents never work on it at once.
//
//	go run ./scripts/real-agents [-agents-dir DIR] [-supervisor FILE] [-case REGEXP]
//
// The agents come from npm, at the version pinned beside each, and talk to a mock model server of ours on 127.0.0.1:
// no account, no cost, no other traffic. Everything lives in one scratch directory that is removed at the end, so neither
// the agents nor hermes-supervisor see the user's own configuration. Each case prints one line. Exit 1 when any case
// failed; an agent that cannot be installed is skipped by name, which is no failure.
//
// What an agent does is read from outside, never from hermes-supervisor: from the model server's log, from /proc, from
// the files in the home. It needs /proc, so elsewhere than on Linux every agent is skipped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience bounds every single wait. The waits themselves are for states and take tenths of seconds.
const patience = 60 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("real-agents", flag.ContinueOnError)
	flags.SetOutput(stderr)
	agentsDir := flags.String("agents-dir", "", "keep the installed agents in `DIR` and reuse them (default: a scratch directory)")
	supervisor := flags.String("supervisor", "", "test the binary `FILE` (default: build this module's)")
	pattern := flags.String("case", "", "run only the cases whose name matches `REGEXP`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintf(stderr, "real-agents: read -case: %v\n", err)
		return 2
	}
	failed, err := test(ctx, *agentsDir, *supervisor, only, stdout)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "real-agents: %v\n", err)
		return 1
	case failed > 0:
		fmt.Fprintf(stderr, "real-agents: failed cases: %d\n", failed)
		return 1
	}
	return 0
}

// test runs every case of every agent and returns how many failed. The error is for what no case can be blamed for.
func test(ctx context.Context, agentsDir, supervisor string, only *regexp.Regexp, stdout io.Writer) (failed int, err error) {
	if runtime.GOOS != "linux" {
		fmt.Fprintf(stdout, "SKIPPED codex: needs /proc to tell one agent from two, and this is %s\n", runtime.GOOS)
		return 0, nil
	}
	scratch, err := os.MkdirTemp("", "real-agents-")
	if err != nil {
		return 0, fmt.Errorf("make scratch directory: %w", err)
	}
	defer func() {
		if removing := os.RemoveAll(scratch); removing != nil && err == nil {
			err = fmt.Errorf("remove scratch directory: %w", removing)
		}
	}()
	if agentsDir == "" {
		agentsDir = filepath.Join(scratch, "agents")
	}
	if agentsDir, err = filepath.Abs(agentsDir); err != nil {
		return 0, err
	}
	codex, err := installCodex(ctx, agentsDir)
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		fmt.Fprintf(stdout, "SKIPPED codex: cannot be installed: %v\n", unavailable)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if supervisor == "" {
		supervisor, err = build(ctx, scratch)
	} else {
		supervisor, err = filepath.Abs(supervisor)
	}
	if err != nil {
		return 0, err
	}
	for i, c := range cases {
		if !only.MatchString(c.name) {
			continue
		}
		dir := filepath.Join(scratch, fmt.Sprintf("case-%d", i+1))
		outcome := try(ctx, c, dir, supervisor, codex)
		fmt.Fprintf(stdout, "%-7s codex  %-*s  %s\n", outcome.verdict(), widest(), c.name, outcome.summary())
		if outcome.verdict() == fail {
			failed++
			fmt.Fprintf(stdout, "%s", outcome.evidence)
		}
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
	}
	return failed, nil
}

// build makes the program under test from this module's source. No version stamp: git may be missing or refuse a
// clone that another user owns, and neither matters here.
func build(ctx context.Context, scratch string) (string, error) {
	binary := filepath.Join(scratch, "hermes-supervisor")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "hermes-supervisor/cmd/hermes-supervisor")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hermes-supervisor: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}

func widest() int {
	width := 0
	for _, c := range cases {
		width = max(width, len(c.name))
	}
	return width
}

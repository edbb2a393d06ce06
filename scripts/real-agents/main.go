// Real-agents runs real coding agents under hermes-supervisor, kills them at chosen moments of a turn, and checks what
// hermes-supervisor promises of a turn: it is finished in one continuation that carries the original prompt, its end is
// never followed by a second run, and two agents never work on it at once.
//
//	go run ./scripts/real-agents [-agents-dir DIR] [-supervisor FILE] [-agent REGEXP] [-case REGEXP] [-all] [-parallel N]
//
// Each agent is started as a user would, by `turn run --agent NAME`: how is said by the presets that are built in, and is
// tested with them. The agents come from npm and PyPI, at the version pinned beside each, and talk to a mock model server of ours on 127.0.0.1:
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
	"sync"
	"syscall"
	"time"
)

// patience bounds every single wait. The waits themselves are for states and take tenths of seconds.
const patience = 2 * time.Minute

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
	names := flags.String("agent", "", "test only the agents whose name matches `REGEXP`")
	var o options
	flags.BoolVar(&o.all, "all", false, "run every case with every agent, also with those that take seconds to start")
	flags.IntVar(&o.parallel, "parallel", 2, "test `N` agents beside each other")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	var badCase, badAgent error
	o.cases, badCase = regexp.Compile(*pattern)
	o.agents, badAgent = regexp.Compile(*names)
	if err := errors.Join(badCase, badAgent); err != nil || o.parallel < 1 {
		fmt.Fprintf(stderr, "real-agents: read flags: -parallel %d: %v\n", o.parallel, err)
		return 2
	}
	failed, err := test(ctx, *agentsDir, *supervisor, o, stdout)
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

// options are what is to be run.
type options struct {
	cases, agents *regexp.Regexp
	all           bool
	parallel      int
}

// test runs the cases of every agent and returns how many failed. The error is for what no case can be blamed for.
func test(ctx context.Context, agentsDir, supervisor string, o options, stdout io.Writer) (failed int, err error) {
	if runtime.GOOS != "linux" {
		fmt.Fprintf(stdout, "SKIPPED every agent: needs /proc to tell one agent from two, and this is %s\n", runtime.GOOS)
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
	if supervisor == "" {
		supervisor, err = build(ctx, scratch)
	} else {
		supervisor, err = filepath.Abs(supervisor)
	}
	if err != nil {
		return 0, err
	}
	s := &session{supervisor: supervisor, agentsDir: agentsDir, scratch: scratch, options: o, stdout: stdout}
	err = s.testAll(ctx)
	return s.failed, err
}

// A session is what the agents' tests have in common.
type session struct {
	supervisor, agentsDir, scratch string
	options                        options

	mu     sync.Mutex // of what follows
	stdout io.Writer
	failed int
}

// testAll tests some agents at a time.
func (s *session) testAll(ctx context.Context) error {
	queue := make(chan agent, len(agents))
	for _, who := range agents {
		if s.options.agents.MatchString(who.preset) {
			queue <- who
		}
	}
	close(queue)
	problems := make([]error, s.options.parallel)
	var workers sync.WaitGroup
	for i := range problems {
		workers.Go(func() {
			for who := range queue {
				problems[i] = errors.Join(problems[i], s.test(ctx, who))
			}
		})
	}
	workers.Wait()
	return errors.Join(problems...)
}

// test runs the cases of one agent, one after the other. The error is for what no case can be blamed for.
func (s *session) test(ctx context.Context, who agent) error {
	bin, err := who.install(ctx, s.agentsDir)
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		s.print("SKIPPED %s: cannot be installed: %v\n", who.preset, unavailable)
		return nil
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", who.preset, err)
	}
	for i, c := range cases {
		if !s.options.cases.MatchString(c.name) || who.slow && !c.usual && !s.options.all || c.fits != nil && !c.fits(who) {
			continue
		}
		dir := filepath.Join(s.scratch, fmt.Sprintf("%s-%d", who.preset, i+1))
		began := time.Now()
		outcome := try(ctx, c, dir, s.supervisor, who, bin)
		s.print("%-7s %-11s  %-*s  %4.1f s  %s\n%s",
			outcome.verdict(), who.preset, widest(), c.name, time.Since(began).Seconds(), outcome.summary(), outcome.evidence)
		if outcome.verdict() == fail {
			s.mu.Lock()
			s.failed++
			s.mu.Unlock()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *session) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.stdout, format, args...)
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

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// An unsupervised is what an agent printed without a supervisor, and its exit code.
type unsupervised struct {
	out  string
	code int
}

// unwrapped makes the agent's own command line, as its preset has it, to be run without a supervisor. Each has a session of
// its own.
func (t *trial) unwrapped(ctx context.Context) (func(context.Context) (*exec.Cmd, error), error) {
	show := exec.CommandContext(ctx, t.supervisor, "--home", t.home, "agents", "show", t.agent.preset)
	show.Env = t.env()
	text, err := show.Output()
	if err != nil {
		return nil, fmt.Errorf("show the preset: %w", err)
	}
	var doc struct {
		Agent map[string]struct {
			Command []string
			Env     map[string]string
		}
	}
	if _, err := toml.Decode(string(text), &doc); err != nil {
		return nil, fmt.Errorf("read the preset: %w", err)
	}
	preset := doc.Agent[t.agent.preset]
	program, err := exec.LookPath(filepath.Join(t.bin, preset.Command[0]))
	if err != nil {
		return nil, err
	}
	env := append(t.env(), "HERMES_HOME="+t.home)
	for _, more := range []map[string]string{preset.Env, t.setup.env} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			env = append(env, name+"="+more[name])
		}
	}
	number := 0
	return func(ctx context.Context) (*exec.Cmd, error) {
		number++
		argv, stdin, err := t.argv(preset.Command, fmt.Sprintf("5f0c3c0e-6d3a-4f5e-9d55-%012d", number))
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program, argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin = t.cwd(), env, strings.NewReader(stdin)
		cmd.WaitDelay = time.Second
		return cmd, nil
	}, nil
}

// direct runs the agent without a supervisor, as the measure of what a supervised run prints.
func (t *trial) direct(ctx context.Context) (*unsupervised, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command, err := t.unwrapped(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(t.dir, "direct.out")
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // written by the child
	cmd, err := command(ctx)
	if err != nil {
		return nil, err
	}
	cmd.Stdout = out
	if _, exited := errors.AsType[*exec.ExitError](cmd.Run()); !exited && cmd.ProcessState == nil {
		return nil, fmt.Errorf("run %s without a supervisor: it did not start", t.agent.preset)
	}
	printed, err := os.ReadFile(path)
	return &unsupervised{string(printed), cmd.ProcessState.ExitCode()}, err
}

// argv is a preset's command line with everything put in, and what stdin gets.
func (t *trial) argv(command []string, session string) (argv []string, stdin string, err error) {
	stdin = t.prompt
	for _, arg := range command {
		switch {
		case arg == "{{args}}":
			argv = append(argv, t.setup.args...)
			continue
		case strings.Contains(arg, "{{prompt_file}}"):
			stdin = ""
			if err := writeFile(filepath.Join(t.dir, "prompt.txt"), t.prompt); err != nil {
				return nil, "", err
			}
		case strings.Contains(arg, "{{prompt}}"):
			stdin = ""
		}
		argv = append(argv, strings.NewReplacer(
			"{{prompt_file}}", filepath.Join(t.dir, "prompt.txt"),
			"{{prompt}}", t.prompt,
			"{{agent_session}}", session,
		).Replace(arg))
	}
	return argv, stdin, nil
}

// ownWords is what differs between two runs of an agent on the same prompt: identifiers, times, and what was counted.
var ownWords = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(ses|msg|prt|chatcmpl|resp|toolu|req)_[A-Za-z0-9]+|prompt\.txt|[A-Za-z0-9]{26,}\.prompt|[0-9]+`)

// without is a text without such words; the rest stands as it is, byte for byte.
func without(text string) string { return ownWords.ReplaceAllString(text, "*") }

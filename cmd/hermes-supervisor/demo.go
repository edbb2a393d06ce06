package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
)

const (
	demoSession = "demo"
	demoPrompt  = "Add up the three numbers in the report."
	demoLimit   = 30 * time.Second
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent be killed in the middle of its work and finish it",
		Long: `Runs a small built-in agent on a prompt in a home of its own, kills it with SIGKILL in the middle, and shows what is on
disk at each step until the continuation has finished. Nothing of yours is touched. It takes about two seconds.`,
		Example: `  hermes-supervisor demo`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "hermes-supervisor-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir) //nolint:errcheck // a scratch folder
			ctx, cancel := context.WithTimeout(cmd.Context(), demoLimit)
			defer cancel()
			return (&demo{app: a, dir: dir, home: filepath.Join(dir, "home")}).run(ctx)
		},
	}
}

// demo is one run of the demonstration: the real program on a real process, in a folder of its own.
type demo struct {
	*app

	dir, home string
	keeper    *exec.Cmd
}

func (d *demo) title(format string, args ...any) {
	fmt.Fprintf(d.stdout, "\n== "+format+"\n", args...)
}

func (d *demo) run(ctx context.Context) error {
	if err := os.Mkdir(d.home, 0o700); err != nil {
		return err
	}
	lines, err := d.start(ctx)
	if err != nil {
		return err
	}
	killed := false
	for line := range lines {
		fmt.Fprintf(d.stdout, "   %s\n", line)
		if killed || !strings.HasPrefix(line, "agent: step 2 ") {
			if killed && strings.HasPrefix(line, "agent: I was interrupted") {
				d.title("the continuation runs; the attempt was on disk before it started")
				if _, err := d.show(); err != nil {
					return err
				}
			}
			continue
		}
		killed = true
		d.title("the turn is on disk while the agent works:  turns/%s.json", demoSession)
		t, err := d.show()
		if err != nil {
			return err
		}
		d.title("kill -9 %d: the agent is gone in the middle of its work", t.Owner.PID)
		agent, err := os.FindProcess(t.Owner.PID)
		if err != nil {
			return err
		}
		if err := agent.Kill(); err != nil {
			return fmt.Errorf("kill the demo's agent: %w", err)
		}
	}
	if err := d.keeper.Wait(); err != nil {
		return fmt.Errorf("the demo's turn did not conclude: %w", err)
	}
	if !killed {
		return errors.New("the demo's agent ended before it could be killed")
	}
	return d.epilogue()
}

// start runs this very program as the keeper of the demo's turn.
func (d *demo) start(ctx context.Context) (<-chan string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--home", d.home, "--config", filepath.Join(d.dir, "hermes.toml"), "turn", "run", "--session", demoSession, "--prompt", demoPrompt, "--", self, "demo-agent"}
	if err := os.WriteFile(filepath.Join(d.dir, "hermes.toml"), nil, 0o600); err != nil {
		return nil, err
	}
	d.title("hermes-supervisor turn run --session %s --prompt %q -- demo-agent", demoSession, demoPrompt)
	d.keeper = exec.CommandContext(ctx, self, args...)
	d.keeper.Dir = d.dir
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	d.keeper.Stdout, d.keeper.Stderr = w, w
	if err := errors.Join(d.keeper.Start(), w.Close()); err != nil {
		return nil, err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	return lines, nil
}

// show prints what the marker says at this moment.
func (d *demo) show() (*fsstate.Turn, error) {
	store, err := fsstate.OpenRead(fsstate.Home{Path: d.home, Root: d.home})
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // a directory handle
	t, err := fsstate.TurnFiles{Store: store}.Get(demoSession)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.stdout, "   phase     %s\n   prompt    %s\n   attempts  %d\n   owner     pid %d, started at tick %d\n",
		t.Phase, t.Prompt, t.Attempts, t.Owner.PID, t.Owner.Start)
	return t, nil
}

// epilogue shows that nothing is left open, and the story as the journal tells it.
func (d *demo) epilogue() error {
	d.title("the turn concluded: exit code 0, and its marker is gone")
	state := filepath.Join(d.home, "supervisor")
	open, err := os.ReadDir(filepath.Join(state, string(fsstate.Turns)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(d.stdout, "   turns/    %d files\n", len(open))
	journal, err := os.ReadFile(filepath.Join(state, "journal.jsonl"))
	if err != nil {
		return err
	}
	d.title("journal.jsonl")
	for line := range strings.Lines(string(journal)) {
		fmt.Fprintf(d.stdout, "   %s", line)
	}
	fmt.Fprintf(d.stdout, "\nNow with an agent of yours:\n   hermes-supervisor turn run --session try --prompt \"…\" -- claude -p\n")
	return nil
}

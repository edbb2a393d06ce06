// Command bench-hooks measures what a hook costs the agent that runs it: the whole life of the process, from the start to
// its end, beside that of the smallest Go program.
//
//	go run ./scripts/bench-hooks [-strict]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	bound  = 20 * time.Millisecond // what DESIGN.md allows a hook
	rounds = 60
)

// smallest is the program beside which the hook stands.
const smallest = "package main\n\nfunc main() {}\n"

// events are what an agent tells in one turn.
var events = []struct{ name, event string }{
	{"a turn begins", `{"hook_event_name":"UserPromptSubmit","session_id":"bench","prompt":"do it","cwd":"/"}`},
	{"at work", `{"hook_event_name":"PostToolUse","session_id":"bench","tool_name":"Bash"}`},
	{"a turn ends", `{"hook_event_name":"Stop","session_id":"bench"}`},
	{"its session too", `{"hook_event_name":"SessionEnd","session_id":"bench"}`},
	{"another event", `{"hook_event_name":"Notification","session_id":"bench"}`},
}

func main() {
	strict := flag.Bool("strict", false, "exit with 1 where the median of an event is above the bound, which a busy machine is enough for")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *strict); err != nil {
		fmt.Fprintln(os.Stderr, "bench-hooks:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, out io.Writer, strict bool) error {
	dir, err := os.MkdirTemp("", "bench-hooks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of /tmp
	hook, small := filepath.Join(dir, "hermes-supervisor"), filepath.Join(dir, "small")
	if err := os.WriteFile(small+".go", []byte(smallest), 0o600); err != nil {
		return err
	}
	for target, from := range map[string]string{hook: "./cmd/hermes-supervisor", small: small + ".go"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", target, from)
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", from, err, text)
		}
	}
	env, err := place(dir)
	if err != nil {
		return err
	}
	took := make([][]time.Duration, len(events)+1)
	for range rounds { // in turns, so that what else the machine does falls on all alike
		for i, e := range events {
			if err := once(ctx, env, e.event, &took[i], hook, "hook", "claude"); err != nil {
				return err
			}
		}
		if err := once(ctx, env, "", &took[len(events)], small); err != nil {
			return err
		}
	}
	base := median(took[len(events)])
	fmt.Fprintf(out, "| event | median of %d | p90 | beside the smallest Go program (%.2f ms) |\n| --- | ---: | ---: | ---: |\n", rounds, ms(base))
	var slow []string
	for i, e := range events {
		m := median(took[i])
		fmt.Fprintf(out, "| %s | %.2f ms | %.2f ms | %.2fx |\n", e.name, ms(m), ms(took[i][rounds*9/10]), float64(m)/float64(base))
		if m > bound {
			slow = append(slow, e.name)
		}
	}
	if len(slow) > 0 && strict {
		return errors.New("above " + bound.String() + ": " + strings.Join(slow, ", "))
	}
	return nil
}

// place is a home and a configuration in which this program is the agent.
func place(dir string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home, config := filepath.Join(dir, "home"), filepath.Join(dir, "config", "hermes-supervisor")
	for _, folder := range []string{home, config} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	text := fmt.Sprintf("[agent.claude.hooks]\nprocess = [%q]\n", filepath.Base(self))
	if err := os.WriteFile(filepath.Join(config, "hermes.toml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return append(os.Environ(), "HERMES_HOME="+home, "HERMES_SUPERVISOR_CONFIG="+filepath.Join(config, "hermes.toml")), nil
}

func once(ctx context.Context, env []string, event string, took *[]time.Duration, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin = env, strings.NewReader(event)
	started := time.Now()
	said, err := cmd.CombinedOutput()
	*took = append(*took, time.Since(started))
	if err != nil || len(said) > 0 {
		return fmt.Errorf("%s: %w, said %q", strings.Join(argv[1:], " "), err, said)
	}
	return nil
}

// median sorts on the way.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

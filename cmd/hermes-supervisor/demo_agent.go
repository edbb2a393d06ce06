package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

// demoSteps is the work of the demo's agent; demoPace is how long it takes for each.
var demoSteps = []string{"read the report", "find the three numbers", "add them up", "write the answer"}

const demoPace = 400 * time.Millisecond

// demoAgentCommand is the scripted agent of the demo: it reads its prompt from stdin, works in steps that it notes in
// a file of the working directory, and when it is told of an interruption it checks that file first, as a good agent does.
func (a *app) demoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo-agent", Hidden: true, Args: noArgs,
		Short:   "Be the agent of demo (which starts this)",
		Example: `  echo "Add up the three numbers" | hermes-supervisor demo-agent`,
		RunE: func(*cobra.Command, []string) error {
			prompt, err := io.ReadAll(a.stdin)
			if err != nil {
				return err
			}
			if len(prompt) == 0 {
				return &turn.UsageError{Problem: "demo-agent reads its prompt from stdin"}
			}
			const notes = "work.txt"
			done := 0
			if original := policy.Original(string(prompt)); original != string(prompt) {
				fmt.Fprintf(a.stdout, "agent: I was interrupted; I was asked: %s\n", original)
				if data, err := os.ReadFile(notes); err == nil {
					done = strings.Count(string(data), "\n")
				}
				fmt.Fprintf(a.stdout, "agent: checking before repeating: %d of %d steps are done\n", done, len(demoSteps))
			} else {
				fmt.Fprintf(a.stdout, "agent: I was asked: %s\n", strings.TrimSpace(string(prompt)))
			}
			for i := done; i < len(demoSteps); i++ {
				time.Sleep(demoPace)
				f, err := os.OpenFile(notes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				if _, err = fmt.Fprintln(f, demoSteps[i]); err == nil {
					err = f.Close()
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "agent: step %d of %d: %s\n", i+1, len(demoSteps), demoSteps[i])
			}
			fmt.Fprintln(a.stdout, "agent: done: 42")
			return nil
		},
	}
}

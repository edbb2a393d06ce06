package main

import (
	"os"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// dockerfile parses as the builder does, its linter's findings are faults, and looks at what the last stage promises.
func dockerfile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	tree, err := parser.Parse(f)
	if err != nil {
		return err
	}
	var w want
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, msg string, _ []parser.Range) { w.that(false, "%s: %s", rule, msg) }})
	stages, _, err := instructions.Parse(tree.AST, lint)
	if err != nil {
		return err
	}
	for _, warning := range tree.Warnings {
		w.that(false, "%s", warning.Short)
	}
	w.that(len(stages) == 2, "%d stages, not 2", len(stages))
	has := map[string]bool{}
	for _, command := range stages[len(stages)-1].Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			w.that(c.User == "10001:10001", "runs as %s", c.User)
		case *instructions.StopSignalCommand:
			w.that(c.Signal == "SIGTERM", "is stopped by %s", c.Signal)
		case *instructions.EntrypointCommand:
			w.that(!c.PrependShell, "a shell is PID 1: ENTRYPOINT is to be an array")
		case *instructions.HealthCheckCommand:
			w.that(len(c.Health.Test) > 0 && c.Health.Test[0] == "CMD", "the probe needs a shell")
		}
		has[command.Name()] = true
	}
	for _, name := range []string{"USER", "STOPSIGNAL", "HEALTHCHECK", "VOLUME", "ENTRYPOINT", "CMD"} {
		w.that(has[name], "no %s", name)
	}
	return w.err()
}

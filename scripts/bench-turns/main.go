// Bench-turns measures what hermes-supervisor costs, beside a peer in the same run, and prints a table:
//
//	go run ./scripts/bench-turns [-pairs 20] [-dir DIR] [-only REGEXP]
//
// Every figure is the median of interleaved pairs, so that whatever else the machine does falls on both alike. What is
// durable costs what the disk's fsync costs, which is measured first and printed with the rest. It writes in a scratch
// folder (below -dir, default the current user's cache, since /tmp may be in memory) that it removes at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role)) //nolint:forbidigo // this is the main of a program of its own
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench-turns", flag.ContinueOnError)
	flags.SetOutput(stderr)
	pairs := flags.Int("pairs", 20, "interleaved pairs a figure")
	dir := flags.String("dir", "", "measure on the file system of this `DIR`")
	strict := flags.Bool("strict", false, "exit with 1 if a bound does not hold, which a busy machine is enough for")
	only := flags.String("only", "", "run only the measurements whose name matches `REGEXP`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	wanted, err := regexp.Compile(*only)
	if err != nil || *pairs < 1 {
		fmt.Fprintf(stderr, "bench-turns: read -only or -pairs: %v\n", err)
		return 2
	}
	b, err := prepare(ctx, *dir, *pairs, stdout)
	if err == nil {
		err = b.all(ctx, wanted)
	}
	if b != nil {
		_ = os.RemoveAll(b.dir)
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench-turns: %v\n", err)
		return 1
	}
	if len(b.missed) > 0 && *strict {
		return 1
	}
	return 0
}

// bench is one run: the programs under test, and where they work.
type bench struct {
	dir, binary, tiny string
	pairs             int
	out               io.Writer
	missed            []string // figures whose bound does not hold
}

// prepare builds hermes-supervisor and its peer, the smallest Go program.
func prepare(ctx context.Context, dir string, pairs int, out io.Writer) (*bench, error) {
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(dir, "bench-turns-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, binary: filepath.Join(dir, "hermes-supervisor"), tiny: filepath.Join(dir, "tiny"), pairs: pairs, out: out}
	source := filepath.Join(dir, "tiny.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return b, err
	}
	for _, build := range [][]string{{b.binary, "hermes-supervisor/cmd/hermes-supervisor"}, {b.tiny, source}} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", build[0], build[1])
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		if text, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("build %s: %w\n%s", build[1], err, text)
		}
	}
	return b, os.WriteFile(filepath.Join(dir, "hermes.toml"), nil, 0o600)
}

func (b *bench) all(ctx context.Context, wanted *regexp.Regexp) error {
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"fsync", b.fsync},
		{"begin-end", b.beginEnd},
		{"rate", b.rate},
		{"list", b.list},
		{"continue", b.continuation},
		{"memory", b.memory},
		{"begin-process", b.beginProcess},
		{"overhead", b.overhead},
	} {
		if !wanted.MatchString(m.name) {
			continue
		}
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// row prints one figure, what it is beside, and the bound that the project has set itself.
// row prints a figure that nothing bounds.
func (b *bench) row(what, figure, beside string) {
	fmt.Fprintf(b.out, "%-52s %12s   %s\n", what, figure, beside)
}

// held prints a figure with its bound, and remembers one that does not hold.
func (b *bench) held(what, figure, beside, bound string, holds bool) {
	verdict := "holds"
	if !holds {
		verdict = "DOES NOT HOLD"
		b.missed = append(b.missed, what)
	}
	fmt.Fprintf(b.out, "%-52s %12s   %-34s %s: %s\n", what, figure, beside, bound, verdict)
}

// Package bench is what the scripts that measure hermes-supervisor have in common: their flags, the scratch folder, the
// programs under test and the table that they print. It measures nothing itself.
package bench

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Bench is one run of a script.
type Bench struct {
	Dir    string // scratch folder, with an empty hermes.toml
	Binary string // hermes-supervisor, as it is released
	Pairs  int    // interleaved pairs a figure

	out    io.Writer
	missed []string // figures whose bound does not hold
}

// Measurement is one thing that a script measures.
type Measurement struct {
	Name string
	Run  func(context.Context) error
}

// Script is one of them. Plan makes ready what all measurements need, and says which there are; Flags, where it is not
// nil, adds to the flags.
type Script struct {
	Name  string
	Flags func(*flag.FlagSet)
	Plan  func(context.Context, *Bench) ([]Measurement, error)
}

// Run is the whole of a script; the result is its exit code.
func (s Script) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	pairs := flags.Int("pairs", 20, "interleaved pairs a figure")
	dir := flags.String("dir", "", "measure on the file system of this `DIR`")
	strict := flags.Bool("strict", false, "exit with 1 if a bound does not hold, which a busy machine is enough for")
	only := flags.String("only", "", "run only the measurements whose name matches `REGEXP`")
	if s.Flags != nil {
		s.Flags(flags)
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	wanted, err := regexp.Compile(*only)
	if err != nil || *pairs < 1 {
		fmt.Fprintf(stderr, "%s: read -only or -pairs: %v\n", s.Name, err)
		return 2
	}
	b, err := s.prepare(ctx, *dir)
	if b != nil {
		defer os.RemoveAll(b.Dir) //nolint:errcheck // a scratch folder
	}
	if err == nil {
		b.Pairs, b.out = *pairs, stdout
		err = s.measure(ctx, b, wanted)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", s.Name, err)
		return 1
	}
	if len(b.missed) > 0 && *strict {
		return 1
	}
	return 0
}

func (s Script) prepare(ctx context.Context, dir string) (*Bench, error) {
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(dir, s.Name+"-")
	if err != nil {
		return nil, err
	}
	b := &Bench{Dir: dir, Binary: filepath.Join(dir, "hermes-supervisor")}
	if err := Build(ctx, b.Binary, "hermes-supervisor/cmd/hermes-supervisor"); err != nil {
		return b, err
	}
	return b, os.WriteFile(filepath.Join(dir, "hermes.toml"), nil, 0o600)
}

func (s Script) measure(ctx context.Context, b *Bench, wanted *regexp.Regexp) error {
	all, err := s.Plan(ctx, b)
	if err != nil {
		return err
	}
	for _, m := range all {
		if !wanted.MatchString(m.Name) {
			continue
		}
		if err := m.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// Build makes a program as it is released.
func Build(ctx context.Context, program, source string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", source, err, text)
	}
	return nil
}

// Program makes a program of one file's text.
func (b *Bench) Program(ctx context.Context, name, text string) (string, error) {
	program := filepath.Join(b.Dir, name)
	if err := os.WriteFile(program+".go", []byte(text), 0o600); err != nil {
		return "", err
	}
	return program, Build(ctx, program, program+".go")
}

// Command is hermes-supervisor in a home.
func (b *Bench) Command(ctx context.Context, home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.Binary, append([]string{"--home", home, "--config", filepath.Join(b.Dir, "hermes.toml")}, args...)...)
	cmd.Dir = b.Dir
	return cmd
}

// Row prints a figure that nothing bounds, and what it is beside.
func (b *Bench) Row(what, figure, beside string) {
	fmt.Fprintf(b.out, "%-52s %12s   %s\n", what, figure, beside)
}

// Held prints a figure with the bound that the project has set itself, and remembers one that does not hold.
func (b *Bench) Held(what, figure, beside, bound string, holds bool) {
	verdict := "holds"
	if !holds {
		verdict = "DOES NOT HOLD"
		b.missed = append(b.missed, what)
	}
	fmt.Fprintf(b.out, "%-52s %12s   %-34s %s: %s\n", what, figure, beside, bound, verdict)
}

// Interleave measures several things by turns, so that whatever else the machine does falls on all alike, and gives the
// median of each.
func (b *Bench) Interleave(do ...func() error) ([]time.Duration, error) {
	timed := make([]func() (time.Duration, error), len(do))
	for i, f := range do {
		timed[i] = func() (time.Duration, error) {
			began := time.Now()
			err := f()
			return time.Since(began), err
		}
	}
	return b.InterleaveTimed(timed...)
}

// InterleaveTimed is Interleave of what measures its own time.
func (b *Bench) InterleaveTimed(do ...func() (time.Duration, error)) ([]time.Duration, error) {
	all := make([][]time.Duration, len(do))
	for range b.Pairs {
		for i, f := range do {
			d, err := f()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], d)
		}
	}
	medians := make([]time.Duration, len(do))
	for i := range all {
		medians[i] = Median(all[i])
	}
	return medians, nil
}

// Median sorts the values.
func Median[T ~int64 | ~float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// Ms is a duration as the table has it.
func Ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

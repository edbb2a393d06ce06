// Bench-handoffs measures how fast handoffs are delivered, beside a peer in the same run, and prints a table:
//
//	go run ./scripts/bench-handoffs [-small] [-pairs 20] [-dir DIR] [-only REGEXP]
//
// Every figure is the median of interleaved pairs. What is durable costs what the disk's fsync costs, so the peer syncs
// what it writes too. It writes in a scratch folder (below -dir, default the current user's cache, since /tmp may be in
// memory) that it removes at the end. -small leaves out what takes longer than a rescan, and counts to 2,000 instead of
// 10,000. Linux only: /proc tells what a process has used.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"hermes-supervisor/scripts/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	small := false
	script := bench.Script{
		Name:  "bench-handoffs",
		Flags: func(f *flag.FlagSet) { f.BoolVar(&small, "small", false, "leave out what takes long") },
		Plan: func(ctx context.Context, b *bench.Bench) ([]bench.Measurement, error) {
			return plan(ctx, b, small)
		},
	}
	code := script.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

// handoffs is one run.
type handoffs struct {
	*bench.Bench

	first string // a platform's command: notes the time at which it began in the file that it is given
	loop  string // the peer: a bare fsnotify loop that starts a command for each file that is renamed into a folder
	many  int    // handoffs that wait
}

// firstText is the command. It does nothing before it asks for the time.
const firstText = `package main

import (
	"os"
	"strconv"
	"time"
)

var began = time.Now()

func main() {
	if len(os.Args) < 2 {
		return
	}
	if f, err := os.OpenFile(os.Args[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		f.WriteString(strconv.FormatInt(began.UnixNano(), 10) + "\n")
	}
}
`

const config = `
[handoff.platform.noted]
command = [%q, %q]

[handoff.platform.trivial]
command = [%q]

[handoff.platform.own]
external = true
`

func plan(ctx context.Context, b *bench.Bench, small bool) ([]bench.Measurement, error) {
	h := &handoffs{Bench: b, many: 10_000}
	if small {
		h.many = 2_000
	}
	var err error
	if h.first, err = b.Program(ctx, "first", firstText); err != nil {
		return nil, err
	}
	h.loop = filepath.Join(b.Dir, "loop")
	if err := bench.Build(ctx, h.loop, "hermes-supervisor/scripts/bench-handoffs/loop"); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(config, h.first, h.notes(), h.first)
	if err := os.WriteFile(filepath.Join(b.Dir, "hermes.toml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	all := []bench.Measurement{
		{Name: "latency", Run: h.latency},
		{Name: "claim", Run: h.claims},
		{Name: "dispatch", Run: h.dispatches},
	}
	if !small {
		all = append(all, bench.Measurement{Name: "idle", Run: h.idle})
	}
	return all, nil
}

// notes is where the command of the platform "noted" notes its beginning, and that of the peer.
func (h *handoffs) notes() string { return filepath.Join(h.Dir, "began") }

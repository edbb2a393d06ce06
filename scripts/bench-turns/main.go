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
	"os"
	"os/signal"

	"hermes-supervisor/scripts/bench"
)

func main() {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role)) //nolint:forbidigo // this is the main of a program of its own
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := bench.Script{Name: "bench-turns", Plan: plan}.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

// turns is one run.
type turns struct {
	*bench.Bench

	tiny string // the peer: the smallest Go program
}

func plan(ctx context.Context, b *bench.Bench) ([]bench.Measurement, error) {
	tiny, err := b.Program(ctx, "tiny", "package main\n\nfunc main() {}\n")
	t := &turns{Bench: b, tiny: tiny}
	return []bench.Measurement{
		{Name: "fsync", Run: t.fsync},
		{Name: "begin-end", Run: t.beginEnd},
		{Name: "rate", Run: t.rate},
		{Name: "list", Run: t.list},
		{Name: "continue", Run: t.continuation},
		{Name: "memory", Run: t.memory},
		{Name: "begin-process", Run: t.beginProcess},
		{Name: "overhead", Run: t.overhead},
	}, err
}

// Kill-run kills `hermes-supervisor run` over and over while it keeps services up, and judges by what the services
// themselves wrote whether it keeps one copy of each and loses nothing of their output.
//
//	go run ./scripts/kill-run [-kills 200] [-seed N] [-time LIMIT] [-supervisor FILE]
//
//	start run --> its services are up --> (an order) --> SIGKILL, at a fault point or at any moment
//	    ^                                                      |
//	    +----- (an order, SIGKILL of some of its services) <---+
//
// hermes-supervisor is built with -tags faultpoints, so that it dies exactly before and after each durable step (package
// fault). The services are this program, executed again as childtest's scripted child.
//
// The rules, broken once, end it with exit code 1 and the seed; what was written is kept then:
//
//   - a service and everything that it starts hold a lock for life: a copy that finds it taken says so, and what an
//     older launch left never lives beside a newer one, nor two launches while run is dead
//   - run dies by nothing but these kills; the next one has every service up, or down where that was ordered, within
//     30 s: an order that was answered with exit code 0 is carried out, whenever run is killed after that
//   - at the end SIGTERM ends run with exit code 0 within 30 s, nothing of a service is left, and its output, read with
//     `logs`, has every numbered line once and in order. What a killed service had not written yet is not missing: at
//     most one line a launch, its last
//   - every fault point was hit at least 5 times (from 200 kills on)
//
// What is done is drawn from the seed; when it takes effect is up to the scheduler. It needs Linux and signals nothing but
// its own descendants.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	kills      int
	seed       uint64
	limit      time.Duration
	supervisor string
}

func main() {
	if part, args := partOf(os.Args); part != nil {
		os.Exit(part(args)) //nolint:forbidigo // this is the main of a program of its own
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{}
	flags := flag.NewFlagSet("kill-run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.kills, "kills", 200, "end after `N` kills of run")
	flags.Uint64Var(&o.seed, "seed", 0, "what is drawn (0: another one each time)")
	flags.DurationVar(&o.limit, "time", 0, "end after this `LIMIT` even if fewer were killed (0: none)")
	flags.StringVar(&o.supervisor, "supervisor", "", "test the binary `FILE`, built with -tags faultpoints (default: build this module's)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || o.kills < 1 || o.limit < 0 {
		fmt.Fprintln(stderr, "kill-run: give -kills of at least 1, and no arguments")
		return 2
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1 << 32) //nolint:gosec // nobody is kept from guessing it
	}
	fmt.Fprintf(stdout, "seed %d\n", o.seed)
	summary, err := storm(ctx, o, stdout)
	if _, broken := errors.AsType[*brokenError](err); broken {
		fmt.Fprintf(stdout, "seed %d: %v\n", o.seed, err)
	} else if err != nil {
		fmt.Fprintf(stderr, "kill-run: seed %d: %v\n", o.seed, err)
	}
	if summary != "" {
		fmt.Fprintln(stdout, summary)
	}
	if err != nil {
		return 1
	}
	return 0
}

// brokenError is a rule that did not hold.
type brokenError struct{ rule string }

func (e *brokenError) Error() string { return "rule broken: " + e.rule }

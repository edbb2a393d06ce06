// Kill-storm runs many turns at once under hermes-supervisor while it kills and stops keepers, launchers and agents, and
// judges by what the agents themselves wrote whether the promises of a turn hold.
//
//	go run ./scripts/kill-storm [-kills 500] [-seed N] [-keepers 8] [-time LIMIT] [-supervisor FILE]
//
// hermes-supervisor is built with -tags faultpoints, so that a keeper can be killed or stopped exactly before and after
// each durable step (package fault); the other kills come at random moments. The agents are this program, executed
// again by a script that is drawn beforehand: behind a launcher or not, leaving tools behind or not, ending or dying in
// different ways. Whatever dies is followed by the same command again, by one without a prompt, or by another prompt.
//
// The rules (judge.go, end.go), broken once, end the storm with exit code 1 and the story of that session:
//
//   - two runs of one session never overlap: an agent and everything that it starts hold a lock for life, and an agent
//     that finds it taken says so
//   - a prompt starts at most 1 + limit times, each time with a higher attempt, and never after its end was on disk
//   - every prompt is concluded with its agent's own code, interrupted on order, or in ended/ with its reason; a receipt
//     has run before a turn is let go
//   - a keeper that returns has left nothing of its agent alive, and ends only as it may
//   - at the end no process, no marker and nothing unexplained is left, and every fault point was hit at least 10 times
//     (from 500 kills on)
//
// What is done is drawn from the seed; when it takes effect is up to the scheduler. Prompts come in rounds of 500
// kills, each in a home of its own that is thrown away, so that a long run grows neither memory nor disk.
// It needs Linux (/proc, pidfds, a subreaper) and signals nothing but its own descendants.
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
	keepers    int
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
	flags := flag.NewFlagSet("kill-storm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.kills, "kills", 500, "end after `N` kills")
	flags.Uint64Var(&o.seed, "seed", 0, "what is drawn (0: another one each time)")
	flags.IntVar(&o.keepers, "keepers", 8, "how many sessions are worked on at once")
	flags.DurationVar(&o.limit, "time", 0, "end after this `LIMIT` even if fewer were killed (0: none)")
	flags.StringVar(&o.supervisor, "supervisor", "", "test the binary `FILE`, built with -tags faultpoints (default: build this module's)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || o.kills < 1 || o.keepers < 1 || o.limit < 0 {
		fmt.Fprintln(stderr, "kill-storm: give -kills and -keepers of at least 1, and no arguments")
		return 2
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1 << 32) //nolint:gosec // nobody is kept from guessing it
	}
	fmt.Fprintf(stdout, "seed %d\n", o.seed)
	summary, err := storm(ctx, o, stdout)
	broken, isRule := errors.AsType[*brokenError](err)
	switch {
	case isRule:
		fmt.Fprintf(stdout, "%s\nseed %d: %v\n", broken.story, o.seed, err)
	case err != nil:
		fmt.Fprintf(stderr, "kill-storm: seed %d: %v\n", o.seed, err)
	}
	if summary != "" {
		fmt.Fprintln(stdout, summary)
	}
	if err != nil {
		return 1
	}
	return 0
}

// brokenError is a rule that did not hold, and the story of the session in which it did not.
type brokenError struct{ rule, story string }

func (e *brokenError) Error() string { return "rule broken: " + e.rule }

// partOf is what this program plays when a keeper or an agent executes it again; nil in the storm itself.
func partOf(argv []string) (part func(args []string) int, args []string) {
	if len(argv) < 2 {
		return nil, nil
	}
	return map[string]func([]string) int{
		"agent": agent, "launcher": launcher, "tool": tool, "fork": fork,
	}[argv[1]], argv[2:]
}

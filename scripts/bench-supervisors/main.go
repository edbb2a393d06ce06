// Bench-supervisors measures hermes-supervisor beside runit, s6 and supervisor as Debian packages them, and beside a bare
// loop in Go that records nothing, and prints the table of the README:
//
//	go run ./scripts/bench-supervisors [-install] [-only REGEXP] [-n 21] [-services 100] [-idle 30s] [-many 1000]
//	    [-storm 60s] [-restarts 10000] [-dir DIR] [-supervisor FILE]
//
//	restart  from the SIGKILL of a service to the first act of the next one, without any delay that can be configured
//	         away; every record of ours is durable. One round kills each supervisor's service once.
//	idle     memory, threads, CPU time and context switches of a supervisor whose services do nothing
//	many     ours alone: start, death of all at once, return of all, and what many services cost beside few
//	storm    a service that prints a line and exits 1 at once, with the default settings: starts, CPU time, bytes on disk
//	restarts ours alone: what is open, mapped and on disk after so many restarts beside a tenth of them
//
// REGEXP has to match the whole name.
//
// A service is a compiled program of a few instructions: its first act is to take the monotonic clock's time, which it
// sends with its pid. runit and s6 are measured twice: with the shell script that their documents show as a service's
// `run`, and with the program itself in that place, which is the fastest that they can be.
//
// It needs Linux and a C compiler. Peers that are missing are installed with -install (root, apt-get), else left out.
// It writes in a scratch folder (below -dir, default the current user's cache, since /tmp may be in memory) that it
// removes at the end. It is the subreaper of all that it starts: at the end of each measurement it waits for what is
// left, ends it, and says so. Take the figures from a machine that does nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	rounds   int
	services int
	many     int
	idle     time.Duration
	storm    time.Duration
	restarts int
	install  bool
	dir      string
	binary   string // hermes-supervisor
	only     *regexp.Regexp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is the main of a program of its own
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := measure(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "bench-supervisors: %v\n", err)
		return 1
	}
	return 0
}

// parse reads the command line; it has said already what is wrong with it.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench-supervisors", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "n", 21, "how often each supervisor's service is killed")
	flags.IntVar(&o.services, "services", 100, "how many services are few")
	flags.IntVar(&o.many, "many", 1000, "how many services are many")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "how long nothing happens; our rescan is every 30s, so any other time may hold none")
	flags.DurationVar(&o.storm, "storm", time.Minute, "how long a service exits at once")
	flags.IntVar(&o.restarts, "restarts", 10_000, "how often one service is restarted, a multiple of 10")
	flags.BoolVar(&o.install, "install", false, "install the peers that are missing (root, apt-get)")
	flags.StringVar(&o.dir, "dir", "", "measure on the file system of this `DIR`")
	flags.StringVar(&o.binary, "supervisor", "", "measure the binary `FILE` (default: build this module's)")
	only := flags.String("only", ".*", "run only the measurements whose name matches `REGEXP`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	o.only, err = regexp.Compile("^(?:" + *only + ")$")
	switch {
	case err != nil:
	case flags.NArg() > 0 || min(o.rounds, o.services, o.many) < 1 || min(o.idle, o.storm) <= 0:
		err = errors.New("give -n, -services, -many, -idle and -storm above 0, and no arguments")
	case o.restarts < 10 || o.restarts%10 != 0:
		err = errors.New("give -restarts as a multiple of 10")
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench-supervisors: %v\n", err)
	}
	return o, err
}

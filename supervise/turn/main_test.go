//go:build linux

package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// The test binary plays several parts, by its first argument: none, the tests; "keeper", one `turn run` whose call lies
// in keeperVar (a process of its own, since a keeper's tree is every descendant of its process); "agent", a scripted
// program, see agent_test.go; and what parts has.
const keeperVar = "TURN_TEST_KEEPER"

// patience bounds every wait for a state, and the life of every helper, which nobody has to look for afterwards.
const patience = 60 * time.Second

// parts are the parts that one test file needs for itself. Each returns the exit code.
var parts = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if play, ok := parts[os.Args[1]]; ok {
			time.AfterFunc(patience, func() { os.Exit(99) })
			os.Exit(play(os.Args[2:]))
		}
		switch os.Args[1] {
		case "keeper":
			time.AfterFunc(patience, func() { os.Exit(99) })
			os.Exit(playKeeper())
		case "init":
			time.AfterFunc(patience, func() { os.Exit(99) })
			os.Exit(playInit())
		case "agent":
			time.AfterFunc(patience, func() { os.Exit(99) })
			playAgent(os.Args[2:])
			os.Exit(0)
		}
	}
	// They wait for each other's processes more than they work.
	os.Args = slices.Insert(os.Args, 1, "-test.parallel=8")
	os.Exit(m.Run())
}

// call is what a keeper process is asked to do.
type call struct {
	Home     fsstate.Home
	Key      []byte
	Settings policy.Settings
	Request  Request
	Report   string        // where the result goes
	Gate     string        // wait for this file after the moment that counts as the start, before anything is looked at
	Within   time.Duration // give up by then, where a stopped holder would make it wait for the lock; 0: never
}

// result is what a keeper process came to: an Outcome, or what its error said.
type result struct {
	Outcome Outcome
	Err     string
	Usage   bool // the error is a UsageError
}

// playKeeper is `turn run` without the command line. It exits with 0 whenever it has written a result.
func playKeeper() int {
	started := Now()
	var c call
	if err := json.Unmarshal([]byte(os.Getenv(keeperVar)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	_ = os.Unsetenv(keeperVar)
	if c.Gate != "" {
		_ = os.WriteFile(c.Gate+".ready", nil, 0o600)
		untilExists(c.Gate)
	}
	out, err := keep(c, started)
	r := result{Outcome: out}
	if err != nil {
		r.Err = err.Error()
		_, r.Usage = errors.AsType[*UsageError](err)
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(c.Report, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return 0
}

// playInit starts a keeper and reaps its orphans, when it is dead, as an init should.
func playInit() int {
	host, err := process.NewHost()
	if err == nil {
		_, err = host.Start(process.Spec{Argv: []string{os.Args[0], "keeper"}, Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	_ = host.Run(context.Background())
	return 0
}

func keep(c call, started Moment) (Outcome, error) {
	store, err := fsstate.Open(c.Home, fsstate.Options{})
	if err != nil {
		return Outcome{}, err
	}
	host, err := process.NewHost()
	if err != nil {
		return Outcome{}, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	orders := make(chan Order, 8)
	go func() {
		for s := range signals {
			if s == syscall.SIGINT {
				orders <- OrderInterrupt
			} else {
				orders <- OrderDrain
			}
		}
	}()
	k := &Keeper{
		Room: &Room{Store: store, Key: c.Key, Settings: c.Settings}, Host: host, Request: c.Request,
		Stdout: os.Stdout, Stderr: os.Stderr, Orders: orders, Started: started,
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "keeper: "+format+"\n", args...) },
	}
	ctx := context.Background()
	if c.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Within)
		defer cancel()
	}
	return k.Run(ctx)
}

// untilExists is the wait of a helper process.
func untilExists(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

package handoff

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
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// The test binary plays several parts, by its first argument: none, the tests; "keeper", one delivery whose call lies in
// callVar (a process of its own, since a keeper's tree is every descendant of its process); "handler", a scripted
// platform's command, see handler_linux_test.go; and what parts has.
const callVar = "HANDOFF_TEST_CALL"

// patience bounds every wait for a state, and the life of every helper, which nobody has to look for afterwards.
const patience = 60 * time.Second

// parts are the parts that one test file needs for itself. Each returns the exit code.
var parts = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		play, ok := parts[os.Args[1]]
		switch os.Args[1] {
		case "keeper":
			play, ok = func([]string) int { return playKeeper() }, true
		case "handler":
			play, ok = playHandler, true
		}
		if ok {
			life := patience
			if os.Args[1] == "client" { // it lives as long as a whole history
				life *= 10
			}
			time.AfterFunc(life, func() { os.Exit(99) })
			os.Exit(play(os.Args[2:]))
		}
	}
	// They wait for each other's processes more than they work.
	os.Args = slices.Insert(os.Args, 1, "-test.parallel=6")
	os.Exit(m.Run())
}

// testKey seals the records of the tests' homes.
var testKey = []byte("a key that no handler of the tests is told")

// place is one home and what is configured for it, as a process of its own is told.
type place struct {
	Home      fsstate.Home
	Key       []byte
	Platforms map[string]Platform
	Agents    map[string][]string // argv by name
}

// open makes the queue that a process of its own works on.
func (p place) open() (*Queue, error) {
	store, err := fsstate.Open(p.Home, fsstate.Options{})
	if err != nil {
		return nil, err
	}
	settings := policy.Defaults()
	settings.Backoff = time.Millisecond
	return &Queue{
		Files: fsstate.HandoffFiles{Store: store, Key: p.Key},
		Room:  &turn.Room{Store: store, Key: p.Key, Settings: settings},
		Platform: func(name string) (Platform, error) {
			pf, ok := p.Platforms[name]
			if !ok {
				return Platform{}, fmt.Errorf("unknown platform %q", name)
			}
			return pf, nil
		},
	}, nil
}

// call is what a keeper process is asked to do.
type call struct {
	place

	ID     string
	By     string
	Drain  time.Duration
	Report string        // where the result goes
	Within time.Duration // give up by then; 0: never
}

// result is what a keeper process came to.
type result struct {
	State   queue.State
	Err     string
	Refused queue.Reason // of a RefusedError
	Fault   bool         // state could not be read or written
}

func resultOf(h *fsstate.Handoff, err error) result {
	r := result{}
	if h != nil {
		r.State = queue.State(h.State)
	}
	if err != nil {
		r.Err = err.Error()
		if refused, is := errors.AsType[*RefusedError](err); is {
			r.Refused = refused.Reason
		}
		_, path := errors.AsType[*os.PathError](err)
		_, link := errors.AsType[*os.LinkError](err)
		r.Fault = path || link
	}
	return r
}

// playKeeper is `handoff deliver` without the command line. It exits with 0 whenever it has written a result.
func playKeeper() int {
	started := turn.Now()
	var c call
	if err := json.Unmarshal([]byte(os.Getenv(callVar)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	_ = os.Unsetenv(callVar)
	data, err := json.Marshal(resultOf(keep(c, started)))
	if err == nil {
		err = os.WriteFile(c.Report, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return 0
}

func keep(c call, started turn.Moment) (*fsstate.Handoff, error) {
	q, err := c.open()
	if err != nil {
		return nil, err
	}
	host, err := process.NewHost()
	if err != nil {
		return nil, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	orders := make(chan Order, 8)
	go func() {
		for s := range signals {
			if s == syscall.SIGINT {
				orders <- OrderCancel
			} else {
				orders <- OrderDrain
			}
		}
	}()
	ctx := context.Background()
	if c.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Within)
		defer cancel()
	}
	k := &Keeper{
		Queue: q, Host: host, ID: c.ID, By: c.By, Drain: c.Drain, Stdout: os.Stdout, Stderr: os.Stderr, Orders: orders,
		Started: started,
		Say:     func(format string, args ...any) { fmt.Fprintf(os.Stderr, "keeper: "+format+"\n", args...) },
		Agent: func(name string) (turn.Agent, error) {
			argv := c.Agents[name]
			if argv == nil {
				return turn.Agent{}, fmt.Errorf("no agent %q", name)
			}
			return turn.Agent{Name: name, Command: argv}, nil
		},
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

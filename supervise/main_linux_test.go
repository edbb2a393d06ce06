package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/service/childtest"
)

// The test binary plays several parts, by its first argument: none, the tests; "child", the scripted program of
// childtest; "keeper", the keeper of a turn; "supervisor", a Supervisor in a process of its own, which a test kills;
// "deliverer", the keeper of a handoff; "handler", the command of a platform.
const patience = 60 * time.Second

// host is the parent of everything that the tests start: nothing is started beside it, since it reaps what it does not
// know. What a killed supervisor leaves behind comes to it, as to an init.
var host *process.Host

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		args := os.Args[2:]
		switch os.Args[1] {
		case "child":
			os.Exit(childtest.Main(args))
		case "keeper", "supervisor", "deliverer", "handler":
			time.AfterFunc(childtest.Life, func() { os.Exit(99) })
			os.Exit(map[string]func([]string) int{
				"keeper": playKeeper, "supervisor": playSupervisor, "deliverer": playDeliverer, "handler": playHandler,
			}[os.Args[1]](args))
		}
	}
	if err := becomeHost(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// They wait for each other's processes more than they work.
	os.Args = slices.Insert(os.Args, 1, "-test.parallel=8")
	os.Exit(m.Run())
}

func becomeHost(ctx context.Context) (err error) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if host, err = process.NewHost(); err == nil {
		go host.Run(ctx)
	}
	return err
}

// playSupervisor runs what its argument says, until it is killed. It says "HOME SERVICE PHASE" at each change, and what
// it logs.
func playSupervisor(args []string) int {
	var s setup
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	ctx := context.Background()
	if err := becomeHost(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	if s.Rescan > 0 {
		rescan = s.Rescan
	}
	one := s.supervisor(os.Stdout)
	one.Moved = func(h fsstate.Home, spec service.Spec, st phase.State) {
		fmt.Fprintln(os.Stdout, filepath.Base(h.Path), spec.Name, st.Phase)
	}
	if s.Foreground != "" {
		one.Foreground = &Foreground{Name: s.Foreground, Emit: func(_ output.Stream, b []byte) error {
			_, err := fmt.Fprintf(os.Stdout, "printed: %s", b)
			return err
		}}
	}
	if err := one.Run(ctx); err != nil {
		fmt.Fprintln(os.Stdout, "ended:", err)
	}
	return 0
}

// playKeeper stands in for the keeper of a turn: DIR SESSION TURN. It notes "start SESSION NANOSECONDS", with the time of
// its fork since the boot, and with that of the clock "term" at SIGTERM, and "end" before it ends, which it does when
// the file end-SESSION is there. That holds "conclude" where the turn is to go as well.
func playKeeper(args []string) int {
	dir, session, turn := args[0], args[1], args[2]
	f, err := os.OpenFile(keeperLog(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 98
	}
	note := func(word string) { fmt.Fprintln(f, word, session, time.Now().UnixNano()) }
	told := make(chan os.Signal, 8)
	signal.Notify(told, syscall.SIGTERM)
	me, err := ident.Self("")
	if err != nil {
		return 97
	}
	fmt.Fprintln(f, "start", session, me.Start*int64(tick))
	for {
		select {
		case <-told:
			note("term")
		case <-time.After(2 * time.Millisecond):
		}
		word, err := os.ReadFile(filepath.Join(dir, "end-"+session))
		if _, gone := os.Stat(dir); err != nil && gone == nil {
			continue
		}
		if strings.TrimSpace(string(word)) == "conclude" {
			_ = os.Remove(turn)
		}
		select {
		case <-told: // both came
			note("term")
		default:
		}
		note("end")
		return 0
	}
}

// tick is the unit in which the kernel tells when a process was forked.
const tick = 10 * time.Millisecond

func keeperLog(dir string) string { return filepath.Join(dir, "keepers") }

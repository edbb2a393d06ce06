package service

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service/childtest"

	"golang.org/x/sys/unix"
)

// The test binary plays several parts, by its first argument: none, the tests; "child", the scripted program of
// childtest; "supervisor", one Runner in a process of its own, which a test kills; "target", a process that logs the
// signals that it gets, and must get none; "zombie", the parent of one.
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
		case "supervisor", "target", "zombie":
			time.AfterFunc(childtest.Life, func() { os.Exit(99) })
			os.Exit(map[string]func([]string) int{"supervisor": playSupervisor, "target": playTarget, "zombie": playZombie}[os.Args[1]](args))
		}
	}
	if err := becomeHost(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// They wait for each other's processes more than they work.
	os.Args = slices.Insert(os.Args, 1, "-test.parallel=16")
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

// call is what a supervisor process is asked to do.
type call struct {
	Home fsstate.Home
	Key  []byte
	Spec Spec
}

// playSupervisor runs one service and says each state in one line, "PHASE REASON", or "taken PID", or "refused WHY".
// A line "limit N" on its stdin sets how many files it may have open.
func playSupervisor(args []string) int {
	var c call
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	ctx := context.Background()
	if err := becomeHost(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	h, err := openTestHome(c.Home, c.Key)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	h.log = slog.New(slog.NewTextHandler(os.Stdout, nil))
	r, err := h.runner(c.Spec, func(_ Spec, s phase.State) { fmt.Fprintln(os.Stdout, s.Phase, s.Reason) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	go func() {
		for {
			var n uint64
			if _, err := fmt.Scanf("limit %d\n", &n); err != nil {
				return
			}
			_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 4096})
			fmt.Fprintln(os.Stdout, "limited", n)
		}
	}()
	if err := r.Run(ctx, c.Spec); err != nil {
		fmt.Fprintln(os.Stdout, said(err))
	}
	return 0
}

// playTarget writes "up" and then each signal that it gets into a file.
func playTarget(args []string) int {
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 98
	}
	got := make(chan os.Signal, 100)
	signal.Notify(got)
	fmt.Fprintln(f, "up")
	for s := range got {
		if s != syscall.SIGURG && s != syscall.SIGCHLD { // Go's own
			fmt.Fprintln(f, s)
		}
	}
	return 0
}

// playZombie leaves a child unreaped and writes its pid into a file.
func playZombie(args []string) int {
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		return 98
	}
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			return 97
		}
		if strings.Contains(string(text), ") Z ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if os.WriteFile(args[0]+".new", fmt.Append(nil, cmd.Process.Pid), 0o600) != nil || os.Rename(args[0]+".new", args[0]) != nil {
		return 96
	}
	select {}
}

// startOf is the start of any process, a zombie as well: field 22 of proc_pid_stat(5).
func startOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var start int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	_, _ = fmt.Sscan(fields[19], &start)
	return start
}

// identOf is a process's identity as a record would hold it.
func identOf(pid int, instance string) ident.Ident {
	id, err := ident.Self(instance)
	if err != nil {
		return ident.Ident{}
	}
	id.PID, id.Start = pid, startOf(pid)
	return id
}

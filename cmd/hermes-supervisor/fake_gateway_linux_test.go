package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// fakeHermes is as much of Hermes's command line as a supervisor meets. Files in its home say how it behaves: old (a version
// without the newer flags and without a heartbeat), unfit (no platform: exit 78), frozen (its loop stands still: no heartbeat,
// and no signal is taken), deaf (it ignores SIGTERM).
func fakeHermes() {
	args := os.Args[1:]
	home := os.Getenv("HERMES_HOME")
	if slices.Equal(args, []string{"--version"}) {
		fmt.Fprintln(os.Stdout, "Hermes Agent v0.19.0")
		return
	}
	if slices.Contains(args, "--help") {
		appendLine(filepath.Join(home, "asked"), strings.Join(args, " "))
		fmt.Fprintln(os.Stdout, "usage: hermes [-h]")
		if !there(home, "old") {
			fmt.Fprintln(os.Stdout, "  --external-supervisor  exit with 75 where a restart is wanted\n  --isolated             a server of its own")
		}
		return
	}
	if there(home, "old") && (slices.Contains(args, "--external-supervisor") || slices.Contains(args, "--isolated")) {
		fmt.Fprintln(os.Stderr, "hermes: error: unrecognized arguments")
		os.Exit(2)
	}
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "gateway run":
		os.Exit(fakeGateway(home, args))
	default:
		os.Exit(fakeServe(home, args))
	}
}

func there(home, file string) bool {
	_, err := os.Stat(filepath.Join(home, file))
	return err == nil
}

func appendLine(file, line string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		panic(err)
	}
}

// replaceJSON writes a file as Hermes does: beside it, then renamed.
func replaceJSON(file string, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		panic(err)
	}
}

func fakeGateway(home string, args []string) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	appendLine(filepath.Join(home, "starts"), strings.Join(args, " "))
	appendLine(filepath.Join(home, "environment"), strings.Join(envNamed("HERMES_HOME", "HERMES_SUPERVISED_CHILD", "HERMES_GATEWAY_EXTERNAL_SUPERVISOR", "_HERMES_GATEWAY", "HERMES_DESKTOP", "INVOCATION_ID", "OWN"), " "))
	if there(home, "unfit") {
		fmt.Fprintln(os.Stderr, "no messaging platform can be used")
		return 78
	}
	self, err := ident.Self("")
	if err != nil {
		panic(err)
	}
	state := func(word string) {
		replaceJSON(filepath.Join(home, "gateway_state.json"), map[string]any{"pid": self.PID, "start_time": self.Start, "gateway_state": word})
	}
	state("starting")
	state("running")
	beat := time.NewTicker(50 * time.Millisecond)
	for {
		select {
		case <-beat.C:
			if !there(home, "old") && !there(home, "frozen") {
				replaceJSON(filepath.Join(home, "state", "gateway.heartbeat"), map[string]any{"pid": self.PID})
			}
		case s := <-signals:
			switch {
			case there(home, "frozen"), there(home, "deaf") && s == syscall.SIGTERM:
			case s == syscall.SIGUSR1:
				state("stopped")
				return 75
			case plannedFor(home, self):
				state("stopped")
				return 0
			default:
				return 1 // its state stays "running"
			}
		}
	}
}

// plannedFor is how a gateway tells an ordered stop: gateway/status.py, consume_planned_stop_marker_for_self.
func plannedFor(home string, self ident.Ident) bool {
	file := filepath.Join(home, ".gateway-planned-stop.json")
	data, err := os.ReadFile(file)
	var m struct {
		Pid     int       `json:"target_pid"`
		Start   *int64    `json:"target_start_time"`
		Stopper int       `json:"stopper_pid"`
		At      time.Time `json:"written_at"`
	}
	if err != nil || json.Unmarshal(data, &m) != nil || os.Remove(file) != nil {
		return false
	}
	return m.Pid == self.PID && m.Start != nil && *m.Start == self.Start && m.Stopper != 0 && time.Since(m.At).Abs() < time.Minute
}

// envNamed are the variables of those names that are set.
func envNamed(names ...string) (set []string) {
	for _, name := range names {
		if value, is := os.LookupEnv(name); is {
			set = append(set, name+"="+value)
		}
	}
	return set
}

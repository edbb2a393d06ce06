package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// patience is how long anything here waits for what must come: far beyond what a slow machine needs.
const patience = 60 * time.Second

// steps are what a scripted agent can do; the number is how many arguments each takes.
//
//	agent log runs cat on 0 kill KILL print done
//
// notes its launch in the file runs, copies its stdin to stdout, kills itself if this is attempt 0, and prints "done".
var steps = map[string]struct {
	args int
	do   func(args []string) error
}{
	"log":   {1, stepLog},   // FILE: append a line with the attempt
	"cat":   {0, stepCat},   // stdin to stdout
	"save":  {1, stepSave},  // FILE: append stdin
	"show":  {1, stepShow},  // FILE to stdout
	"mode":  {1, stepMode},  // FILE: its permission bits
	"print": {1, stepPrint}, // TEXT and a newline to stdout
	"put":   {1, stepPut},   // TEXT with Go escapes to stdout
	"err":   {1, stepErr},   // TEXT with Go escapes to stderr
	"env":   {1, stepEnv},   // NAME=value
	"cwd":   {0, stepCwd},   // the name of the working directory
	"tty":   {0, stepTTY},   // is stdout a terminal?
	"touch": {1, stepTouch}, // FILE
	"await": {1, stepAwait}, // FILE exists
	"hang":  {0, stepHang},  // until something ends it
	"exit":  {1, stepExit},  // CODE
	"fails": {2, stepFails}, // FILE N: exit 1 the first N times, which FILE counts
	"kill":  {1, stepKill},  // KILL or TERM to itself
	"call":  {1, stepCall},  // COMMAND LINE of hermes-supervisor, PID standing for the agent's own
	"hook":  {2, stepHook},  // AGENT EVENT: as an agent runs its hook; the event with Go escapes
}

// agent runs its steps in order. "on N STEP" is for attempt N only; "args" prints what follows it, quoted; "inner" has another
// agent do what follows.
func agent() {
	// A test run in the background hands down an ignored SIGINT; an agent at a terminal has none.
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	go func() {
		<-interrupt
		os.Exit(130)
	}()
	for todo := os.Args[1:]; len(todo) > 0; {
		if todo[0] == "args" {
			for _, arg := range todo[1:] {
				fmt.Fprintf(os.Stdout, "%q\n", arg)
			}
			return
		}
		if todo[0] == "inner" {
			cmd := exec.Command("agent", todo[1:]...)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				fmt.Fprintf(os.Stderr, "agent: inner: %v\n", err)
				os.Exit(99)
			}
			return
		}
		skip := false
		if todo[0] == "on" && len(todo) > 2 {
			skip = todo[1] != os.Getenv(turn.AttemptVar)
			todo = todo[2:]
		}
		step, known := steps[todo[0]]
		if !known || len(todo) <= step.args {
			fmt.Fprintf(os.Stderr, "agent: cannot do %q\n", todo)
			os.Exit(98)
		}
		args := todo[1 : 1+step.args]
		if !skip {
			if err := step.do(args); err != nil {
				fmt.Fprintf(os.Stderr, "agent: %s: %v\n", todo[0], err)
				os.Exit(99)
			}
		}
		todo = todo[1+step.args:]
	}
}

func stepLog(args []string) error {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "attempt %s\n", os.Getenv(turn.AttemptVar))
	return errors.Join(err, f.Close())
}

func stepFails(args []string) error {
	if err := stepLog(args); err != nil {
		return err
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(args[1])
	if err == nil && strings.Count(string(text), "\n") <= times {
		os.Exit(1)
	}
	return err
}

func stepCat([]string) error {
	_, err := io.Copy(os.Stdout, os.Stdin)
	return err
}

func stepSave(args []string) error {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, os.Stdin)
	return errors.Join(err, f.Close())
}

func stepShow(args []string) error {
	data, err := os.ReadFile(args[0])
	if err == nil {
		_, err = os.Stdout.Write(data)
	}
	return err
}

func stepMode(args []string) error {
	info, err := os.Stat(args[0])
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%o\n", info.Mode().Perm())
	}
	return err
}

func stepPrint(args []string) error {
	_, err := fmt.Fprintln(os.Stdout, args[0])
	return err
}

func stepPut(args []string) error { return put(os.Stdout, args[0]) }

func stepErr(args []string) error { return put(os.Stderr, args[0]) }

func put(w io.Writer, escaped string) error {
	text, err := unescape(escaped)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// unescape expands Go's escapes, except \", since a quote stands for itself.
func unescape(escaped string) (string, error) {
	return strconv.Unquote(`"` + strings.ReplaceAll(escaped, `"`, `\"`) + `"`)
}

func stepEnv(args []string) error {
	value, set := os.LookupEnv(args[0])
	if !set {
		value = "(not set)"
	}
	_, err := fmt.Fprintf(os.Stdout, "%s=%s\n", args[0], value)
	return err
}

func stepCwd([]string) error {
	dir, err := os.Getwd()
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, filepath.Base(dir))
	}
	return err
}

func stepTTY([]string) error {
	_, err := fmt.Fprintf(os.Stdout, "terminal: %v\n", process.IsTerminal(os.Stdout))
	return err
}

func stepTouch(args []string) error { return os.WriteFile(args[0], nil, 0o600) }

func stepAwait(args []string) error {
	return within(patience, func() (bool, error) {
		_, err := os.Stat(args[0])
		return err == nil, nil
	})
}

func stepHang([]string) error {
	time.Sleep(2 * patience)
	return errors.New("nobody ended this agent")
}

func stepExit(args []string) error {
	code, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(code)
	}
	return err
}

func stepKill(args []string) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Signal(signals[args[0]]); err != nil {
		return err
	}
	time.Sleep(patience)
	return errors.New("survived the signal")
}

// signals are the names that scripts use.
var signals = map[string]os.Signal{"KILL": os.Kill, "TERM": syscall.SIGTERM}

func stepCall(args []string) error {
	argv := strings.Fields(strings.ReplaceAll(args[0], "PID", strconv.Itoa(os.Getpid())))
	cmd := exec.Command("hermes-supervisor", argv...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited || err == nil {
		_, err = fmt.Fprintf(os.Stdout, "[exit %d]\n", cmd.ProcessState.ExitCode())
	}
	return err
}

// stepHook hands an event to a hook and tells how that ended: the words that it must not say come first.
func stepHook(args []string) error {
	event, err := unescape(args[1])
	if err != nil {
		return err
	}
	cmd := exec.Command("hermes-supervisor", "hook", args[0])
	cmd.Stdin = strings.NewReader(event)
	said, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); exited || err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%s[hook %d]\n", said, cmd.ProcessState.ExitCode())
	}
	return err
}

// within polls: what a test waits for here happens in other processes.
func within(limit time.Duration, done func() (bool, error)) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("not within %s", limit)
}

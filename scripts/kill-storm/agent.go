//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The environment that a keeper gives to its agent, and how a continuation's prompt begins.
const (
	attemptVar = "HERMES_SUPERVISOR_ATTEMPT"
	notePrefix = "[System note: Your previous turn was interrupted"
)

// agentBound ends an agent that nobody ends, so that a storm that is killed itself leaves nothing for ever.
const agentBound = 2 * time.Minute

// promptOf is the text of a prompt, by its name.
func promptOf(name string) string { return "Task " + name + ": do what the script says." }

// cast is what an agent, its launcher and its tools know.
type cast struct {
	log, lock string
	script    script
	who       target
	attempt   int
	held      *os.File // the session's lock, which whatever it starts inherits
}

// enter reads the arguments LOG LOCK SCRIPT [held]: with the fourth, descriptor 3 holds the session's lock already.
// Else it takes the lock, and says so when something of an earlier run still has it.
func enter(args []string) (cast, bool) {
	c := cast{log: args[0], lock: args[1]}
	c.attempt, _ = strconv.Atoi(os.Getenv(attemptVar))
	var err error
	if c.who, err = targetOf(os.Getpid()); err != nil || json.Unmarshal([]byte(args[2]), &c.script) != nil {
		return c, false
	}
	if len(args) > 3 {
		c.held = os.NewFile(3, "lock")
		return c, true
	}
	if c.held, err = os.OpenFile(c.lock, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return c, false
	}
	if unix.Flock(int(c.held.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return c, c.say(lineOverlap, "-", mono(), 0)
	}
	return c, true
}

func (c cast) say(kind, prompt string, at int64, code int) bool {
	return line{kind: kind, at: at, who: c.who, prompt: prompt, attempt: c.attempt, code: code}.write(c.log) == nil
}

// agent works on one prompt.
func agent(args []string) int {
	at := mono()
	c, ok := enter(args)
	if !ok {
		return 125
	}
	text, err := io.ReadAll(os.Stdin)
	prompt := c.understand(string(text))
	if err != nil || prompt == "" {
		c.say(lineWrong, "-", at, 0)
		return 125
	}
	if c.script.Launcher == "sh" {
		c.nameShell(prompt)
	}
	c.say(lineStart, prompt, at, 0)
	a := c.script.act(c.attempt)
	for _, t := range a.Tools {
		if c.leave(t) != nil {
			return 125
		}
	}
	if c.stdin(a.Stdin) != nil {
		return 125
	}
	_, _ = os.Stdout.WriteString("working on " + prompt + "\n")
	time.Sleep(time.Duration(a.Work) * time.Millisecond)
	switch a.End {
	case endOK:
		c.say(lineEnd, prompt, mono(), 0)
		return 0
	case endError:
		c.say(lineEnd, prompt, mono(), 3)
		return 3
	case endCode:
		c.say(lineDie, prompt, mono(), 139)
		return 139
	case endDie:
		c.say(lineDie, prompt, mono(), 137)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	time.Sleep(agentBound)
	return 125
}

// understand is the name of the prompt in what the agent was given, "" when that is not what it should be: the prompt
// alone at first, and after a note of the interruption in a continuation.
func (c cast) understand(text string) string {
	original := text
	if c.attempt > 0 {
		_, after, found := strings.Cut(text, "\n\n")
		if original = after; !found || !strings.HasPrefix(text, notePrefix) {
			return ""
		}
	}
	name, found := strings.CutPrefix(original, "Task ")
	name, _, _ = strings.Cut(name, ":")
	if !found || original != promptOf(name) {
		return ""
	}
	return name
}

// nameShell notes the shell that this agent was started through, so that the storm can kill it alone.
func (c cast) nameShell(prompt string) {
	pid := os.Getppid()
	comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	shell, gone := targetOf(pid)
	if err == nil && gone == nil && strings.HasSuffix(strings.TrimSpace(string(comm)), "sh") {
		c.who = shell
		c.say(lineLauncher, prompt, mono(), 0)
	}
}

func (c cast) stdin(what string) error {
	switch what {
	case stdinClose:
		return unix.Close(0)
	case stdinReplace:
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		return unix.Dup3(int(null.Fd()), 0, 0)
	}
	return nil
}

// self is this program's own file.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's file: %w", err)
	}
	return filepath.EvalSymlinks(path)
}

// leave starts a tool and does not wait for it.
func (c cast) leave(t toolPlan) error {
	program, err := self()
	if err != nil {
		return err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	part := "tool"
	if t.Where == toolDouble {
		part = "fork"
	}
	attr := &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, c.held}, Sys: &syscall.SysProcAttr{Setsid: t.Where != toolGroup}}
	if !t.Stdin {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer null.Close() //nolint:errcheck // only read
		attr.Files[0] = null
	}
	if t.Bare {
		attr.Env = []string{}
	}
	p, err := os.StartProcess(program, []string{program, part, c.log, string(data)}, attr)
	if err == nil && t.Where == toolDouble {
		_, err = p.Wait()
	}
	return err
}

// fork starts the tool that it was to be and is gone.
func fork(args []string) int {
	program, err := self()
	if err != nil {
		return 125
	}
	held := os.NewFile(3, "lock")
	_, err = os.StartProcess(program, append([]string{program, "tool"}, args...), &os.ProcAttr{ //nolint:gosec // this program, by its own arguments
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, held}, Sys: &syscall.SysProcAttr{Setsid: true}, Env: os.Environ(),
	})
	if err != nil {
		return 125
	}
	return 0
}

// tool lives for a while.
func tool(args []string) int {
	who, err := targetOf(os.Getpid())
	var t toolPlan
	if err != nil || json.Unmarshal([]byte(args[1]), &t) != nil {
		return 125
	}
	if t.Deaf {
		signal.Ignore(unix.SIGTERM)
	}
	if (line{kind: lineTool, at: mono(), who: who, prompt: "-"}).write(args[0]) != nil {
		return 125
	}
	time.Sleep(time.Duration(t.Life) * time.Millisecond)
	return 0
}

// launcher starts the agent in a session of its own and ends as it does.
func launcher(args []string) int {
	c, ok := enter(args)
	if !ok {
		return 125
	}
	c.say(lineLauncher, "-", mono(), 0)
	program, err := self()
	if err != nil {
		return 125
	}
	p, err := os.StartProcess(program, append(append([]string{program, "agent"}, args...), "held"), &os.ProcAttr{ //nolint:gosec // as in fork
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, c.held}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 125
	}
	state, err := p.Wait()
	if err != nil {
		return 125
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

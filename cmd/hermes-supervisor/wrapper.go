package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/wrap"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// wrapCall tells `hermes-supervisor claude …` from the commands of this program, none of whose flags may be looked for in an
// agent's command line.
func (a *app) wrapCall(args []string) (name string, rest []string, ok bool) {
	name, rest, ok = a.early(args)
	return name, rest, ok && slices.Contains(wrapped(), name)
}

// wrapped are the presets that are named after the program that they run.
func wrapped() []string {
	return slices.DeleteFunc(agents.Names(), func(name string) bool { return name == "hermes-argv" })
}

// wrap runs an agent's own command line: protected, if there is a turn in it.
func (a *app) wrap(name string, args []string) error {
	a.json = false // a --json in it is the agent's
	cfg, _, err := a.loadConfig()
	if err != nil {
		return err
	}
	c, err := cfg.Agent(name)
	if err != nil {
		return err
	}
	program := c.Command[0]
	if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
		return &turn.UsageError{Problem: fmt.Sprintf("run %s: no such program", program)}
	}
	if c.Wrap == nil {
		return a.asItIs(name, program, args, &wrap.NotATurn{Why: "how its command line is read is not configured"})
	}
	call, why := wrap.Read(*c.Wrap, args, !a.stdinIsTerminal(), turn.Literal)
	if why != nil {
		return a.asItIs(name, program, args, why)
	}
	if call.PromptFile != "" {
		if call.Prompt, why = readPromptFile(call.PromptFile); why != nil {
			return a.asItIs(name, program, args, why)
		}
	}
	var input []byte
	switch {
	case call.FromStdin:
		data, err := a.readInput(fsstate.MaxRecord, 0)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return a.asItIs(name, program, args, &wrap.NotATurn{Why: "its prompt is empty"})
		}
		call.Prompt = string(data)
	case !utf8.ValidString(call.Prompt):
		return a.asItIs(name, program, args, &wrap.NotATurn{Why: "its prompt is not valid UTF-8"})
	case call.Beside && !a.stdinIsTerminal():
		if input, err = a.readInput(maxBeside, besideWait); err != nil {
			return err
		}
	}
	return a.protect(name, program, call, input)
}

// maxBeside is how much may stand beside a prompt: it is in no record, so more than fits one.
const maxBeside = 16 << 20

// besideWait is how long a stdin that nobody may ever write to is waited for, as the agents do it.
const besideWait = 3 * time.Second

// protect runs the turn that was found.
func (a *app) protect(name, program string, call *wrap.Call, input []byte) error {
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	agent, err := r.agent(name)
	if err != nil {
		return err
	}
	// Its arguments are in no record, so that run could only continue it without them: the record names no agent.
	agent.Name = ""
	agent.Command = append([]string{program}, call.Command...)
	agent.Resume = append([]string{program}, call.Resume...)
	if call.First != nil {
		agent.First = append([]string{program}, call.First...)
	}
	agent.Own.ID = call.Session
	if call.Chosen {
		agent.Own.ID = turn.NewSessionID()
	}
	agent.Own.Chosen = agent.Own.Chosen && agent.Own.ID != ""
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	req := turn.Request{Prompt: call.Prompt, HasPrompt: true, Agent: agent, AutoContinue: true, Input: input, Cwd: cwd}
	req.Session = wrapSession(r.Room, name, call.Session, req)
	cmd := &cobra.Command{}
	cmd.SetContext(context.Background())
	return a.keep(cmd, r, &runFlags{drain: defaultDrain}, req)
}

// wrapSession is the key of the session: a caller's own, or one of the agent's id, which the command line names or we choose.
// What a keeper has told the agent that calls this is the key of another turn. Where the command line names no session, the
// same one given again after the death of its keeper is the same turn, and not a second agent beside the first.
func wrapSession(r *turn.Room, name, named string, req turn.Request) string {
	if key := os.Getenv(turn.SessionVar); key != "" && os.Getenv(ident.InstanceVar) == "" {
		return key
	}
	if named != "" && utf8.ValidString(named) {
		return name + ":" + named
	}
	if key := r.Lost(name+":", req); key != "" {
		return key
	}
	if id := req.Agent.Own.ID; id != "" && named == "" {
		return name + ":" + id
	}
	return name + ":" + ident.NewInstance()
}

// wrapperOf is the preset whose wrapper has made a key, "" for any other key.
func wrapperOf(key string) string {
	name, _, found := strings.Cut(key, ":")
	if !found || !slices.Contains(wrapped(), name) {
		return ""
	}
	return name
}

// asItIs runs a command line that has no turn in it in our place.
func (a *app) asItIs(name, program string, args []string, why *wrap.NotATurn) error {
	if !why.Silent {
		a.say("%s: this run is not protected: %s", name, printable(why.Why))
	}
	code, err := process.Become(program, args)
	a.code = code
	return err
}

func readPromptFile(path string) (string, *wrap.NotATurn) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", &wrap.NotATurn{Why: "its prompt is not in a regular file"}
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) > fsstate.MaxRecord || len(data) == 0 {
		return "", &wrap.NotATurn{Why: "the file of its prompt is empty, too large or cannot be read"}
	}
	return string(data), nil
}

func (a *app) stdinIsTerminal() bool {
	f, ok := a.stdin.(*os.File)
	return ok && process.IsTerminal(f)
}

// readInput is what stdin holds. With a limit to the wait, a stdin from which nothing has come by then holds nothing.
func (a *app) readInput(limit int, wait time.Duration) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	began, done := make(chan struct{}), make(chan read, 1)
	go func() {
		var all bytes.Buffer
		first := make([]byte, 1)
		n, err := io.ReadFull(a.stdin, first)
		close(began)
		if err == nil {
			all.Write(first[:n])
			_, err = io.Copy(&all, io.LimitReader(a.stdin, int64(limit)))
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		done <- read{all.Bytes(), err}
	}()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-began:
		case <-timer.C:
			return nil, nil
		}
	}
	got := <-done
	if got.err != nil {
		return nil, &turn.UsageError{Problem: "read stdin: " + got.err.Error()}
	}
	if len(got.data) > limit {
		return nil, &turn.UsageError{Problem: fmt.Sprintf("read stdin: more than %d bytes", limit)}
	}
	return got.data, nil
}

// wrapperCommands are there for the help: wrapCall has taken their calls before.
func (a *app) wrapperCommands() []*cobra.Command {
	var commands []*cobra.Command
	for _, name := range wrapped() {
		commands = append(commands, &cobra.Command{
			Use:   name + " …",
			Short: "Run " + name + " as you type it, and protect the turn in it",
			Long: fmt.Sprintf(`Takes %[1]s's own command line. Where it is one turn (a prompt, and an end by itself), the turn is protected as by turn run:
its output and exit code are %[1]s's, and after a crash it goes on in the same session, with the same flags. Anything else is
run as it is, and one line on stderr says so. hermes-supervisor agents show %[1]s says how the command line is read.

The session's key is "%[1]s:" and %[1]s's own id of the session, where that is known at the start, or HERMES_SUPERVISOR_SESSION.
The arguments are in no record: after a kill of hermes-supervisor itself, give the same command line again, in the same folder
or with that variable set to the key, which turn list shows.`, name),
			DisableFlagParsing: true,
			RunE:               func(_ *cobra.Command, args []string) error { return a.wrap(name, args) },
		})
	}
	return commands
}

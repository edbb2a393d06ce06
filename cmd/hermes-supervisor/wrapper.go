package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"hermes-supervisor/cmd/hermes-supervisor/config"
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

// typed is an agent's command line as its user typed it.
type typed struct {
	*app

	name, program string
	args          []string
	wrap          config.Wrap
}

// sum names the command line in a record, which holds none.
func (a *typed) sum() string {
	sum := sha256.Sum256([]byte(strings.Join(a.args, "\x00")))
	return hex.EncodeToString(sum[:])
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
	t := &typed{app: a, name: name, program: c.Command[0], args: args}
	if _, err := exec.LookPath(t.program); err != nil && !errors.Is(err, exec.ErrDot) {
		return &turn.UsageError{Problem: fmt.Sprintf("run %s: no such program", t.program)}
	}
	if c.Wrap == nil {
		return t.asItIs(&wrap.NotATurn{Why: "how its command line is read is not configured"}, nil)
	}
	t.wrap = *c.Wrap
	call, why := wrap.Read(t.wrap, args, !a.stdinIsTerminal(), turn.Literal)
	if why != nil {
		return t.asItIs(why, nil)
	}
	if call.PromptFile != "" {
		if call.Prompt, why = readPromptFile(call.PromptFile); why != nil {
			return t.asItIs(why, nil)
		}
	}
	var read []byte
	if call.FromStdin {
		if read, err = a.readInput(fsstate.MaxRecord, 0); err != nil {
			return t.asItIs(&wrap.NotATurn{Why: err.Error()}, read)
		}
		switch {
		case len(read) == 0:
			return t.asItIs(&wrap.NotATurn{Why: "its prompt is empty"}, nil)
		case len(read) > fsstate.MaxRecord:
			return t.asItIs(&wrap.NotATurn{Why: fmt.Sprintf("its prompt of more than %d bytes does not fit a record", fsstate.MaxRecord)}, read)
		}
		call.Prompt = string(read)
	}
	return t.protect(call, read, time.Duration(c.Wrap.StdinWait))
}

// maxBeside is how much may stand beside a prompt: it is in no record, so more than fits one.
const maxBeside = 16 << 20

// protect runs the turn that was found. read is what was read of stdin to find it; wait, how long the agent would wait for what
// stands beside a prompt there, 0: to its end.
func (a *typed) protect(call *wrap.Call, read []byte, wait time.Duration) error {
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	agent, err := r.agent(a.name)
	if err != nil {
		return err
	}
	// Its arguments are in no record, so that run could only continue it without them: the record names no agent.
	agent.Name, agent.Kind = "", a.name
	if !a.wrap.Streams(a.args) {
		agent.Events.Begin, agent.Events.End, agent.Events.Error = nil, nil, nil
		if !agent.OnStderr.Session {
			agent.Own.Told = nil
		}
	}
	agent.Command = append([]string{a.program}, call.Command...)
	agent.Resume = append([]string{a.program}, call.Resume...)
	if call.First != nil {
		agent.First = append([]string{a.program}, call.First...)
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
	req := turn.Request{Prompt: call.Prompt, HasPrompt: true, Agent: agent, AutoContinue: true, Cwd: cwd, Call: a.sum()}
	if why := req.Unfit(); why != "" {
		return a.asItIs(&wrap.NotATurn{Why: why}, read)
	}
	if call.Beside && !a.stdinIsTerminal() {
		req.Input, err = a.readInput(maxBeside, wait)
		switch {
		case errors.Is(err, errNothingCame):
			a.say("%s: nothing came on stdin within %v: going on without it", a.name, wait)
		case err != nil:
			return a.asItIs(&wrap.NotATurn{Why: err.Error()}, req.Input)
		case len(req.Input) > maxBeside:
			return a.asItIs(&wrap.NotATurn{Why: fmt.Sprintf("more than %d bytes stand beside its prompt", maxBeside)}, req.Input)
		}
	}
	req.Session = wrapSession(r.Room, a.name, call.Session, req)
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

// asItIs runs a command line that has no turn in it in our place. read is what was read of its stdin, which it gets too.
func (a *typed) asItIs(why *wrap.NotATurn, read []byte) error {
	if !why.Silent {
		a.say("%s: this run is not protected: %s", a.name, printable(why.Why))
	}
	var stdin *os.File // nothing was read: ours
	if len(read) > 0 {
		f, remove, err := a.rewound(read)
		if err != nil {
			return err
		}
		defer remove()
		stdin = f
	}
	code, err := process.Become(a.program, a.args, stdin)
	a.code = code
	return err
}

// rewound is stdin from its beginning, in a file that is gone when it is closed: an agent reads to the end before it begins,
// so that it misses nothing by having to wait for it.
func (a *app) rewound(read []byte) (_ *os.File, remove func(), err error) {
	f, err := os.CreateTemp("", "hermes-supervisor-stdin-*")
	if err != nil {
		return nil, nil, err
	}
	name := f.Name()
	remove = func() { _ = f.Close() }
	if os.Remove(name) != nil { // Windows keeps a file that is open
		remove = func() { _ = f.Close(); _ = os.Remove(name) }
	}
	_, err = io.Copy(f, io.MultiReader(bytes.NewReader(read), a.stdin))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("hand on stdin: %w", err)
	}
	return f, remove, nil
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

// errNothingCame: nobody may ever write to a stdin.
var errNothingCame = errors.New("nothing came on stdin")

// readInput is what stdin holds; one byte above the limit is read of more. With a limit to the wait, errNothingCame is the answer
// of a stdin from which nothing has come by then.
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
			return nil, errNothingCame
		}
	}
	got := <-done
	if got.err != nil {
		return got.data, fmt.Errorf("read its stdin: %w", got.err)
	}
	return got.data, nil
}

// typedExample is one turn as an agent's user types it.
func typedExample(name string) string {
	const prompt = `"Fix the failing tests"`
	switch name {
	case "codex":
		return "exec --json " + prompt
	case "opencode":
		return "run --format json " + prompt
	case "goose":
		return "run -t " + prompt
	case "hermes":
		return "chat -Q -q " + prompt
	case "aider":
		return "--message " + prompt + " main.go"
	}
	return "-p " + prompt // claude, gemini, and what is most common
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
run as it is, and one line on stderr says so. hermes-supervisor agents show %[1]s says how the command line is read. Our own
flags (--home, --config) stand before %[1]s: hermes-supervisor --home DIR %[1]s …

The session's key is "%[1]s:" and %[1]s's own id of the session, where that is known at the start, or HERMES_SUPERVISOR_SESSION.
The arguments are in no record: after a kill of hermes-supervisor itself, give the same command line again, in the same folder
or with that variable set to the key, which turn list shows.`, name),
			Example:            "  hermes-supervisor " + name + " " + typedExample(name),
			DisableFlagParsing: true,
			RunE:               func(_ *cobra.Command, args []string) error { return a.wrap(name, args) },
		})
	}
	return commands
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/turn"
)

// What an agent is held up for at most: its event has stdinWait to arrive, a lock that somebody else holds lockWait to get
// free, and a file system that hangs costs hookWait.
const (
	stdinWait = 300 * time.Millisecond
	lockWait  = 200 * time.Millisecond
	hookWait  = time.Second
)

func (a *app) hookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hook AGENT",
		Short: "Take an event from an agent's hook (agents call this)",
		Long: `Agents call this from their hooks, with the event as JSON on stdin: a turn that begins is recorded, one that ends is removed.
hermes-supervisor hooks install AGENT sets it up.

It prints nothing, always exits with 0, and holds the agent up for a second at the very most, since an agent may take what
a hook prints for context, and its failure for a refusal. What went wrong is in the journal (hermes-supervisor events).
Under turn run the turn is the keeper's already: then it only learns the agent's own session id.`,
		Example: `  echo '{"hook_event_name":"Stop","session_id":"…"}' | hermes-supervisor hook claude`,
		Args:    cobra.ArbitraryArgs,
		Run:     func(_ *cobra.Command, args []string) { a.hook(args) },
	}
}

// hookCall tells a call of `hook` from any other without the tree of commands, which takes as long to make as all else
// that a hook does, and whose errors have exit codes: 2 would refuse the person's prompt.
func (a *app) hookCall(args []string) (rest []string, ok bool) {
	name, rest, ok := a.early(args)
	return rest, ok && name == "hook" && !slices.Contains(rest, "--help") && !slices.Contains(rest, "-h")
}

// early is the name of the command and what follows it, behind the global flags.
func (a *app) early(args []string) (command string, rest []string, ok bool) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		var into *string
		switch name {
		case "--unsafe-filesystem":
			a.unsafe, args = true, args[1:]
			continue
		case "--json":
			args = args[1:] // seen already
			continue
		case "--home":
			into = &a.home
		case "--config", "-c":
			into = &a.config
		default:
			return args[0], args[1:], true
		}
		if !joined {
			if len(args) < 2 {
				return "", nil, false
			}
			value, args = args[1], args[1:]
		}
		*into, args = value, args[1:]
	}
	return "", nil, false
}

// hook takes one event. Whatever happens, the agent gets neither a word nor an exit code of it.
func (a *app) hook(args []string) {
	h := &hookCall{app: a}
	if len(args) > 0 {
		h.agent = args[0]
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.carryOut(); err != nil {
			h.journal(err)
		}
	}()
	select {
	case <-done:
	case <-time.After(hookWait): // a file system that hangs; what is written there is whole or not there
	}
}

// hookCall is one event on its way.
type hookCall struct {
	app     *app
	agent   string
	session string
	store   *fsstate.Store
}

// carryOut does what the event says.
func (h *hookCall) carryOut() (err error) {
	defer func() {
		if fault := recover(); fault != nil { // which would print, and exit with 2
			err = fmt.Errorf("internal error: %v", fault)
		}
	}()
	room, event, err := h.take()
	if err != nil || room == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	return room.Hook(ctx, event)
}

// take reads the event, and opens the home that it is about: nil where there is nothing to do.
func (h *hookCall) take() (*turn.Room, turn.Hook, error) {
	cfg, source, bad := h.app.loadConfig()
	agent, err := cfg.Agent(h.agent) // with a broken hermes.toml that of the preset: the prompt is not lost for that
	if err != nil {
		return nil, turn.Hook{}, errors.Join(bad, err)
	}
	if agent.Hooks == nil {
		return nil, turn.Hook{}, fmt.Errorf("agent %s: nothing is known of its hooks", h.agent)
	}
	event, err := h.read(*agent.Hooks)
	if err != nil || event.Event == turn.HookNothing {
		return nil, event, errors.Join(bad, err)
	}
	event.Unattended = agent.Unattended
	event.Agents = slices.Clone(agents.Programs)
	for _, other := range cfg.Agents {
		if other.Hooks != nil {
			event.Agents = append(event.Agents, other.Hooks.Process...)
		}
	}
	if h.store, err = h.open(event.Event == turn.HookBegin); err != nil || h.store == nil {
		return nil, event, err
	}
	if bad != nil {
		h.journal(bad)
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		h.journal(fmt.Errorf("the record is not signed: %w", err))
	}
	return &turn.Room{Store: h.store, Key: key, Settings: settingsOf(cfg)}, event, nil
}

// read is the event as the agent wrote it.
func (h *hookCall) read(of config.Hooks) (turn.Hook, error) {
	p, err := hooks.Read(h.app.stdin, stdinWait, of.Event, of.Session, of.Prompt, of.Cwd)
	event := turn.Hook{
		Agent: h.agent, AgentSession: p[of.Session], Process: of.Process,
		KeeperInstance: os.Getenv(ident.InstanceVar), KeeperSession: os.Getenv(turn.SessionVar),
	}
	if cwd := p[of.Cwd]; filepath.IsAbs(cwd) {
		event.Cwd = cwd
	}
	h.session = event.Session()
	switch name := p[of.Event]; {
	case slices.Contains(of.Begin, name):
		event.Event, event.Prompt = turn.HookBegin, p[of.Prompt]
	case slices.Contains(of.End, name):
		event.Event, event.Done = turn.HookEnd, slices.Contains(of.Done, name)
	case slices.Contains(of.Alive, name):
		event.Event = turn.HookAlive
	case err == nil && name == "":
		return event, errors.New("the event has no name at " + of.Event)
	default:
		return event, err
	}
	if event.AgentSession == "" {
		return event, errors.Join(err, errors.New("the event names no session"))
	}
	return event, nil // what it needs stood before what is wrong with it
}

// open opens the home, and makes it only where something has to be written: nil without one.
func (h *hookCall) open(create bool) (*fsstate.Store, error) {
	home, err := h.app.resolveHome()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(home.Path, "supervisor")); err != nil && !create {
		return nil, nil
	}
	return fsstate.Open(home, fsstate.Options{UnsafeFilesystem: h.app.unsafe})
}

// journal says what went wrong where there is a home; elsewhere nobody can be told.
func (h *hookCall) journal(problem error) {
	if h.store == nil {
		store, err := h.open(false)
		if err != nil || store == nil {
			return
		}
		h.store = store
	}
	_ = h.store.Journal(fsstate.Event{Kind: "hook", Agent: h.agent, Session: h.session, PID: os.Getppid(), Reason: oneLine(problem)})
}

package turn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// HookEvent is what an event of an agent's hook says about a turn.
type HookEvent int

// The events of hooks. The zero one says nothing.
const (
	HookNothing HookEvent = iota
	HookBegin             // a turn begins; one that the agent had open in the session is over
	HookAlive             // it is at work
	HookEnd               // it is over
)

// Hook is one event that an agent reports through its hooks.
type Hook struct {
	Agent        string // the agent's name, which is part of the session's key
	AgentSession string // its own id of the session
	Event        HookEvent
	Done         bool // of HookEnd: the turn has done its work
	Prompt, Cwd  string
	Process      []string // names of the agent's program
	Agents       []string // names of the programs of all agents
	Unattended   bool
	// HERMES_SUPERVISOR_INSTANCE and HERMES_SUPERVISOR_SESSION of the caller: set under a keeper.
	KeeperInstance, KeeperSession string
}

// sourceHook is the source of a turn that hooks report.
const sourceHook = "hook"

// HookError is an event that changed nothing, and why. It says nothing of the prompt.
type HookError struct{ Problem string }

func (e *HookError) Error() string { return e.Problem }

// Session is the key of the session that the event is about.
func (h Hook) Session() string { return h.Agent + ":" + h.AgentSession }

// maxAgentSession bounds an agent's own id of a session: they have some forty characters.
const maxAgentSession = 256

// check refuses what cannot be the id of a session: it becomes an argument of the agent when its turn is continued.
func (h Hook) check() error {
	id := h.AgentSession
	switch {
	case id == "":
		return &HookError{"the event names no session"}
	case len(id) > maxAgentSession, !utf8.ValidString(id), strings.HasPrefix(id, "-"), strings.ContainsFunc(id, unicode.IsControl):
		return &HookError{"the event's session is no id (too long, a - first, or control characters)"}
	}
	return nil
}

// Hook does what an event says. Under a keeper only the first beginning counts, which tells the agent's own session id, and
// where the keeper has died the end. Elsewhere the turn belongs to the nearest ancestor that is the agent; one whose agent was
// started by an agent at work is that one's, and not recorded. The error tells why nothing was recorded.
func (r *Room) Hook(ctx context.Context, h Hook) error {
	if h.Event == HookNothing {
		return nil
	}
	if err := h.check(); err != nil {
		return err
	}
	if h.KeeperInstance != "" {
		kept, err := r.kept(h)
		if err != nil {
			return err
		}
		if kept {
			if err := r.orphaned(ctx, h); err != nil || h.Event != HookBegin {
				return err // a keeper that lives sees for itself how the turn goes and ends
			}
		}
	}
	switch h.Event {
	case HookBegin:
		return r.hookBegin(ctx, h)
	case HookAlive:
		return r.hookAlive(h)
	case HookEnd:
		return r.hookEnd(ctx, h)
	case HookNothing:
	}
	return nil
}

// kept tells whether the event comes from below a keeper that has an open turn.
func (r *Room) kept(h Hook) (bool, error) {
	t, err := r.files().Get(h.KeeperSession)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !t.Reported() && t.Owner.Instance == h.KeeperInstance, nil
}

// orphaned records whether an agent has done its work whose keeper is dead: nobody else sees it, and its output need not tell.
// The next keeper finds it, and carries the turn to its end with the receipt that is due. An agent that is at work again has
// not done it: somebody else's hook may have sent it back.
func (r *Room) orphaned(ctx context.Context, h Hook) error {
	ended := h.Event == HookEnd && h.Done
	if seen, err := r.files().Get(h.KeeperSession); err != nil || seen.AgentEnded == ended || h.Event == HookEnd && !h.Done {
		return ignoreMissing(err)
	}
	unlock, err := r.lock(ctx, h.KeeperSession, "hook")
	if err != nil {
		return err
	}
	defer unlock()
	t, err := r.open(h.KeeperSession)
	if err != nil || t == nil || t.Owner.Instance != h.KeeperInstance || t.AgentSession != h.AgentSession || t.AgentEnded == ended ||
		t.Phase != fsstate.PhaseRunning && t.Phase != fsstate.PhaseIntended {
		return err
	}
	if r.look().keeper(t).Verdict != ident.Dead {
		return nil
	}
	t.AgentEnded = ended
	if err := r.files().Put(t); err != nil {
		return err
	}
	kind := "agent-at-work"
	if ended {
		kind = "agent-ended"
	}
	r.note(t, kind, t.Phase, "", nil)
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *Room) hookBegin(ctx context.Context, h Hook) error {
	pid, err := process.NearestAncestor(h.Process)
	if err != nil {
		return err
	}
	begun := Report{
		Session: h.Session(), AgentSession: h.AgentSession, PID: pid, Prompt: h.Prompt, Agent: h.Agent, Source: sourceHook, Cwd: h.Cwd,
		Unattended: h.Unattended, KeeperInstance: h.KeeperInstance, KeeperSession: h.KeeperSession,
	}
	if h.KeeperInstance != "" {
		if done, err := r.bind(ctx, begun); done != "" || err != nil {
			return err
		}
		begun.KeeperInstance = "" // a keeper that is gone, or has another turn by now
	}
	if pid == 0 {
		return &HookError{fmt.Sprintf("no ancestor of the hook is the agent (%s)", strings.Join(h.Process, ", "))}
	}
	if nested, err := r.nested(pid, h); nested || err != nil {
		return err
	}
	if h.Prompt == "" {
		// Pictures alone, or a prompt that is too large: that cannot be continued, but the turn before is over.
		_, err := r.endReported(ctx, h.Session())
		return errors.Join(&HookError{"the turn has no prompt that could be kept"}, err)
	}
	_, err = r.Begin(ctx, begun)
	return err
}

// nested tells whether an agent was started by another one that has a turn open: what it does belongs to that turn, which
// is what goes on after a crash.
func (r *Room) nested(pid int, h Hook) (bool, error) {
	above, err := process.NamedAncestors(pid, slices.Concat(h.Process, h.Agents))
	if err != nil || len(above) == 0 { // as nearly always
		return false, err
	}
	turns, _ := r.files().All(fsstate.Turns) // what cannot be read is nobody's
	return slices.ContainsFunc(turns, func(t *fsstate.Turn) bool {
		return t.Reported() && t.Phase == fsstate.PhaseRunning && slices.Contains(above, t.Owner.PID) && ident.Check(t.Owner) == ident.Alive
	}), nil
}

// hookAlive is a heartbeat: of the owner's own, and of nothing else. A turn that is not open needs none.
func (r *Room) hookAlive(h Hook) error {
	t, err := r.files().Get(h.Session())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !t.Reported() || t.Phase != fsstate.PhaseRunning || ident.Check(t.Owner) != ident.Alive:
		return nil
	}
	if ours, err := process.IsAncestor(t.Owner.PID); err != nil || !ours {
		return err
	}
	err = r.files().Heartbeat(t.Session, time.Now())
	if errors.Is(err, fs.ErrNotExist) { // its end has come meanwhile
		return nil
	}
	return err
}

// hookEnd ends the turn if one is open: an agent that stops tells it more than once (Stop, then SessionEnd).
func (r *Room) hookEnd(ctx context.Context, h Hook) error {
	_, err := r.files().Get(h.Session())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err = r.endReported(ctx, h.Session())
	return err
}

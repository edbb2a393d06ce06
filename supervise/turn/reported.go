package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Report is a turn that its agent reports itself (`turn begin`, hooks).
type Report struct {
	Session     string
	PID         int // the agent; an ancestor of the caller that is no shell
	Prompt      string
	Agent       string
	Source      string
	Unattended  bool
	RotatedFrom string // the session had this key until now: the open turn gets a second key, nothing begins
	// AgentSession is the agent's own id of the session, where that is not Session itself.
	AgentSession string
	Cwd          string // where the agent works; "" is where the caller does
	// HERMES_SUPERVISOR_INSTANCE and HERMES_SUPERVISOR_SESSION of the caller: set under a keeper.
	KeeperInstance, KeeperSession string
}

// Begun is what `turn begin` did.
type Begun string

// The three things that a report of a beginning can come to.
const (
	BegunRecorded  Begun = "recorded"  // the marker is durable
	BegunAnnotated Begun = "annotated" // a keeper has the turn already; its marker learned the agent's own id
	BegunIgnored   Begun = "ignored"   // a keeper has the turn, and an id is bound: an agent that the agent started
)

// Begin records a reported turn durably, or annotates the marker of the keeper that the caller runs under.
func (r *Room) Begin(ctx context.Context, b Report) (Begun, error) {
	if b.Session == "" || !utf8.ValidString(b.Session) || !utf8.ValidString(b.Prompt) {
		return "", &UsageError{"session key is empty, or key or prompt is not valid UTF-8"}
	}
	if b.RotatedFrom != "" {
		return BegunAnnotated, r.rotate(ctx, b.RotatedFrom, b.Session)
	}
	if b.KeeperInstance != "" {
		if begun, err := r.bind(ctx, b); begun != "" || err != nil {
			return begun, err
		}
	}
	if b.Prompt == "" {
		return "", &UsageError{"prompt is empty"}
	}
	owner, err := reporter(b.PID)
	if err != nil {
		return "", err
	}
	unlock, err := r.lock(ctx, b.Session, "turn begin")
	if err != nil {
		return "", err
	}
	defer unlock()
	st, err := r.stand(b.Session)
	if err != nil {
		return "", err
	}
	if err := r.makeRoom(b.Session, st, owner); err != nil {
		return "", err
	}
	cwd := b.Cwd
	if cwd == "" {
		cwd, _ = os.Getwd() // for `turn resume`; a caller without one has none to come back to
	}
	now := time.Now().UTC()
	t := &fsstate.Turn{
		Session: b.Session, Phase: fsstate.PhaseRunning, Prompt: b.Prompt, Source: b.Source, Agent: b.Agent, Cwd: cwd,
		AgentSession: b.AgentSession, AutoContinue: true, StartedAt: now, LaunchedAt: now, Owner: owner, Unattended: b.Unattended, Verified: true,
	}
	if err := r.files().Fits(t); err != nil {
		return "", err
	}
	if err := r.files().Put(t); err != nil {
		return "", err
	}
	r.note(t, "began", "", "", nil)
	return BegunRecorded, nil
}

// makeRoom retires what the session held before: the owner's own earlier turn is over when it begins another, a dead
// one is replaced, and a live one of someone else holds the session.
func (r *Room) makeRoom(session string, st standing, owner ident.Ident) error {
	t := st.turn
	switch {
	case t == nil && st.owner.Verdict == ident.Alive:
		return &BusyError{session, refusal(st)}
	case t == nil:
		return nil
	case t.Reported() && t.Owner.PID == owner.PID && t.Owner.Start == owner.Start && t.Owner.BootID == owner.BootID:
		return r.remove(t, "superseded", policy.ReasonOtherPrompt)
	case st.keeper.Verdict != ident.Dead || st.owner.Verdict != ident.Dead:
		return &BusyError{t.Session, refusal(st)}
	case t.Phase == fsstate.PhaseConcluded && t.Receipt != nil && t.Receipt.Pending:
		return &BusyError{t.Session, policy.ReasonReceiptPending.Text()}
	case t.Phase == fsstate.PhaseConcluded || t.Phase == fsstate.PhaseStopping:
		return r.remove(t, "removed", policy.ReasonConcluded)
	}
	_, err := r.giveUp(t, policy.ReasonOtherPrompt)
	return err
}

// bind tells the keeper's marker the agent's own session id: the first one binds, later ones come from agents that the
// agent started. No keeper with that instance: "".
func (r *Room) bind(ctx context.Context, b Report) (Begun, error) {
	t, err := r.files().Get(b.KeeperSession)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (t.Reported() || t.Owner.Instance != b.KeeperInstance) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	own := cmp.Or(b.AgentSession, b.Session)
	switch {
	case t.AgentSession == own: // bound already: a hook comes with every prompt, and an id only ever stays
		return BegunAnnotated, nil
	case t.AgentSession != "":
		return BegunIgnored, nil
	}
	if kind := cmp.Or(t.Agent, t.Kind); b.Agent != "" && kind != "" && b.Agent != kind { // another agent's session is not its own
		return BegunIgnored, nil
	}
	begun := BegunAnnotated
	err = r.annotate(ctx, b.KeeperSession, func(t *fsstate.Turn) {
		switch {
		case t.Owner.Instance != b.KeeperInstance || t.AgentSession != "" && t.AgentSession != own:
			begun = BegunIgnored
		default:
			t.AgentSession = own
		}
	})
	return begun, err
}

// rotate gives the open turn of a session a second key.
func (r *Room) rotate(ctx context.Context, from, to string) error {
	session, err := r.Resolve(from)
	if err != nil {
		return err
	}
	return r.annotate(ctx, session, func(t *fsstate.Turn) {
		if to != t.Session && !slices.Contains(t.Aliases, to) {
			t.Aliases = append(t.Aliases, to)
		}
	})
}

func (r *Room) annotate(ctx context.Context, session string, change func(t *fsstate.Turn)) error {
	unlock, err := r.lock(ctx, session, "annotate")
	if err != nil {
		return err
	}
	defer unlock()
	t, err := r.open(session)
	if err != nil {
		return err
	}
	if t == nil {
		return fmt.Errorf("session %q: %w", session, ErrNoTurn)
	}
	change(t)
	return r.files().Put(t)
}

// End retires a reported turn, under any key of its session. A turn of a keeper ends with its keeper; a missing one
// has ended already. A living owner that is not the caller's ancestor keeps its turn: a late report of an old process
// must not end the turn of a new one.
func (r *Room) End(ctx context.Context, key string) (ended bool, err error) {
	session, err := r.Resolve(key)
	if err != nil {
		return false, err
	}
	return r.endReported(ctx, session)
}

// endReported is End for the key that the turn began with.
func (r *Room) endReported(ctx context.Context, session string) (ended bool, err error) {
	unlock, err := r.lock(ctx, session, "turn end")
	if err != nil {
		return false, err
	}
	defer unlock()
	t, err := r.open(session)
	if err != nil || t == nil || !t.Reported() {
		return false, err
	}
	if ident.Check(t.Owner) != ident.Dead {
		if ok, err := process.IsAncestor(t.Owner.PID); err != nil || !ok {
			return false, errors.Join(err, &BusyError{session, fmt.Sprintf("its owner, pid %d, lives and did not make this report", t.Owner.PID)})
		}
	}
	return true, r.remove(t, "removed", policy.ReasonConcluded)
}

// reporter is the identity of the agent that reports a turn.
func reporter(pid int) (ident.Ident, error) {
	ok, err := process.IsAncestor(pid)
	if err != nil {
		return ident.Ident{}, err
	}
	if !ok {
		return ident.Ident{}, &UsageError{fmt.Sprintf("--pid %d is no ancestor of this command: name the agent that reports its turn", pid)}
	}
	if name := process.Shell(pid); name != "" {
		return ident.Ident{}, &UsageError{fmt.Sprintf("--pid %d is a shell (%s): name the agent itself, or start the hook with exec", pid, name)}
	}
	return ident.Of(pid, "")
}

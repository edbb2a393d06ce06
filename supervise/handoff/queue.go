package handoff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/turn"
)

// Platform is what the configuration says of one: a command, a session with its agent, or neither where a program of its
// own claims.
type Platform struct {
	Command        []string
	Session, Agent string
	External       bool
	Timeout        time.Duration // of one delivery
	MaxConcurrent  int           // deliveries at once; 0: as many as the home's
}

// AsTurn tells a platform to which a handoff is delivered as a turn.
func (p Platform) AsTurn() bool { return p.Agent != "" }

// session is the one that a handoff of another session is delivered to as a turn.
func (p Platform) session(handed string) string {
	return strings.ReplaceAll(p.Session, "{{session}}", handed)
}

// Queue is the handoffs of one home. Its methods may be called by any number of processes at once.
type Queue struct {
	Files    fsstate.HandoffFiles
	Room     *turn.Room                          // the turns of the same home
	Platform func(name string) (Platform, error) // what the configuration has; the error names what it has
	Tagged   func() (ident.Tagged, error)        // nil: ident.ScanTagged
	Log      *slog.Logger                        // nil: nothing is logged

	hasOther func(key, id string) (bool, error) // nil: Room.HasOther
}

// ErrNone means that no handoff is what was asked for.
var ErrNone = errors.New("no such handoff")

// RefusedError is something that a handoff's state does not allow; nothing was changed.
type RefusedError struct {
	ID     string // of the handoff that stands in the way
	Reason queue.Reason
	State  queue.State
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("handoff %s is %s: %s", e.ID, e.State, e.Reason.Text())
}

// ErrUnsigned refuses handoffs where no key can tell them from forged ones.
var ErrUnsigned = errors.New("handoffs are signed, and there is no key beside the configuration")

func (q *Queue) log() *slog.Logger {
	if q.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return q.Log
}

// get reads a handoff. A broken file is set aside, which is reported once and blocks nothing else; then, and where there
// is none, the error is ErrNone.
func (q *Queue) get(id string) (*fsstate.Handoff, error) {
	h, err := q.Files.Get(id)
	if corrupt, is := errors.AsType[*fsstate.CorruptError](err); is {
		return nil, errors.Join(q.setAside(id, corrupt), fmt.Errorf("handoff %s: %w", id, ErrNone))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("handoff %.64q: %w", id, ErrNone)
	}
	return h, err
}

// setAside moves what is broken of a handoff out of the way.
func (q *Queue) setAside(id string, broken *fsstate.CorruptError) error {
	folder := fsstate.Handoffs
	if broken.Path == q.Files.Store.Path(fsstate.Handed, id+".json") {
		folder = fsstate.Handed
	}
	aside, err := q.Files.SetAside(folder, id, time.Now())
	if err != nil {
		return err
	}
	q.log().Warn("broken handoff set aside", "error", broken.Error(), "file", aside)
	return q.Files.Store.Journal(fsstate.Event{Kind: "corrupt", Handoff: id, Reason: broken.Error()})
}

// note writes one line to the journal, which decides nothing: a line that cannot be written stops nothing.
func (q *Queue) note(h *fsstate.Handoff, from queue.State, r queue.Reason) {
	e := fsstate.Event{
		Kind: "handoff", Handoff: h.ID, Session: h.Session, Platform: h.Platform, Attempt: h.Tries,
		From: string(from), To: h.State, Reason: string(r),
	}
	if h.Claim != nil {
		e.Instance, e.PID = h.Claim.Claimer.Instance, h.Claim.Claimer.PID
	}
	if h.End != nil && !queue.State(h.State).Open() {
		e.Code = h.End.Code
	}
	if err := q.Files.Store.Journal(e); err != nil {
		q.log().Warn("journal not written", "error", err.Error())
	}
}

// change does what an event asks of one handoff, under its lock: one read, one decision, one durable write. apply
// completes the record of a step that changes the state, before the write; its error leaves everything as it was.
func (q *Queue) change(ctx context.Context, id string, e queue.Event, claim string, apply func(h *fsstate.Handoff, s queue.Step) error) (*fsstate.Handoff, error) {
	before, err := q.get(id)
	if err != nil {
		return nil, err
	}
	locks := []string{fsstate.HandoffLock(id)}
	if e == queue.Claim { // no turn of the session begins between the look and the claim
		locks = append(locks, fsstate.Name(before.Session))
	}
	unlock, err := q.Files.Store.LockAll(ctx, "handoff "+string(e), locks...)
	if err != nil {
		return nil, err
	}
	defer unlock()
	h, err := q.get(id)
	if err != nil {
		return nil, err
	}
	facts, err := q.facts(h, e, claim)
	if err != nil {
		return h, err
	}
	s := queue.Next(facts, e)
	from := queue.State(h.State)
	switch {
	case s.Refused:
		return h, &RefusedError{ID: h.ID, Reason: s.Reason, State: from}
	case s.To == from && s.Reason == queue.ReasonCancelAsked && h.CancelAsked.IsZero():
		h.CancelAsked = time.Now().UTC()
		if err := q.Files.Put(h); err != nil {
			return h, err
		}
		q.note(h, from, s.Reason)
		return h, nil
	case s.To == from: // done before, by somebody who may have been killed before it was durable
		return h, q.Files.Confirm()
	}
	h.State = string(s.To)
	if err := apply(h, s); err != nil {
		return h, err
	}
	if err := q.write(h, from, s.To); err != nil {
		return h, err
	}
	if !s.To.Open() {
		s.Reason = queue.Reason(h.End.Reason) // its keeper knows it more closely
	}
	q.note(h, from, s.Reason)
	return h, nil
}

func (q *Queue) write(h *fsstate.Handoff, from, to queue.State) error {
	switch {
	case !to.Open():
		return q.Files.Settle(h)
	case !from.Open():
		return q.Files.Reopen(h)
	}
	return q.Files.Put(h)
}

// facts looks up what an event depends on, and no more: most of it costs a look at the disk or at the processes.
func (q *Queue) facts(h *fsstate.Handoff, e queue.Event, claim string) (queue.Facts, error) {
	f := queue.Facts{State: queue.State(h.State), Verified: h.Verified, CancelAsked: !h.CancelAsked.IsZero()}
	p, err := q.Platform(h.Platform)
	f.Served = err == nil
	if c := h.Claim; c != nil && c.Turn != "" {
		f.AsTurn = err == nil && p.AsTurn() && p.session(h.Session) == c.Turn
		f.OwnTurn = q.ownTurn(h)
	}
	f.SameClaim = h.Claim != nil && claim != "" && h.Claim.Claimer.Instance == claim
	switch {
	case e == queue.Claim && f.State == queue.Pending:
		f.TurnOpen, err = q.turnOpen(turnID(h), h.Session, p)
	case e == queue.Retry && !f.State.Open():
		var other *fsstate.Handoff
		other, err = q.openOf(h.Session, h.ID)
		f.OtherOpen = other != nil
	case (e == queue.Cancel || e == queue.Reclaim) && f.State == queue.Running:
		f.Claimer, err = life(q.claimer(h).Verdict), nil
	default:
		err = nil
	}
	return f, err
}

// ownTurn tells whether the turn that a handoff was delivered as is open, or may be: nobody can tell of a record that
// cannot be read.
func (q *Queue) ownTurn(h *fsstate.Handoff) bool {
	t, err := fsstate.TurnFiles{Store: q.Files.Store, Key: q.Files.Key}.Get(h.Claim.Turn)
	return err == nil && t.RequestID == turnID(h) || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// turnOpen tells whether a turn stands in the way of a delivery: of the session that is handed over, or of the one that it
// is delivered to. own is the id of the delivery's own turn.
func (q *Queue) turnOpen(own, session string, p Platform) (bool, error) {
	other := q.hasOther
	if other == nil {
		other = q.Room.HasOther
	}
	open, err := other(session, own)
	if open || err != nil || !p.AsTurn() {
		return open, err
	}
	return other(p.session(session), own)
}

// openOf is the open handoff of a session, but for one; nil where there is none. Those that nobody who may has requested
// do not count.
func (q *Queue) openOf(session, but string) (*fsstate.Handoff, error) {
	ids, err := q.Files.Open()
	if err != nil {
		return nil, err
	}
	may := fsstate.OfSession(session)
	for _, id := range ids {
		if id == but || !may(id) {
			continue
		}
		h, err := q.get(id)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if h.Session == session && h.Verified && queue.State(h.State).Open() {
			return h, nil
		}
	}
	return nil, nil
}

package turn

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

// Room is the turns of one home: its files, the policy in force, and where to report.
type Room struct {
	Store    *fsstate.Store
	Key      []byte // HMAC key of the records; empty: written unsigned, and never continued without a person
	Settings policy.Settings
	Agents   func(name string) (Agent, bool) // what the configuration says that a named agent runs; nil: none
	Log      *slog.Logger                    // nil: nothing is logged
}

func (r *Room) files() fsstate.TurnFiles { return fsstate.TurnFiles{Store: r.Store, Key: r.Key} }

func (r *Room) log() *slog.Logger {
	if r.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Log
}

// signs tells whether records are signed here at all; where they are not, none can be held to its seal.
func (r *Room) signs() bool { return len(r.Key) > 0 }

// lock takes the stripe of a session; purpose is what the next one who waits is told.
func (r *Room) lock(ctx context.Context, session, purpose string) (func(), error) {
	return r.Store.Lock(ctx, fsstate.Name(session), purpose)
}

// open reads the open turn of a session under its lock: nil where there is none. A broken file is set aside, which is
// reported once and does not block the session.
func (r *Room) open(session string) (*fsstate.Turn, error) {
	t, err := r.files().Get(session)
	if err == nil {
		return t, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if corrupt, ok := errors.AsType[*fsstate.CorruptError](err); ok {
		return nil, r.setAside(fsstate.Name(session)+".json", corrupt)
	}
	return nil, err
}

func (r *Room) setAside(file string, broken error) error {
	aside, err := r.Store.Quarantine(fsstate.Turns, file, time.Now())
	if err != nil {
		return err
	}
	r.log().Warn("broken record set aside", "error", broken.Error(), "file", aside)
	return r.Store.Journal(fsstate.Event{Time: time.Now().UTC(), Kind: "corrupt", Reason: broken.Error()})
}

// note writes one line to the journal. The journal tells what happened; it decides nothing, so a line that cannot be
// written (full disk) stops nothing.
func (r *Room) note(t *fsstate.Turn, kind, from, reason string, code *int) {
	r.tell(t, fsstate.Event{Kind: kind, From: from, Reason: reason, Code: code})
}

// tell is note of an event that has more to say.
func (r *Room) tell(t *fsstate.Turn, e fsstate.Event) {
	e.Time, e.Session, e.Agent, e.Instance, e.PID = time.Now().UTC(), t.Session, t.Agent, t.Owner.Instance, t.Owner.PID
	e.Attempt, e.To = t.Attempts, t.Phase
	if err := r.Store.Journal(e); err != nil {
		r.log().Warn("journal not written", "error", err.Error())
	}
}

// archive moves an open turn to ended/ and says so in the journal.
func (r *Room) archive(t *fsstate.Turn, reason policy.Reason) (string, error) {
	file, err := r.files().Archive(t, string(reason), time.Now())
	if err != nil {
		return "", err
	}
	r.note(t, "ended", t.Phase, string(reason), nil)
	return file, nil
}

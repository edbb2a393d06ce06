package handoff

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// View is a handoff as it stands: what is written, who delivers it, and why it stands so.
type View struct {
	*fsstate.Handoff

	Home    fsstate.Home
	Claimer ident.Finding // of a running one: its claimer and all of its delivery
	// Reason is, of a pending one, what holds it back; of a running one, why it is left to its claimer, or what its
	// claimer's death comes to; of an ended one, its end's.
	Reason queue.Reason
}

// View is one handoff as it stands. The error is about what could not be looked up; the view holds the rest.
func (q *Queue) View(h *fsstate.Handoff) (View, error) {
	v := View{Handoff: h, Home: q.Files.Store.Home()}
	switch state := queue.State(h.State); {
	case state == queue.Pending:
		f, err := q.facts(h, queue.Claim, "")
		f.TurnOpen = f.TurnOpen || err != nil // nobody knows, which holds it back as well
		p, _ := q.Platform(h.Platform)        // one that is not configured is not served
		v.Reason = queue.Hold(f, p.External)
		return v, err
	case state == queue.Running:
		f, _ := q.facts(h, queue.Complete, "") // which needs no look at the disk
		v.Claimer = q.claimer(h)
		f.Claimer = life(v.Claimer.Verdict)
		v.Reason = queue.Next(f, queue.Reclaim).Reason
		if v.Reason == queue.ReasonRunning && f.CancelAsked {
			v.Reason = queue.ReasonCancelAsked
		}
	case !state.Known():
		v.Reason = queue.ReasonStateUnknown
	case h.End != nil:
		v.Reason = queue.Reason(h.End.Reason)
	}
	return v, nil
}

// List reads every open handoff of the home, the oldest request first; all: those that have ended and are kept, too. What
// cannot be read is reported beside the others: one error for each file. A broken file is set aside on the way.
func (q *Queue) List(all bool) ([]View, []error) {
	ids, err := q.Files.Open()
	if err != nil {
		return nil, []error{err}
	}
	if all {
		ended, err := q.Files.Ended()
		if err != nil {
			return nil, []error{err}
		}
		ids = append(ids, ended...)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	found, bad := q.Files.All(ids)
	for _, err := range bad {
		q.setAsideListed(err)
	}
	once := *q // one look at turns and processes for all of them
	once.hasOther = q.Room.OpenTurns()
	once.Tagged = sync.OnceValues(q.scan())
	views := make([]View, 0, len(found))
	for _, h := range found {
		if state := queue.State(h.State); !all && state.Known() && !state.Open() {
			continue
		}
		v, err := once.View(h)
		if err != nil {
			bad = append(bad, err)
		}
		views = append(views, v)
	}
	return views, bad
}

func (q *Queue) setAsideListed(err error) {
	corrupt, is := errors.AsType[*fsstate.CorruptError](err)
	if !is {
		return
	}
	if err := q.setAside(strings.TrimSuffix(filepath.Base(corrupt.Path), ".json"), corrupt); err != nil {
		q.log().Warn("broken handoff not set aside", "error", err.Error())
	}
}

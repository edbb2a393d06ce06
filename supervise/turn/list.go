package turn

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// View is one open turn as it stands: what is written, who lives, and what would happen to it now.
type View struct {
	Turn          *fsstate.Turn
	Home          string
	Store         string // "own" or "hermes"
	Keeper, Owner ident.Finding
	Facts         policy.Facts
	Decision      policy.Decision
	Waiting       *policy.Waiting // nil: it does not wait, or nobody knows for what
}

// List reads every open turn of this home, ours and Hermes's own, oldest first. What cannot be read is reported beside
// the others: one error for each file. A broken file is set aside on the way.
func (r *Room) List() ([]View, []error) {
	s := r.look()
	turns, bad := r.files().All(fsstate.Turns)
	for _, err := range bad {
		r.setAsideListed(err)
	}
	own := map[string]bool{}
	for _, t := range turns {
		own[t.Session] = true
	}
	theirs, unread := s.hermesTurns()
	bad = append(bad, unread...)
	for _, t := range theirs {
		if !own[t.Session] {
			turns = append(turns, t)
		}
	}
	views := s.views(turns)
	slices.SortStableFunc(views, func(a, b View) int {
		if c := a.Turn.StartedAt.Compare(b.Turn.StartedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Turn.Session, b.Turn.Session)
	})
	return views, bad
}

// views judges as many turns at once as there are processors: each asks the kernel who lives.
func (s *scene) views(turns []*fsstate.Turn) []View {
	views := make([]View, len(turns))
	var judges sync.WaitGroup
	n := min(runtime.GOMAXPROCS(0), len(turns))
	for first := range n {
		judges.Go(func() {
			for i := first; i < len(turns); i += n {
				views[i] = s.view(turns[i])
			}
		})
	}
	judges.Wait()
	return views
}

func (s *scene) view(t *fsstate.Turn) View {
	st := s.judge(t, policy.Auto)
	v := View{
		Turn: t, Home: s.room.Store.Home().Path, Store: storeOf(t),
		Keeper: st.keeper, Owner: st.owner, Facts: st.facts, Decision: policy.Decide(st.facts),
	}
	if w, waits := policy.Waits(st.facts); waits {
		v.Waiting = &w
	}
	return v
}

// Show is the view of one session's open turn, under any of its keys; ErrNoTurn where there is none.
func (r *Room) Show(key string) (View, error) {
	session, err := r.Resolve(key)
	if err != nil {
		return View{}, err
	}
	s := r.look()
	t, err := r.files().Get(session)
	if errors.Is(err, fs.ErrNotExist) {
		if t = s.hermesTurn(session); t == nil {
			return View{}, r.noTurn(session)
		}
	} else if err != nil {
		return View{}, err
	}
	return s.view(t), nil
}

// listLockWait is short: a listing waits for nobody.
const listLockWait = 100 * time.Millisecond

// setAsideListed moves a broken record out of the way that a listing met. Whoever holds its lock is writing it: then
// the next reader sees it whole, or meets it again.
func (r *Room) setAsideListed(err error) {
	corrupt, ok := errors.AsType[*fsstate.CorruptError](err)
	if !ok {
		return
	}
	file := filepath.Base(corrupt.Path)
	ctx, cancel := context.WithTimeout(context.Background(), listLockWait)
	defer cancel()
	unlock, lockErr := r.Store.Lock(ctx, strings.TrimSuffix(file, ".json"), "set aside")
	if lockErr != nil {
		return
	}
	defer unlock()
	if _, err := r.files().Read(fsstate.Turns, file); err == nil {
		return
	}
	if err := r.setAside(file, corrupt); err != nil {
		r.log().Warn("broken record not set aside", "error", err.Error())
	}
}

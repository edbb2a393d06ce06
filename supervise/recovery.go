package supervise

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// orphanLook is how often an agent that lost its keeper is looked at: its leader may be gone while something that it
// started lives, which no handle tells.
const orphanLook = time.Second

// keeper is a keeper that this supervisor started, or one that it watches because it holds a turn: when it ends, the
// turn may have to go on.
type keeper struct {
	home     *home
	session  string
	delivery string // the handoff that it delivers; "": it keeps a turn
	ours     bool   // started by this supervisor, or by one before it
	id       ident.Ident
	child    *process.Child // nil: not our child
}

// attempted is a turn as it stood when a keeper was last started for it: one that stands like this still is not tried
// again before the next rescan.
type attempted struct {
	attempts int
	phase    string
	at       time.Time
}

// recovery is what the loop remembers of the turns between two looks.
type recovery struct {
	tried  map[string]attempted
	next   time.Time // the next point in time at which a look may bring something
	last   time.Time // when the last keeper was started
	gone   chan *keeper
	failed map[string]string // what was said of a file that cannot be read

	orphans map[string]*orphan // agents that have lost their keepers
}

// recoverTurns looks at every turn of every home: it starts a keeper for those that may go on, the oldest first, and watches
// whoever holds the others.
func (l *loop) recoverTurns(ctx context.Context) {
	l.turns.next = time.Time{}
	if l.stopping || l.HandoffsOnly {
		return
	}
	var due []candidate
	for _, h := range l.homes {
		if h.leaving.Load() {
			continue
		}
		views, bad := h.room.List() //nolint:contextcheck // it waits for little, and not for long
		h.busy = len(views) > 0 || len(bad) > 0
		l.followTurns(h, views)
		for _, err := range bad {
			if text := err.Error(); l.turns.failed[h.Path] != text {
				l.turns.failed[h.Path] = text
				l.Log.Warn("turn not read", "error", text)
			}
		}
		for _, v := range views {
			if c, may := l.consider(ctx, h, v); may {
				due = append(due, c)
			}
		}
	}
	slices.SortStableFunc(due, func(a, b candidate) int { return a.view.Turn.StartedAt.Compare(b.view.Turn.StartedAt) })
	for _, c := range due {
		if l.running() >= l.config.MaxConcurrent {
			return // the end of one of them is the next look
		}
		if wait := l.config.Stagger - time.Since(l.turns.last); wait > 0 && !l.turns.last.IsZero() {
			l.lookAt(time.Now().Add(wait))
			return
		}
		l.launchKeeper(ctx, c)
	}
}

type candidate struct {
	home *home
	view turn.View
}

// consider says whether a keeper may be started for a turn now, and arranges the next look where not.
func (l *loop) consider(ctx context.Context, h *home, v turn.View) (candidate, bool) {
	key := h.key(v.Turn.Session)
	if v.Keeper.Verdict == ident.Alive {
		l.watchKeeper(ctx, h, v.Turn)
	}
	if k := l.keepers[key]; k != nil && k.child != nil {
		return candidate{}, false
	}
	if v.Keeper.Verdict == ident.Dead && v.Owner.Verdict == ident.Alive && !v.Turn.Reported() {
		l.lookAt(time.Now().Add(orphanLook))
		l.watchSilence(ctx, h, v)
	} else {
		delete(l.turns.orphans, key)
	}
	switch v.Decision.Action {
	case policy.Wait:
		l.lookAt(v.Decision.At)
		return candidate{}, false
	case policy.Continue, policy.End:
	default:
		return candidate{}, false
	}
	if _, known := l.config.Agents(v.Turn.Agent); !known {
		return candidate{}, false
	}
	if t, again := l.turns.tried[key]; again && t.attempts == v.Turn.Attempts && t.phase == v.Turn.Phase && time.Since(t.at) < rescan {
		l.lookAt(t.at.Add(rescan))
		return candidate{}, false
	}
	return candidate{h, v}, true
}

func (l *loop) lookAt(at time.Time) {
	if !at.IsZero() && (l.turns.next.IsZero() || at.Before(l.turns.next)) {
		l.turns.next = at
	}
}

// running counts the continuations that this supervisor, or one before it, has started.
func (l *loop) running() (n int) {
	for _, k := range l.keepers {
		if k.ours && k.delivery == "" {
			n++
		}
	}
	return n
}

// launchKeeper starts a keeper for a turn, in a session of its own: it outlives our death.
func (l *loop) launchKeeper(ctx context.Context, c candidate) {
	t := c.view.Turn
	key := c.home.key(t.Session)
	l.turns.tried[key] = attempted{t.Attempts, t.Phase, time.Now()}
	child, err := l.startKeeper(c.home, l.Keeper(c.home.Home, t.Session, t.Agent))
	l.turns.last = time.Now()
	if err != nil {
		l.Log.Error("keeper not started", "session", t.Session, "error", err.Error())
		return
	}
	l.Say("turn %.40q: continuing it (%s)", t.Session, c.view.Decision.Reason.Text())
	k := &keeper{home: c.home, session: t.Session, ours: true, child: child, id: ident.Launched(child.PID(), ident.Unlaunched(l.self, ""))}
	l.keepers[key] = k
	go func() {
		<-child.Done()
		l.report(ctx, l.turns.gone, k)
	}()
}

// forget takes a keeper out that has ended, unless another one has its turn by now.
func (l *loop) forget(k *keeper) {
	if key := k.home.key(k.session); l.keepers[key] == k {
		delete(l.keepers, key)
	}
}

// KeeperLog is the output of the keepers of a home, among those of its services: whoever reads ours must not have to
// wait for them when we are gone.
const KeeperLog = "keepers"

func (l *loop) startKeeper(h *home, argv []string) (*process.Child, error) {
	log, err := output.Open(h.store, KeeperLog)
	if err != nil {
		return nil, err
	}
	l.logs.add(h.key(KeeperLog), log, output.DefaultBound)
	stdout, stderr, err := log.Files()
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = stdout.Close(), stderr.Close() }()
	return l.Host.Start(process.Spec{
		Argv: argv, Dir: "/",
		Env: process.ChildEnv(os.Environ(), nil), Stdout: stdout, Stderr: stderr,
	})
}

// watchKeeper notices the death of whoever holds a turn.
func (l *loop) watchKeeper(ctx context.Context, h *home, t *fsstate.Turn) {
	key := h.key(t.Session)
	if _, watched := l.keepers[key]; watched {
		return
	}
	k := &keeper{home: h, session: t.Session, ours: t.ContinuedBy == turn.ByRun && t.Verified, id: t.Keeper}
	l.keepers[key] = k
	go func() {
		_, _, _ = process.AwaitEnd(ctx, k.id, nil) // gone, or not to be watched: the next look tells
		l.report(ctx, l.turns.gone, k)
	}()
}

// stopKeepers tells the keepers that `run` has started to drain, at once the second time, and leaves those that a person
// started alone.
func (l *loop) stopKeepers() {
	for key, k := range l.keepers {
		if !k.ours {
			delete(l.keepers, key)
			continue
		}
		var err error
		if k.child != nil {
			err = k.child.Signal(syscall.SIGTERM)
		} else if process.Name(k.id.PID) == process.Name(os.Getpid()) {
			err = process.Tree{Leader: k.id}.Signal(syscall.SIGTERM)
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			l.Log.Warn("keeper not stopped", "session", k.session, "error", err.Error())
		}
	}
}

package supervise

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/follow"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
)

// rescan is between two looks at everything. Only a test changes it, before the only Run of its process.
var rescan = 30 * time.Second

const (
	unwatchedPoll = time.Second     // where a folder cannot be watched
	settledAfter  = 2 * time.Second // without a transition
	diskAtOnce    = 2               // transitions that are being written at the same time: each may block a thread
)

// Supervisor is one `run`.
type Supervisor struct {
	Root      fsstate.Home // its profiles are served too, unless it is one itself
	Key       []byte
	Options   fsstate.Options
	Host      *process.Host
	Config    Config
	Reload    func() (Config, error)                                     // nil: there is nothing to read again
	Keeper    func(home fsstate.Home, key string, agent string) []string // argv of a keeper that continues a turn
	Deliverer func(home fsstate.Home, id string) []string                // argv of a keeper that delivers a handoff
	// HandoffsOnly leaves services and turns alone (`handoff watch`).
	HandoffsOnly bool
	Orders       <-chan Order
	Log          *slog.Logger
	Moved        func(fsstate.Home, service.Spec, phase.State) // a service changed its phase
	Say          func(format string, args ...any)
	Foreground   *Foreground   // nil: the run goes on when its services have ended
	Up           func()        // everything that was to be started has been started, unless nothing of it was ours to start
	Ready        func()        // and each of these services has become ready, or rests as it is meant to; once, from any goroutine
	Heartbeat    time.Duration // of Alive, 0: never
	Alive        func()        // the loop turns; without regard to Heartbeat also each time that a home has been opened
	Stopping     func()        // an ordered stop has begun
	Version      string        // of the program, for the metrics
}

// loop is one Run of a Supervisor: what only its goroutine touches.
type loop struct {
	*Supervisor

	self                         ident.Ident
	gate                         chan struct{}
	tagged                       *memo[ident.Tagged]
	logs                         *logSweep
	wake                         chan struct{}
	stir                         chan struct{} // some service has changed its phase
	found                        chan struct{} // some service is ours
	stopPrinting                 context.CancelFunc
	printed                      chan struct{}    // closed when the foreground service's output has been copied
	given                        atomic.Int64     // pieces of it
	over                         chan phase.Exit  // the foreground service has ended for good
	homes                        map[string]*home // by path
	ended                        chan ended       // runners that have returned
	refused                      map[string]error // services that another supervisor runs, by home and name
	keepers                      map[string]*keeper
	turns                        recovery
	deliveries                   deliveries
	named                        fsstate.Info                    // supervisor.json as it names this process; zero: it does not
	follower                     atomic.Pointer[follow.Follower] // nil: nothing is followed; runners tell it too
	profiles                     time.Time                       // when the folder of profiles was changed, as seen at the last rescan
	rootWatched, profilesWatched bool
	lost                         uint64 // watches that had ended by themselves when they were last set again
	stopping                     bool
	ordered                      bool // which somebody has told us to
	startup                      startup
	watched                      bool // every folder that matters is watched
	config                       Config
}

// ended is the end of a runner.
type ended struct {
	home *home
	name string
	err  error
}

// Run supervises until an ordered stop has been carried out. The error says why it could not begin, or names the first
// service that another supervisor runs when nothing is left for this one.
func (s *Supervisor) Run(ctx context.Context) error {
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop{
		Supervisor: s, self: self, config: s.Config, gate: make(chan struct{}, diskAtOnce), tagged: &memo[ident.Tagged]{look: ident.ScanTagged}, logs: newLogSweep(s.Log),
		wake: make(chan struct{}, 1), stir: make(chan struct{}, 1), found: make(chan struct{}, 1), over: make(chan phase.Exit, 1), homes: map[string]*home{}, ended: make(chan ended, 16), refused: map[string]error{}, keepers: map[string]*keeper{},
		turns:      recovery{tried: map[string]attempted{}, gone: make(chan *keeper, 16), failed: map[string]string{}, orphans: map[string]*orphan{}},
		deliveries: deliveries{wake: make(chan struct{}, 1), gone: make(chan *keeper, 16)},
	}
	reaping := make(chan struct{})
	go func() { defer close(reaping); _ = s.Host.Run(ctx) }()
	defer func() { cancel(); <-reaping }()
	l.stopPrinting, l.printed = func() {}, make(chan struct{})
	close(l.printed)
	go l.logs.run(ctx)
	defer l.close()
	defer func() { l.follower.Load().Stop() }()
	defer l.endPrinting()
	if err := l.openHomes(ctx); err != nil {
		return err
	}
	l.beat()
	l.recoverTurns(ctx)
	l.handOver(ctx)
	l.tellUp(l.startup.all())
	return l.serve(ctx)
}

// serve is the loop itself.
func (l *loop) serve(ctx context.Context) error {
	tick := time.NewTicker(l.interval())
	defer tick.Stop()
	alive := time.NewTicker(max(l.Heartbeat, time.Second))
	defer alive.Stop()
	if l.Heartbeat == 0 {
		alive.Stop()
	}
	retry := time.NewTimer(time.Hour)
	retry.Stop()
	defer retry.Stop()
	look := time.NewTimer(time.Hour)
	look.Stop()
	defer look.Stop()
	settled := time.NewTimer(settledAfter)
	defer settled.Stop()
	started := false
	for !l.done() {
		if !started && !l.stopping && l.startup.taken() { // not before: a second run of the same home would be up, and end
			if started = true; l.Up != nil {
				l.Up()
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case sig := <-l.passedOn():
			l.passOn(ctx, sig)
		case o := <-l.Orders:
			l.ordered = l.ordered || o != OrderReload
			l.obey(ctx, o)
		case e := <-l.ended:
			l.retire(e)
			if err := l.refusal(); err != nil && l.idle() {
				return err
			}
		case <-alive.C:
			l.Alive()
		case exit := <-l.over:
			if l.services() == 1 && len(l.keepers) == 0 && !l.stopping { // nothing but it
				l.Foreground.Exit = &exit
				l.obey(ctx, OrderStop)
			}
		case <-l.found: // looked at above
		case <-l.stir:
			settled.Reset(settledAfter)
		case <-settled.C:
			process.GiveBackMemory()
		case <-tick.C:
			l.rescan(ctx)
			tick.Reset(l.interval())
		case <-retry.C:
			l.recoverTurns(ctx)
		case k := <-l.turns.gone:
			l.forget(k)
			l.recoverTurns(ctx)
		case k := <-l.deliveries.gone:
			l.delivered(k)
			l.handOver(ctx)
		case <-l.deliveries.wake:
			l.handOver(ctx)
		case <-look.C:
			l.handOver(ctx)
		case <-l.wake:
			l.lookForProfiles(ctx)
			l.takeOrders(ctx)
			l.recoverTurns(ctx)
			if l.handing() { // an open turn may have held one back
				l.handOver(ctx)
			}
		}
		if l.watchAgain() {
			tick.Reset(l.interval())
		}
		if at := l.turns.next; !at.IsZero() {
			retry.Reset(max(time.Until(at), 0))
		}
		if at := l.deliveries.next; !at.IsZero() {
			look.Reset(max(time.Until(at), 0))
		}
	}
	return nil
}

// done tells that an ordered stop has been carried out.
func (l *loop) done() bool { return l.stopping && l.idle() }

// idle tells that nothing is left to supervise.
func (l *loop) idle() bool { return l.services() == 0 && len(l.keepers) == 0 }

// services counts those that are run here.
func (l *loop) services() (n int) {
	for _, h := range l.homes {
		n += len(h.runners)
	}
	return n
}

func (l *loop) interval() time.Duration {
	if l.watched {
		return rescan
	}
	return unwatchedPoll
}

// retire takes an ended runner out. A service that somebody else runs is said once, and taken at a later rescan if that
// one has died by then.
func (l *loop) retire(e ended) {
	delete(e.home.runners, e.name)
	if l.inForeground(e.home, e.name) {
		l.stopPrinting() // a later begin prints anew
	}
	l.follower.Load().Service(e.home.Home, e.name, "")
	l.letGo(e.home)
	key := e.home.key(e.name)
	said := l.refused[key] != nil
	delete(l.refused, key)
	l.tellUp(l.startup.drop(key))
	if _, taken := errors.AsType[*service.TakenError](e.err); taken {
		l.refused[key] = e.err
		if said || l.idle() {
			return // it is what Run returns then
		}
	}
	if e.err != nil && !errors.Is(e.err, context.Canceled) {
		l.Log.Error("service not supervised", "service", e.name, "error", e.err.Error())
	}
}

// refusal is why configured services are not run here: another supervisor runs them.
func (l *loop) refusal() (err error) {
	for _, h := range l.homes {
		for _, spec := range h.specs {
			err = errors.Join(err, l.refused[h.key(spec.Name)])
		}
	}
	return err
}

// close leaves everything as it is: only an ordered stop ends something. Our witness goes where no record names us.
func (l *loop) close() {
	for _, h := range l.homes {
		if l.stopping && len(h.runners) == 0 {
			if h.Path == l.Root.Path && !l.HandoffsOnly {
				_ = h.store.DropSupervisor(l.self.Instance)
			}
			_ = h.store.Discard(fsstate.Run, l.self.Instance+".in")
		}
		h.desk.Close()
		_ = h.store.Close()
	}
}

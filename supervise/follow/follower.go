package follow

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// Config is what the configuration says.
type Config struct {
	Textfile string // path of the file of metrics; "": none
	Notify   Notify
}

// Notify is the command that is told events.
type Notify struct {
	Command []string // empty: nobody is told
	Events  []string // of Events
	Rate    int      // at most so many in a minute
	Timeout time.Duration
	Unset   []string // variables that it does not get, beside those of ours and of the service manager
}

// Wanted tells whether there is anything to follow for.
func (c Config) Wanted() bool { return c.Textfile != "" || len(c.Notify.Command) > 0 }

// Follower follows the homes of one supervisor. Its methods cost the caller no wait, and do nothing where it is nil.
type Follower struct {
	Host    *process.Host
	Self    ident.Ident
	Store   *fsstate.Store // of the root home, where the state lies
	Key     []byte         // of the seal of what it has started; without it, nobody ends a command that outlives us
	Log     *slog.Logger
	Version string

	mu     sync.Mutex
	config Config
	homes  map[string]*served // by path
	wake   chan struct{}
	ticked bool // the file is to be written although nothing has changed

	stop  chan struct{}
	ended chan struct{}
	kill  context.CancelFunc
}

// served is what the loop has said of a home.
type served struct {
	gauges

	home  fsstate.Home
	store *fsstate.Store
	known map[string]bool // services that have been run here since the start: what they did last is read after they ended
}

// lease is what one supervisor of a root home holds while it follows.
const lease = "follow"

// pace is the least time between two looks, so that a flood of events costs little.
const pace = 200 * time.Millisecond

// Start begins to follow, in goroutines of its own, until Stop.
func (f *Follower) Start(ctx context.Context, c Config) {
	f.config, f.homes = c, map[string]*served{}
	f.wake, f.stop, f.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	ctx, f.kill = context.WithCancel(context.WithoutCancel(ctx))
	since := time.Now() // what happens from here on is told, whenever the first look is
	go func() {
		defer close(f.ended)
		f.run(ctx, since)
	}()
}

// How long an ordered stop waits for a command that runs, and then for everything.
const (
	stopPatience = 2 * time.Second
	stopLimit    = 4 * time.Second
)

// Stop ends following: what has happened is counted, a command that runs may finish for two seconds, and what is pending
// waits for the next supervisor. It returns after four at most, whatever hangs.
func (f *Follower) Stop() {
	if f == nil {
		return
	}
	close(f.stop)
	patience := time.AfterFunc(stopPatience, f.kill)
	defer patience.Stop()
	select {
	case <-f.ended:
	case <-time.After(stopLimit):
		f.Log.Warn("metrics and notices not finished")
	}
	f.kill()
}

// Configure gives it another configuration.
func (f *Follower) Configure(c Config) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.config, f.ticked = c, true
	f.mu.Unlock()
	f.nudge()
}

// Serve says that a home is served, and which services are to be run there: what they did last is read at once. A change
// of its journal wakes the follower, where that can be had; Tick does anyway.
func (f *Follower) Serve(store *fsstate.Store, services []string) {
	if f == nil {
		return
	}
	h, known := store.Home(), map[string]bool{}
	for _, name := range services {
		known[name] = true
	}
	f.mu.Lock()
	f.homes[h.Path] = &served{home: h, store: store, known: known, gauges: gauges{profile: h.Profile, services: map[string]string{}}}
	f.mu.Unlock()
	f.watch(store)
	f.nudge()
}

func (f *Follower) watch(store *fsstate.Store) {
	f.Host.Watch().Add(store.Path("", ""), fsstate.JournalFile, f.wake)
}

// Leave says that a home is served no more.
func (f *Follower) Leave(store *fsstate.Store) {
	if f == nil {
		return
	}
	f.Host.Watch().Remove(store.Path("", ""), f.wake)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.homes, store.Home().Path)
}

// Service says in which phase a service is; "": it is not run here any more.
func (f *Follower) Service(home fsstate.Home, name, phase string) {
	f.change(home, func(h *served) {
		if h.services[name] = phase; phase == "" {
			delete(h.services, name)
			return
		}
		h.known[name] = true
	})
}

// Turns says how many turns are open in a home, by phase.
func (f *Follower) Turns(home fsstate.Home, open map[string]int) {
	f.change(home, func(h *served) { h.turns = open })
}

// Handoffs says how many handoffs are open in a home, by state.
func (f *Follower) Handoffs(home fsstate.Home, open map[string]int) {
	f.change(home, func(h *served) { h.handoffs = open })
}

// change changes what is known of a home. It wakes nobody: what changes is journalled, which does.
func (f *Follower) change(home fsstate.Home, change func(h *served)) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.homes[home.Path]; h != nil {
		change(h)
	}
}

// Tick is the rescan: everything is looked at, and the file of metrics written.
func (f *Follower) Tick() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.ticked = true
	stores := make([]*fsstate.Store, 0, len(f.homes))
	for _, h := range f.homes {
		stores = append(stores, h.store)
	}
	f.mu.Unlock()
	for _, store := range stores {
		f.watch(store)
	}
	f.nudge()
}

func (f *Follower) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// look is what one look works with.
type look struct {
	config Config
	homes  []served
	tick   bool
}

func (f *Follower) snapshot() look {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := look{config: f.config, tick: f.ticked}
	f.ticked = false
	for _, path := range slices.Sorted(maps.Keys(f.homes)) {
		h := *f.homes[path]
		h.services, h.known = maps.Clone(h.services), maps.Clone(h.known)
		l.homes = append(l.homes, h)
	}
	return l
}

// run is the follower's own goroutine. Only it touches the session.
func (f *Follower) run(ctx context.Context, since time.Time) {
	s := &session{Follower: f, said: map[string]string{}, since: since}
	defer s.close()
	next := time.NewTimer(0)
	defer next.Stop()
	due := true
	for {
		select {
		case <-f.stop:
			s.finish(ctx)
			return
		case <-f.wake:
			if !due {
				due = true
				next.Reset(pace)
			}
		case <-next.C:
			due = false
			s.look(ctx, true)
		case err := <-s.over:
			s.told(err)
			s.look(ctx, true)
		}
	}
}

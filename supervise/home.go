package supervise

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

// home is one home that is served.
type home struct {
	fsstate.Home

	store     *fsstate.Store
	witness   *os.File // held for as long as this process lives: what our records name
	room      *turn.Room
	orders    fsstate.OrderFiles
	instances *memo[map[string][]string] // by service
	specs     []service.Spec             // as configured for it
	runners   map[string]*running
	watched   bool        // its folders wake the loop
	leaving   atomic.Bool // its profile was deleted
	swept     time.Time
	seen      times // at the last rescan
	desk      *handoff.Desk
	handing   bool // it had open handoffs at the last look
	busy      bool // it had open turns at the last look
}

// key names a service or a session among those of all homes.
func (h *home) key(name string) string { return h.Path + "\x00" + name }

// sweepEvery is how often what nobody needs any more is removed from a home.
const sweepEvery = time.Hour

// running is one service of a home.
type running struct {
	*service.Runner

	spec  service.Spec // as last given to it
	phase atomic.Int64 // as last told
}

// openHomes opens the root home, without which there is nothing, and every profile.
func (l *loop) openHomes(ctx context.Context) error {
	if err := l.openHome(ctx, l.Root); err != nil {
		return err
	}
	if l.Root.Profile == "" {
		l.lookForProfiles(ctx)
	}
	l.watchHomes()
	return nil
}

func (l *loop) openHome(ctx context.Context, at fsstate.Home) error {
	store, err := fsstate.Open(at, l.Options)
	if err != nil {
		return err
	}
	witness, err := store.NewWitness(l.self.Instance, nil)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	h := &home{
		Home: at, store: store, witness: witness, runners: map[string]*running{},
		orders: fsstate.OrderFiles{Store: store, Key: l.Key},
		room:   &turn.Room{Store: store, Key: l.Key, Settings: l.config.Turns, Agents: l.config.Agents, Log: l.Log},
	}
	h.desk = l.newDesk(h)
	l.homes[at.Path] = h
	h.instances = &memo[map[string][]string]{look: func() (map[string][]string, error) { return service.Instances(store) }}
	if !l.HandoffsOnly {
		if h.specs, err = l.config.Services(at); err != nil {
			return err
		}
	}
	if at.Path == l.Root.Path {
		l.follow(ctx, store)
	}
	names := make([]string, len(h.specs))
	for i, spec := range h.specs {
		names[i] = spec.Name
	}
	l.follower.Load().Serve(store, names)
	for _, spec := range h.specs {
		l.begin(ctx, h, spec)
	}
	h.sweep(ctx, l.config.Handoffs.Retention)
	h.seen = h.look()
	if l.Alive != nil { // a start, or a look at hundreds of new profiles, gets on
		l.Alive()
	}
	return nil
}

// begin runs a service, unless it is run already.
func (l *loop) begin(ctx context.Context, h *home, spec service.Spec) {
	if _, runs := h.runners[spec.Name]; runs || l.stopping || h.leaving.Load() {
		return
	}
	log, err := output.Open(h.store, spec.Name)
	if err != nil {
		l.Log.Error("service not supervised", "service", spec.Name, "error", err.Error())
		return
	}
	foreground := l.inForeground(h, spec.Name)
	if foreground && l.Foreground.Emit != nil {
		l.print(ctx, log)
	}
	r := &running{spec: spec}
	shared := service.Shared{
		Files: fsstate.ServiceFiles{Store: h.store, Key: l.Key}, Host: l.Host, Supervisor: l.self, Gate: l.gate,
		Tagged: l.tagged.get, Instances: h.instances.get, Log: l.Log,
		Stopping: func(spec service.Spec, backend ident.Ident) { l.shelter(ctx, h, spec, backend) },
		Found: func(spec service.Spec, s phase.State) {
			l.startup.take(h.key(spec.Name))
			nudge(l.found)
			l.tellUp(l.startup.at(h.key(spec.Name), s.Phase))
		},
		Moved: func(spec service.Spec, s phase.State) {
			l.moved(h, spec, s)
			l.tellUp(l.startup.at(h.key(spec.Name), s.Phase))
			if r.phase.Store(int64(s.Phase)); h.leaving.Load() {
				go r.giveUp(ctx)
			}
		},
	}
	r.Runner = service.New(shared, log)
	h.runners[spec.Name] = r
	l.startup.add(h.key(spec.Name))
	l.followService(h, r)
	l.logs.add(h.key(spec.Name), log, spec.LogBound)
	r.Wanted = foreground
	go func() {
		err := r.Run(ctx, spec)
		l.logs.remove(h.key(spec.Name))
		select {
		case l.ended <- ended{home: h, name: spec.Name, err: err}:
		case <-ctx.Done():
		}
	}()
}

// shelterWait bounds what a stop waits for the records of the turns that it cuts.
const shelterWait = 2 * time.Second

// shelter records the turns that run in a service of Hermes's which is about to be stopped.
func (l *loop) shelter(ctx context.Context, h *home, spec service.Spec, backend ident.Ident) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shelterWait)
	defer cancel()
	room := &turn.Room{Store: h.store, Key: l.Key, Log: l.Log} // that of the home is the loop's
	if err := room.Shelter(ctx, backend); err != nil {
		l.Log.Warn("turns of a service that is stopped are not recorded", "service", spec.Name, "error", err.Error())
	}
}

// moved journals a change of phase and passes it on.
func (l *loop) moved(h *home, spec service.Spec, s phase.State) {
	l.follower.Load().Service(h.Home, spec.Name, s.Phase.String())
	e := fsstate.Event{Time: time.Now(), Kind: "service", Service: spec.Name, To: s.Phase.String(), Reason: string(s.Reason)}
	if s.Last != nil && s.Last.Observed && s.Phase != phase.Running && (s.Phase != phase.Starting || s.Reason == phase.ReasonRestarted) {
		e.Code, e.Signal = &s.Last.Code, s.Last.Signal
	}
	if err := h.store.Journal(e); err != nil {
		l.Log.Warn("journal not written", "error", err.Error())
	}
	nudge(l.stir)
	if spec.HoldsTurns && s.Phase == phase.Running {
		l.wakeUp()
	}
	if l.inForeground(h, spec.Name) && s.Ended() {
		select {
		case l.over <- *s.Last:
		default:
		}
	}
	if l.Moved != nil {
		l.Moved(h.Home, spec, s)
	}
}

// leaveHome stops what runs for a profile that was deleted.
func (l *loop) leaveHome(ctx context.Context, h *home) {
	if !h.leaving.Swap(true) {
		l.Say("profile %s is gone: stopping its services", h.Profile)
		for _, r := range h.runners {
			go func() { _ = r.Shutdown(ctx); r.giveUp(ctx) }()
		}
	}
	l.letGo(h)
}

// giveUp lets a runner end whose service is down: the record that it would wait for is gone with its home.
func (r *running) giveUp(ctx context.Context) {
	if !phase.Phase(r.phase.Load()).Live() {
		_ = r.Kill(ctx)
	}
}

// letGo closes a home that is left when nothing runs in it any more. A profile may have the same name by now.
func (l *loop) letGo(h *home) {
	if !h.leaving.Load() || len(h.runners) > 0 {
		return
	}
	delete(l.homes, h.Path)
	l.logs.remove(h.key(KeeperLog))
	for _, folder := range wakingFolders {
		l.Host.Watch().Remove(h.store.Path(folder, ""), l.wake)
	}
	l.Host.Watch().Remove(h.store.Path(fsstate.Handoffs, ""), l.deliveries.wake)
	h.desk.Close()
	l.follower.Load().Leave(h.store)
	_ = h.store.Discard(fsstate.Run, l.self.Instance+".in") // were the folder put back, the name would be taken
	_ = errors.Join(h.witness.Close(), h.store.Close())
	l.profiles = time.Time{}
	l.wakeUp()
}

// shutdown tells every runner of a home to stop; they answer by returning.
func (l *loop) shutdown(ctx context.Context, h *home) {
	for _, r := range h.runners {
		go func() { _ = r.Shutdown(ctx) }()
	}
}

package supervise

import (
	"context"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
)

// deliveries is what the loop remembers of the handoffs of all homes.
type deliveries struct {
	wake chan struct{} // a handoff has changed
	gone chan *keeper
	next time.Time // when a look may bring something although nothing wakes it
}

// newDesk is the dispatcher of one home.
func (l *loop) newDesk(h *home) *handoff.Desk {
	return &handoff.Desk{Queue: &handoff.Queue{
		Files: fsstate.HandoffFiles{Store: h.store, Key: l.Key}, Room: h.room, Log: l.Log,
		Platform: func(name string) (handoff.Platform, error) { return l.config.Handoffs.Platform(name) },
	}}
}

// handOver looks at the handoffs of every home, and starts a keeper for each one that is due.
func (l *loop) handOver(ctx context.Context) {
	l.deliveries.next = time.Time{}
	if l.stopping || l.config.Handoffs.Platform == nil {
		return
	}
	for _, h := range l.homes {
		if h.leaving.Load() {
			continue
		}
		plan := h.desk.Look(ctx, time.Now(), l.config.Handoffs.MaxConcurrent)
		h.handing = plan.Busy
		l.followHandoffs(h)
		for _, c := range plan.Watch {
			l.watchDelivery(ctx, h, c)
		}
		for _, s := range plan.Start {
			l.deliver(ctx, h, s)
		}
		if at := plan.Next; !at.IsZero() && (l.deliveries.next.IsZero() || at.Before(l.deliveries.next)) {
			l.deliveries.next = at
		}
	}
}

// deliveryKey names a delivery among the keepers of all homes; no session has a key like it.
func (h *home) deliveryKey(id string) string { return h.key("\x00" + id) }

// deliver starts the keeper of a delivery, in a session of its own: it outlives our death.
func (l *loop) deliver(ctx context.Context, h *home, s handoff.Start) {
	h.desk.Started(s.ID)
	child, err := l.startKeeper(h, l.Deliverer(h.Home, s.ID))
	if err != nil {
		h.desk.Ended(s.ID, false, time.Now())
		l.Log.Error("delivery not started", "handoff", s.ID, "session", s.Session, "error", err.Error())
		return
	}
	l.Say("handoff of session %.40q to %s: delivering it", s.Session, s.Platform)
	k := &keeper{home: h, session: s.Session, delivery: s.ID, ours: true, child: child, id: ident.Launched(child.PID(), ident.Unlaunched(l.self, ""))}
	l.keepers[h.deliveryKey(s.ID)] = k
	go func() {
		<-child.Done()
		l.report(ctx, l.deliveries.gone, k)
	}()
}

// watchDelivery notices the death of whoever delivers a handoff.
func (l *loop) watchDelivery(ctx context.Context, h *home, c handoff.Claimed) {
	key := h.deliveryKey(c.ID)
	if _, watched := l.keepers[key]; watched {
		return
	}
	k := &keeper{home: h, delivery: c.ID, ours: c.Claim.By == handoff.ByRun, id: c.Claim.Claimer}
	l.keepers[key] = k
	go func() {
		_, _, _ = process.AwaitEnd(ctx, k.id, nil) // gone, or not to be watched: the next look tells
		l.report(ctx, l.deliveries.gone, k)
	}()
}

// report hands the end of a keeper to the loop.
func (l *loop) report(ctx context.Context, to chan<- *keeper, k *keeper) {
	select {
	case to <- k:
	case <-ctx.Done():
	}
}

// delivered takes the keeper of a delivery out that has ended.
func (l *loop) delivered(k *keeper) {
	if key := k.home.deliveryKey(k.delivery); l.keepers[key] == k {
		delete(l.keepers, key)
	}
	refused := k.child != nil && k.child.Exit().Code == handoff.RefusedCode
	k.home.desk.Ended(k.delivery, refused, time.Now())
}

// handing tells whether some home has an open handoff.
func (l *loop) handing() bool {
	for _, h := range l.homes {
		if h.handing {
			return true
		}
	}
	return false
}

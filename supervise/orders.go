package supervise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/service"
)

// The operations of an order.
const (
	OpStart   = "start"
	OpStop    = "stop"
	OpRestart = "restart"
	OpSignal  = "signal"
	OpReload  = "reload" // read the configuration again, restart nothing
	OpApply   = "apply"  // the same, and restart what was launched with something else
)

// OrderLife is how long an order may wait for its supervisor.
const OrderLife = 60 * time.Second

// takeOrders carries out what lies in requests/ of every home. Whoever only hands over gets no orders, and leaves those of
// the run beside it alone.
func (l *loop) takeOrders(ctx context.Context) {
	if l.HandoffsOnly {
		return
	}
	for _, h := range l.homes {
		ids, err := h.orders.Pending()
		if err != nil {
			continue // the folder is gone with its profile
		}
		for _, id := range ids {
			o, err := h.orders.Take(id)
			if err != nil {
				l.Log.Warn("order not read", "order", id, "error", err.Error())
				continue
			}
			l.dispatch(ctx, h, o)
		}
	}
}

// dispatch answers an order. One that is not for us is dropped without a word: its supervisor is gone, and whoever gave
// it sees that.
func (l *loop) dispatch(ctx context.Context, h *home, o *fsstate.Order) {
	age := time.Since(o.At)
	switch {
	case o.Supervisor != l.self.Instance:
		return
	case !o.Verified && len(l.Key) > 0:
		l.Log.Warn("order refused: it does not verify", "order", o.ID)
		return
	case age > OrderLife || age < -OrderLife:
		l.Log.Warn("order refused: it has expired", "order", o.ID, "age", age.String())
		return
	}
	switch o.Op {
	case OpReload, OpApply:
		l.answer(h, o, l.reload(ctx, o.Op == OpApply))
		return
	}
	r, known := h.runners[o.Service]
	if !known {
		l.answer(h, o, fmt.Errorf("service %q: not run in %s", o.Service, h.Path))
		return
	}
	go func() { // the order waits for the disk, the loop for nobody
		var err error
		switch o.Op {
		case OpStart:
			err = r.Start(ctx)
		case OpStop:
			err = r.Stop(ctx)
		case OpRestart:
			err = r.Restart(ctx)
		case OpSignal:
			err = r.Signal(ctx, syscall.Signal(o.Signal))
		default:
			err = fmt.Errorf("order %q is not known to this version", o.Op)
		}
		l.answer(h, o, err)
	}()
}

func (l *loop) answer(h *home, o *fsstate.Order, err error) {
	a := &fsstate.Answer{ID: o.ID, At: time.Now().UTC()}
	if err != nil {
		a.Error = err.Error()
		a.Code = 1
		if errors.Is(err, service.ErrNotRunning) {
			a.Code = 75
		}
	}
	if err := h.orders.PutAnswer(a); err != nil {
		l.Log.Warn("order not answered", "order", o.ID, "error", err.Error())
	}
}

// reload reads the configuration again and makes what runs follow it; restart says whether what was launched with
// something else is restarted as well.
func (l *loop) reload(ctx context.Context, restart bool) error {
	if l.Reload == nil {
		return errors.New("there is no configuration file to read again")
	}
	config, err := l.Reload()
	if err != nil {
		return err
	}
	plans, wanted := map[*home][]Change{}, map[*home][]service.Spec{}
	for _, h := range l.homes { // all of it can be, or nothing of it is
		if l.HandoffsOnly {
			break
		}
		specs, err := config.Services(h.Home)
		if err != nil {
			return err
		}
		records, _ := (fsstate.ServiceFiles{Store: h.store, Key: l.Key}).All()
		now := map[string]service.Spec{}
		for name, r := range h.runners {
			now[name] = r.spec
		}
		plans[h] = Plan(specs, records, now)
		wanted[h] = specs
	}
	l.config = config
	l.refollow(ctx)
	var done []string
	for h, plan := range plans {
		h.room.Settings, h.room.Agents, h.specs = config.Turns, config.Agents, wanted[h]
		for _, c := range plan {
			l.change(ctx, h, c, restart)
			if c.Step != StepKeep {
				done = append(done, fmt.Sprintf("%s %s", c.Step, c.Service))
			}
		}
	}
	nudge(l.deliveries.wake) // what was held may be served now
	l.Say("configuration read again; services: %s", orNothing(strings.Join(done, ", ")))
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing changes"
	}
	return s
}

func (l *loop) change(ctx context.Context, h *home, c Change, restart bool) {
	r := h.runners[c.Service]
	switch c.Step {
	case StepStart:
		l.begin(ctx, h, c.spec)
	case StepStop:
		go func() { _ = r.Shutdown(ctx) }()
	case StepUpdate, StepRestart:
		r.spec = c.spec
		l.logs.add(h.key(c.Service), r.Output, c.spec.LogBound)
		go func() {
			if err := r.Apply(ctx, c.spec); err == nil && restart && c.Step == StepRestart {
				_ = r.Restart(ctx)
			}
		}()
	case StepKeep:
	}
}

// obey carries out what a signal says.
func (l *loop) obey(ctx context.Context, o Order) {
	switch {
	case o == OrderReload:
		if err := l.reload(ctx, false); err != nil {
			l.Log.Error("configuration not read again", "error", err.Error())
		}
	case o == OrderLeave && l.stopping:
	case !l.stopping:
		l.stopping = true
		l.startup.end() // what rests from now on is not what was meant to
		if l.Stopping != nil {
			l.Stopping()
		}
		for _, h := range l.homes {
			l.shutdown(ctx, h)
		}
		l.stopKeepers()
		if n := len(l.keepers); n > 0 {
			l.Say("waiting for %d continued turns and deliveries, which may finish for a while; once more stops them at once", n)
		}
	default:
		l.Say("killing what is left")
		for _, h := range l.homes {
			for _, r := range h.runners {
				go func() { _ = r.Kill(ctx) }()
			}
		}
		l.stopKeepers()
	}
}

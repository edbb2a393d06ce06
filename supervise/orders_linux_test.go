package supervise

import (
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
)

func TestOrdersThatAreNotForUsDoNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc")
	w.run()
	pid := w.stands("svc", phase.Running)
	ours, theirs := w.instance("svc"), ident.NewInstance()
	now := time.Now()
	for name, o := range map[string]struct {
		key   []byte
		order fsstate.Order
	}{
		"sealed with another key":    {[]byte("another key"), fsstate.Order{Supervisor: ours, At: now}},
		"not sealed":                 {nil, fsstate.Order{Supervisor: ours, At: now}},
		"for another supervisor":     {w.Key, fsstate.Order{Supervisor: theirs, At: now}},
		"for no supervisor":          {w.Key, fsstate.Order{At: now}},
		"given two minutes ago":      {w.Key, fsstate.Order{Supervisor: ours, At: now.Add(-2 * time.Minute)}},
		"given two minutes from now": {w.Key, fsstate.Order{Supervisor: ours, At: now.Add(2 * time.Minute)}},
		"given at no time":           {w.Key, fsstate.Order{Supervisor: ours}},
	} {
		o.order.Op, o.order.Service = OpStop, "svc"
		id := w.order(w.store, o.key, o.order)
		w.taken(w.store)
		w.fence("svc")
		if a, err := (fsstate.OrderFiles{Store: w.store, Key: w.Key}).Answer(id); a != nil || err != nil {
			t.Errorf("%s: answered with %+v, %v", name, a, err)
		}
		rec, s := w.record("svc")
		if s.Phase != phase.Running || s.Epoch != 0 || rec.Process.PID != pid {
			t.Fatalf("%s: %s, order %d, pid %d and not %d", name, s.Phase, s.Epoch, rec.Process.PID, pid)
		}
	}
}

func TestAnOrderThatCannotBeCarriedOutIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc")
	w.run()
	pid := w.stands("svc", phase.Running)
	for _, c := range []struct{ op, name, says string }{
		{OpStop, "unknown", `service "unknown": not run in ` + w.Home.Path},
		{"explode", "svc", `order "explode" is not known`},
		{"", "svc", `order "" is not known`},
	} {
		a := w.answer(w.store, w.ask(c.op, c.name, "svc"))
		if !a.Verified || a.Code != 1 || !strings.Contains(a.Error, c.says) {
			t.Errorf("%q %s: answered with %+v", c.op, c.name, a)
		}
	}
	w.fence("svc")
	if rec, s := w.record("svc"); s.Phase != phase.Running || s.Epoch != 0 || rec.Process.PID != pid {
		t.Errorf("svc is %s, order %d, pid %d and not %d", s.Phase, s.Epoch, rec.Process.PID, pid)
	}
}

func TestAStopIsCarriedOutAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc", "other")
	w.run()
	w.stands("svc", phase.Running)
	other := w.stands("other", phase.Running)
	if a := w.answer(w.store, w.ask(OpStop, "svc", "svc")); !a.Verified || a.Error != "" || a.Code != 0 {
		t.Errorf("answered with %+v", a)
	}
	w.stands("svc", phase.Stopped)
	if n := w.noted(w.Home, "svc", "end"); n != 1 {
		t.Errorf("it was told to end %d times", n)
	}
	if pid := w.stands("other", phase.Running); pid != other {
		t.Errorf("the other service is pid %d, not %d", pid, other)
	}
	if a := w.answer(w.store, w.ask(OpSignal, "svc", "svc")); a.Code != 75 {
		t.Errorf("a signal to what is stopped is answered with %+v", a)
	}
	if a := w.answer(w.store, w.ask(OpStart, "svc", "svc")); a.Error != "" {
		t.Errorf("answered with %+v", a)
	}
	w.stands("svc", phase.Running)
}

func TestTwoOrdersAtOnceAreBothCarriedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one", "two")
	w.run()
	w.stands("one", phase.Running)
	w.stands("two", phase.Running)
	one, two := w.ask(OpStop, "one", "one"), w.ask(OpRestart, "two", "one")
	for _, id := range []string{one, two} {
		if a := w.answer(w.store, id); !a.Verified || a.Error != "" {
			t.Errorf("answered with %+v", a)
		}
	}
	w.stands("one", phase.Stopped)
	w.until("two was started twice", func() bool { return w.noted(w.Home, "two", "start") == 2 })
	w.stands("two", phase.Running)
	if n := w.noted(w.Home, "one", "start"); n != 1 {
		t.Errorf("one was started %d times", n)
	}
}

// taken waits until no order waits for its supervisor.
func (w *world) taken(store *fsstate.Store) {
	w.t.Helper()
	w.within(soon, "the order has been taken", func() bool {
		ids, err := (fsstate.OrderFiles{Store: store, Key: w.Key}).Pending()
		return err == nil && len(ids) == 0
	})
}

// fence waits until what was ordered of a service before has begun: the loop has come to a later order, and its runner
// to a later one.
func (w *world) fence(name string) {
	w.t.Helper()
	for range 2 {
		if a := w.answer(w.store, w.ask(OpSignal, name, name)); a.Error != "" { // signal 0 asks whether it lives
			w.t.Fatalf("answered with %+v", a)
		}
	}
}

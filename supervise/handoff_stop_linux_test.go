package supervise

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/policy/queue"
)

// killed is the time after which a command that does not end at SIGTERM is killed, and how long a stop may take that
// waits for that on a busy machine.
const killed, muchLater = 5 * time.Second, 15 * time.Second

func TestAnOrderedStopWaitsForADeliveryNoLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	for mode, least := range map[string]time.Duration{"hold": 0, "stubborn": killed} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newHandingWorld(t)
			w.Handoffs.Platforms["stuck"] = platform{Mode: mode}
			w.Handoffs.Drain = time.Second
			w.run()
			id := w.request("slow", "stuck")
			w.handling("slow")
			waits := []string{w.request("b", "stuck"), w.request("c", "stuck"), w.request("d", "stuck")}
			w.handling("b", "c")
			began := time.Now()
			w.orders <- OrderStop
			w.await("it has ended", w.over)
			took := w.ended.Sub(began)
			if least += w.Handoffs.Drain; took < least-10*time.Millisecond || took > least+muchLater {
				t.Errorf("the stop took %s, not %s", took, least)
			}
			h := w.becomes(id, queue.Failed)
			if h.End.Reason != string(queue.ReasonShutdown) || !strings.Contains(h.End.Error, "may have been delivered") {
				t.Errorf("it ended with %+v", h.End)
			}
			if s := w.state(w.queue(w.store), waits[2]); s != queue.Pending || w.handlings("start", "d") != 0 {
				t.Errorf("the one that waited is %s", s)
			}
		})
	}
}

func TestADeliveryMayFinishDuringTheDrain(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Drain = time.Minute
	w.run()
	id := w.request("slow", "desk")
	w.handling("slow")
	w.orders <- OrderStop
	w.drains(1)
	w.letGo("slow")
	w.await("it has ended", w.over)
	w.becomes(id, queue.Completed)
}

func TestASecondOrderEndsDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Platforms["stuck"] = platform{Mode: "stubborn"}
	w.Handoffs.Drain = time.Minute
	w.run()
	id := w.request("slow", "stuck")
	w.handling("slow")
	w.orders <- OrderStop
	w.drains(1)
	began := time.Now()
	w.orders <- OrderStop
	w.await("it has ended", w.over)
	if took := w.ended.Sub(began); took > muchLater {
		t.Errorf("that took %s", took)
	}
	if h := w.becomes(id, queue.Failed); h.End.Reason != string(queue.ReasonShutdown) {
		t.Errorf("it ended with %+v", h.End)
	}
}

// drains waits until n deliveries of the root home have said that they drain.
func (w *world) drains(n int) {
	w.t.Helper()
	w.until("they drain", func() bool {
		files, _ := filepath.Glob(filepath.Join(w.Home.Path, "supervisor", "log", KeeperLog, "*"))
		said := 0
		for _, file := range files {
			said += strings.Count(w.text(file), "shutting down")
		}
		return said >= n
	})
}

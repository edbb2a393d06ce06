package handoff

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hermes-supervisor/policy/queue"
)

// A "lively" keeper is one whose heart beats often.
func init() {
	parts["lively"] = func([]string) int {
		heartbeatEvery = 20 * time.Millisecond
		return playKeeper()
	}
}

func (h *home) lively(id string) *keeper {
	h.Helper()
	c := h.call(id)
	c.Report = filepath.Join(h.TempDir(), "report")
	data, err := json.Marshal(c)
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(testBinary(h.T), "lively")
	cmd.Env = append(cmd.Environ(), callVar+"="+string(data), "GORACE=atexit_sleep_ms=0")
	return h.run(cmd, c.Report)
}

// beats waits until the record of a running handoff has a later time twice, and the same content.
func (h *home) beats(id string) {
	h.Helper()
	before := h.state()
	for range 2 {
		first := h.get(id).LastSeen
		h.until("the heart beats", func() bool { return h.get(id).LastSeen.After(first) })
	}
	h.wantState(id, queue.Running)
	for name, text := range h.state() {
		if filepath.Base(name) == id+".json" && text != before[name] {
			h.Errorf("a heartbeat changed the record from\n%s\nto\n%s", before[name], text)
		}
	}
}

func TestDeliveryThatTakesLongShowsThatItGoesOn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "say", "here", "await", "./go")
	id := h.request("chat")
	k := h.lively(id)
	h.said("here")
	h.recorded(id) // the last write of its keeper before the end
	h.beats(id)
	h.touch("go")
	k.want(queue.Completed)
	h.ran(1)
}

func TestDeliveryAsATurnThatTakesLongShowsThatItGoesOn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.agent("say", "here", "await", "./go")
	id := h.request("agent")
	k := h.lively(id)
	h.atWork("here")
	h.beats(id)
	h.touch("go")
	k.want(queue.Completed)
	h.ran(1)
}

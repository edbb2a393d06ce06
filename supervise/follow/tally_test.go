package follow

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/fsstate"
)

func web(service string) bool { return service == "web" }

func TestWhatAnEventCounts(t *testing.T) {
	t.Parallel()
	turn := func(outcome, reason string) Tally {
		return Tally{Turns: map[string]map[string]uint64{outcome: {reason: 1}}}
	}
	for _, tc := range []struct {
		name string
		e    fsstate.Event
		want Tally
	}{
		{"a turn's end", fsstate.Event{Kind: "removed", Session: "s", Reason: "succeeded"}, turn(Concluded, "succeeded")},
		{"a handled error", fsstate.Event{Kind: "removed", Session: "s", Reason: "handled-error"}, turn(Concluded, "handled-error")},
		{"an interrupt that its keeper saw", fsstate.Event{Kind: "removed", Session: "s", Reason: "stop-requested"}, turn(Interrupted, "stop-requested")},
		{"an interrupt", fsstate.Event{Kind: "interrupted", Session: "s", Reason: "interrupted"}, turn(Interrupted, "interrupted")},
		{"exhausted", fsstate.Event{Kind: "ended", Session: "s", Reason: "attempts-exhausted"}, turn(GaveUp, "attempts-exhausted")},
		{"stale", fsstate.Event{Kind: "ended", Session: "s", Reason: "stale"}, turn(GaveUp, "stale")},
		{"replaced", fsstate.Event{Kind: "ended", Session: "s", Reason: "other-prompt"}, turn(Superseded, "other-prompt")},
		{"cleared", fsstate.Event{Kind: "ended", Session: "s", Reason: "cleared"}, turn(Cleared, "cleared")},
		{"refused", fsstate.Event{Kind: "refused", Session: "s", Reason: "busy"}, turn(Refused, "busy")},
		{"the end on disk, which is not the last of it", fsstate.Event{Kind: "concluded", Session: "s", Reason: "succeeded"}, Tally{}},
		{"a crash", fsstate.Event{Kind: "crashed", Session: "s", Reason: "killed"}, Tally{}},
		{"a reason of a forger", fsstate.Event{Kind: "removed", Session: "s", Reason: "x\"} 1\n"}, turn(Concluded, other)},
		{"a kind of a newer version", fsstate.Event{Kind: "slept", Session: "s"}, Tally{}},
		{"a turn without a session", fsstate.Event{Kind: "removed", Reason: "succeeded"}, Tally{}},

		{"a first run", fsstate.Event{Kind: "launched", Session: "s"}, Tally{}},
		{"a continuation", fsstate.Event{Kind: "launched", Session: "s", Attempt: 1, Millis: 1500}, Tally{Continuations: 1, Recovery: Histogram{Buckets: []uint64{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, Millis: 1500}}},
		{"one after a year", fsstate.Event{Kind: "launched", Session: "s", Attempt: 1, Millis: 1 << 60}, Tally{Continuations: 1, Recovery: Histogram{Buckets: []uint64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, Millis: maxMillis}}},
		{"the same attempt afresh", fsstate.Event{Kind: "launched", Session: "s", Attempt: 1}, Tally{}},

		{"a restart", fsstate.Event{Kind: "service", Service: "web", To: "starting", Reason: "restarted"}, Tally{Restarts: map[string]uint64{"web": 1}}},
		{"a start on order", fsstate.Event{Kind: "service", Service: "web", To: "starting", Reason: "ordered"}, Tally{}},
		{"a service that nobody configured", fsstate.Event{Kind: "service", Service: "forged", To: "starting", Reason: "restarted"}, Tally{}},

		{"a handoff", fsstate.Event{Kind: "handoff", From: "running", To: "failed", Reason: "timed-out"}, Tally{Handoffs: map[string]map[string]uint64{"failed": {"timed-out": 1}}}},
		{"a handoff that stays as it is", fsstate.Event{Kind: "handoff", From: "running", To: "running", Reason: "cancel-asked"}, Tally{}},
		{"a forged handoff", fsstate.Event{Kind: "handoff", To: "x", Reason: "y"}, Tally{Handoffs: map[string]map[string]uint64{other: {other: 1}}}},

		{"a wait for a lock", fsstate.Event{Kind: "crashed", LockMillis: 250}, Tally{LockWaits: 1, LockMillis: 250}},
		{"one that is forged", fsstate.Event{Kind: "x", LockMillis: 1 << 62}, Tally{LockWaits: 1, LockMillis: maxMillis}},
		{"one below nothing", fsstate.Event{Kind: "x", LockMillis: -5}, Tally{}},
	} {
		var got Tally
		got.count(tc.e, web)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

var home = fsstate.Home{Path: "/h", Root: "/h"}

func TestWhatAnEventTells(t *testing.T) {
	t.Parallel()
	service := func(to, reason string) fsstate.Event {
		return fsstate.Event{Kind: "service", Service: "web", To: to, Reason: reason}
	}
	looping := map[string]bool{}
	for i, tc := range []struct {
		e     fsstate.Event
		event string
		text  string
	}{
		{service("waiting", "back-off"), "", ""},
		{service("waiting", "crash-loop"), EventCrashLoop, "service web: it ends again and again, so its automatic starts are slowed (read `logs web`, settle what ends it, then `start web`)"},
		{service("starting", "restarted"), "", ""},
		{service("running", "ready"), "", ""},
		{service("waiting", "crash-loop"), "", ""}, // still the same
		{service("starting", "resumed"), "", ""},   // by the next run
		{service("waiting", "crash-loop"), "", ""},
		{service("starting", "ordered"), "", ""},
		{service("waiting", "crash-loop"), EventCrashLoop, ""}, // after an operator's start
		{service("waiting", "back-off"), "", ""},
		{service("waiting", "crash-loop"), EventCrashLoop, ""}, // it had been well
		{service("parked", "parked"), EventParked, "service web: its exit status asked not to be started again (read `logs web`, settle what it says, then `start web`)"},
		{service("waiting", "crash-loop"), EventCrashLoop, ""},
		{service("stopped", "shutdown"), "", ""}, // a stop of run
		{service("waiting", "crash-loop"), "", ""},
		{service("stopped", "stopped"), "", ""},
		{fsstate.Event{Kind: "service", Service: "forged", To: "parked"}, "", ""},
		{fsstate.Event{Kind: "output", Service: "web", Reason: "x"}, "", ""},
		{fsstate.Event{Kind: "ended", Session: "job", Reason: "stale", Agent: "codex"}, EventGaveUp, "turn \"job\" was given up: the last proof of life is older than the freshness window (`turn resume job` brings it back from ended/; a wider freshness keeps the next one)"},
		{fsstate.Event{Kind: "ended", Session: "a\nb c", Reason: "forged\n\x1b[31mreason"}, EventGaveUp, "turn \"a\\nb c\" was given up: forged [31mreason"},
		{fsstate.Event{Kind: "ended", Session: "job", Reason: "cleared"}, "", ""},
		{fsstate.Event{Kind: "ended", Session: "job", Reason: "other-prompt"}, "", ""},
		{fsstate.Event{Kind: "launched", Session: "job", Attempt: 2, Millis: 12_340}, EventContinued, "turn \"job\" goes on: attempt 2, 12.3s after it was cut"},
		{fsstate.Event{Kind: "launched", Session: "job"}, "", ""},
	} {
		tc.e.Time = time.Unix(int64(i), 0)
		n := notice(tc.e, home, web, looping)
		if n == nil {
			if tc.event != "" {
				t.Errorf("%d: %+v tells nothing", i, tc.e)
			}
			continue
		}
		if n.Event != tc.event || tc.text != "" && n.Text != tc.text || !n.sound() {
			t.Errorf("%d: %q %q, not %q %q", i, n.Event, n.Text, tc.event, tc.text)
		}
	}
}

// What a forger writes into the journal makes neither labels nor notices that grow without end.
func TestAFloodIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := (&state{Since: now}).tidy()
	for i := range 100_000 {
		e := fsstate.Event{Time: now, Kind: "ended", Session: string(rune('a'+i%26)) + "x", Reason: time.Duration(i).String(), To: "x", Agent: "y"}
		p := s.at("")
		p.Tally.count(e, web)
		s.take(notice(e, home, web, p.Looping), 6, now)
	}
	text, err := json.Marshal(s)
	if err != nil || len(s.Pending) != 6 || s.Suppressed[EventGaveUp] != 100_000-6 || len(text) > 10_000 {
		t.Errorf("%d pending, %v, %d bytes, %v", len(s.Pending), s.Suppressed, len(text), err)
	}
}

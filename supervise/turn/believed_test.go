//go:build linux

package turn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/policy"
)

// An agent can write where its marker lies. What it writes there must cost nobody the turn.
func TestMarkerScribbledByItsAgentIsSetAsideAndWrittenAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("my task", "touch", "./here", "await", "./go", "exit", "5"))
	h.until("the agent is at work", func() bool { return h.exists("here") })
	h.launched()
	forged := `{"version":1,"session":"` + theSession + `","phase":"running","prompt":"evil","auto_continue":true,"attempts":0,"started_at":"2026-01-01T00:00:00Z","owner":{"pid":1}}`
	if err := os.WriteFile(h.markerPath(), []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	h.until("the keeper's own marker is back", func() bool { m := h.turn(); return m != nil && m.Prompt == "my task" && m.Verified })
	h.touch("go")
	k.want(Concluded, policy.ReasonHandledError, 5)
	h.noMarker()
	h.ran(1)
	aside, err := filepath.Glob(h.markerPath() + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

func TestForgedOutcomeDoesNotMakeARequestVanish(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read")
	c.Request.ID = "monday"
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0) // answered from the record
	h.ran(1)
	path := h.room.files().OutcomePath(theSession, "monday")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"attempts": 0`, `"attempts": 1`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.start(c).wait(); !strings.Contains(r.Err, "does not verify") {
		t.Errorf("a forged end was believed: %+v", r)
	}
	h.ran(1)
}

func TestForgedEndOfAnOpenTurnIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("tomorrow's job", func(m *fsstate.Turn) {
		m.Verified, m.Phase, m.End = false, fsstate.PhaseConcluded, &fsstate.End{Reason: string(policy.ReasonSucceeded)}
	})
	h.start(h.run("tomorrow's job", "read")).want(Refused, policy.ReasonUnverified, 0)
	h.start(h.run("another job", "read")).want(Refused, policy.ReasonUnverified, 0)
	if _, err := h.room.Clear(t.Context(), theSession, false); err != nil {
		t.Fatal(err)
	}
	h.start(h.run("tomorrow's job", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

// The end is on disk before anything that may take long.
func TestEndIsOnDiskBeforeTheTreeIsEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "read", "setsid", "[", "ignore", "15", "touch", "./ready", "await", "never", "]", "await", "./ready", "exit", "3"))
	h.awaitPhase(fsstate.PhaseConcluded) // while the tool has its two seconds to go
	if k.hasEnded() {
		t.Fatal("the tool did not hold the keeper up")
	}
	if m := h.mustTurn(); m.End == nil || m.End.Code != 3 {
		t.Errorf("the recorded end is %+v", m.End)
	}
	k.want(Concluded, policy.ReasonHandledError, 3)
	h.noMarker()
	h.ran(1)
}

// Hermes takes no lock on its file, so a write of ours beside it could lose its entries.
func TestHermesFileIsLeftAloneWhileAHermesLives(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := hermes.MarkersPath(h.room.Store.Home().Path)
	started := float64(time.Now().Add(-time.Minute).UnixMilli()) / 1000
	entry := func(prompt string, pid int, created float64) map[string]any {
		return map[string]any{"prompt": prompt, "started_at": started, "attempts": 0, "auto_continue": true, "writer_pid": pid, "writer_start_time": created}
	}
	dead := entry("cut", os.Getpid(), psutilCreateTime(t, os.Getpid())-86400)
	h.json(path, map[string]any{theSession: dead, "other": entry("at work", os.Getpid(), psutilCreateTime(t, os.Getpid()))})
	content := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := content()
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	if after := content(); after != before {
		t.Errorf("written while a Hermes lives:\n%s\nbefore:\n%s", after, before)
	}
	if r := h.start(h.run("", "read")).wait(); !r.Usage {
		t.Errorf("its ended turn is continued again: %+v", r)
	}
	h.ran(1)
}

func TestInterruptedReportedTurnHoldsItsSessionWhileItsAgentLives(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	reporter := h.reporter("begin", theSession, "reported prompt")
	in, err := h.room.Interrupt(t.Context(), theSession, 0)
	if err != nil || !in.Found || in.Ended {
		t.Fatalf("interrupt: %+v, %v", in, err)
	}
	h.start(h.run("another prompt", "read")).want(Refused, policy.ReasonOwnerAlive, 0)
	_ = reporter.Process.Kill()
	_ = reporter.Wait()
	h.start(h.run("another prompt", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	if got := h.texts("prompt"); len(got) != 1 || got[0] != "another prompt" {
		t.Errorf("prompts %q", got)
	}
}

// Whatever became of the marker while the keeper was dead: the agent that lives still has the session.
func TestAgentWhoseMarkerIsLostOrBrokenStillHoldsItsSession(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"removed":   os.Remove,
		"broken":    func(path string) error { return os.WriteFile(path, []byte("{{"), 0o600) },
		"truncated": func(path string) error { return os.Truncate(path, 0) },
		"forged": func(path string) error {
			return os.WriteFile(path, []byte(`{"version":1,"session":"`+theSession+`","phase":"running","prompt":"evil","started_at":"2026-01-01T00:00:00Z","owner":{"pid":1}}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			k := h.start(h.run("prompt", "touch", "./here", "await", "never"))
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			k.kill()
			if err := spoil(h.markerPath()); err != nil {
				t.Fatal(err)
			}
			next := h.run("another prompt", "read")
			h.start(next).want(Refused, policy.ReasonOwnerAlive, 0)
			h.killPID(h.started(1))
			if name == "forged" { // its owner is nobody that can be judged: only a person's word frees the session
				h.start(next).want(Refused, policy.ReasonOwnerUnknown, 0)
				if _, err := h.room.Clear(t.Context(), theSession, true); err != nil {
					t.Fatal(err)
				}
			}
			h.start(next).want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(2)
		})
	}
}

// An agent may have closed its stdin and wiped its environment: its output is held all the same.
func TestDescendantWithoutStdinAndEnvironmentIsSeenByItsOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read")
	c.Request.Agent.Command = []string{"sh", "-c", `env -i setsid sh -c 'echo $$ > pid; exec sleep 60' </dev/null & wait`}
	k := h.start(c)
	h.until("the grandchild runs", func() bool { return h.exists("pid") && h.read("pid") != "" })
	h.launched()
	leader := h.mustTurn().Owner.PID
	k.kill()
	h.killPID(leader)
	next := h.run("", "read")
	h.start(next).want(Refused, policy.ReasonOwnerAlive, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(h.read("pid")))
	if err != nil {
		t.Fatal(err)
	}
	h.killPID(pid)
	h.start(next).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

// A request that concluded stays concluded, also where an earlier run of it was given up.
func TestGivenUpCopyOfARequestThatConcludedSinceIsNotResumed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "kill", "9")
	c.Request.ID = "J"
	c.Settings.MaxAttempts = 0
	h.start(c).want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	kept := h.ended()
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	if left := h.ended(); len(left) > 0 {
		t.Errorf("%d copies left in ended/", len(left))
	}
	// Nor where the copy comes back, open or given up.
	kept[0].Ended = nil
	h.put(kept[0], testKey)
	h.start(h.resume("read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.noMarker()
	h.put(kept[0], testKey)
	if _, err := h.room.files().Archive(kept[0], string(policy.ReasonStale), time.Now()); err != nil {
		t.Fatal(err)
	}
	if sessions, _ := h.room.Resumable(); len(sessions) > 0 {
		t.Errorf("resumable: %v", sessions)
	}
	if r := h.start(h.resume("read")).wait(); !r.Usage {
		t.Errorf("resumed: %+v", r)
	}
	h.ran(2)
}

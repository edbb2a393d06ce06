//go:build linux

package turn

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// The contracts of Hermes's own test of auto-continuation (tests/tui_gateway/test_auto_continue.py), in the terms of
// this design: one test each, named after it. policy has those of the decision alone.

const noteBegin = "[System note: Your previous turn was interrupted"

// wantContinuation checks that a continuation was told of the interruption once, and of the original prompt once.
func (h *home) wantContinuation(got, original string) {
	h.Helper()
	if !strings.HasPrefix(got, noteBegin) || !strings.HasSuffix(got, "]\n\n"+original) ||
		strings.Count(got, noteBegin) != 1 || strings.Count(got, original) != 1 {
		h.Fatalf("the continuation was told %q, which is not one note and %q once", got, original)
	}
}

func TestMarkerRoundTrip(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("fix the bug\n\"now\" – ünïcode ]", "await", "./go")
	c.Request.Source, c.Request.ID, c.Request.Agent.Name = "cli", "job 7", "claude"
	k := h.start(c)
	h.launched()
	m := h.mustTurn()
	if m.Prompt != c.Request.Prompt || m.Attempts != 0 || m.Source != "cli" || m.RequestID != "job 7" || m.Agent != "claude" || m.Cwd != h.dir ||
		!m.AutoContinue || !m.Verified || m.Session != theSession {
		t.Errorf("marker %+v", m)
	}
	if age := time.Since(m.StartedAt); age < 0 || age > 10*time.Second {
		t.Errorf("started %s ago", age)
	}
	if m.Owner.PID != h.started(1) || m.Keeper.PID != k.cmd.Process.Pid {
		t.Errorf("owner pid %d, keeper pid %d; want %d and %d", m.Owner.PID, m.Keeper.PID, h.started(1), k.cmd.Process.Pid)
	}
	h.touch("go")
	k.want(Concluded, policy.ReasonSucceeded, 0)
	h.noMarker()
}

func TestMarkerSurvivesCorruptSidecar(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	broken := `{"version": 1, "prompt": "what was asked", not json`
	if err := os.WriteFile(h.markerPath(), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	sidecar := hermes.MarkersPath(h.room.Store.Home().Path)
	if err := os.MkdirAll(filepath.Dir(sidecar), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sidecar, []byte("{not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(h.run("prompt", "say", "@"+h.markerPath())).want(Concluded, policy.ReasonSucceeded, 0)
	if seen := h.texts("said"); len(seen) != 1 || !strings.Contains(seen[0], `"prompt": "prompt"`) {
		t.Errorf("while the agent ran the marker was %q", seen)
	}
	h.noMarker()
	aside, err := filepath.Glob(h.markerPath() + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("set aside: %v, %v", aside, err)
	}
	if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != broken {
		t.Errorf("kept aside: %q, %v", kept, err)
	}
	if kept, err := os.ReadFile(sidecar); err != nil || string(kept) != "{not json" {
		t.Errorf("Hermes's broken file now reads %q, %v", kept, err)
	}
}

func TestInterruptAckRetiresMarkerUnderEveryKey(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"began with": theSession, "rotated": "rotated-key", "the agent's own": "native-id"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newProfileHome(t, "coder")
			k := h.start(h.run("do not resume me", "bind", "native-id", "bind", "id-of-an-agent-below", "touch", "./bound", "await", "never"))
			h.until("the agent has bound its id", func() bool { return h.exists("bound") })
			if _, err := h.room.Begin(t.Context(), Report{Session: "rotated-key", RotatedFrom: theSession}); err != nil {
				t.Fatal(err)
			}
			in, err := h.room.Interrupt(t.Context(), key, patience)
			if err != nil || !in.Found || !in.Ended || in.Session != theSession {
				t.Fatalf("interrupt: %+v, %v", in, err)
			}
			h.noMarker()
			k.want(Interrupted, policy.ReasonStopRequested, 130)
			if got := h.texts("said"); len(got) != 2 || got[0] != string(BegunAnnotated) || got[1] != string(BegunIgnored) {
				t.Errorf("the agent's reports came to %v", got)
			}
			if r := h.start(h.run("")).wait(); !r.Usage {
				t.Errorf("there is something to continue: %+v", r)
			}
			h.ran(1)
			if len(h.ended()) > 0 {
				t.Error("an interrupted turn can be resumed from ended/")
			}
		})
	}
}

func TestInterruptRacingMarkerWriteCannotLeaveRecoveryState(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	before := h.run("race me")
	before.Gate = h.file("gate")
	k := h.start(before)
	h.until("the keeper has started", func() bool { return h.exists("gate.ready") })
	in, err := h.room.Interrupt(t.Context(), theSession, time.Second)
	if err != nil || in.Found || in.Ended {
		t.Fatalf("interrupt: %+v, %v", in, err)
	}
	h.touch("gate")
	k.want(Interrupted, policy.ReasonStopRequested, 130)
	h.noMarker()
	h.ran(0)
	// A keeper that starts after it was not meant.
	h.start(h.run("a new prompt")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestConcludedTurnClearsMarker(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.run("do the thing", "say", "@"+h.markerPath(), "read", "print", "done")).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantMarkerSeen("do the thing", 0)
	if got := h.texts("prompt"); len(got) != 1 || got[0] != "do the thing" {
		t.Errorf("the agent read %q", got)
	}
	h.noMarker()
	h.ran(1)
}

// wantMarkerSeen checks the marker that the agent itself saw while it ran.
func (h *home) wantMarkerSeen(prompt string, attempts int) {
	h.Helper()
	seen := h.texts("said")
	var m fsstate.Turn
	if len(seen) == 0 || json.Unmarshal([]byte(seen[len(seen)-1]), &m) != nil || m.Prompt != prompt || m.Attempts != attempts {
		h.Fatalf("the agent saw the marker %q; want prompt %q, attempts %d", seen, prompt, attempts)
	}
}

func TestHandledFailureStillClearsMarker(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.run("do the thing", "say", "@"+h.markerPath(), "exit", "3")).want(Concluded, policy.ReasonHandledError, 3)
	h.wantMarkerSeen("do the thing", 0)
	h.noMarker()
	h.ran(1)
}

func TestReceiptCommitsBeforeMarkerRetires(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("do the thing", "exit", "3")
	c.Request.Receipt = fmt.Sprintf("cat >%q; cp %q %q", h.file("receipt"), h.markerPath(), h.file("marker"))
	h.start(c).want(Concluded, policy.ReasonHandledError, 3)
	var receipt struct {
		Session string `json:"session"`
		Code    int    `json:"code"`
	}
	if err := json.Unmarshal([]byte(h.read("receipt")), &receipt); err != nil || receipt.Session != theSession || receipt.Code != 3 {
		t.Errorf("the receipt read %q", h.read("receipt"))
	}
	var m fsstate.Turn
	if err := json.Unmarshal([]byte(h.read("marker")), &m); err != nil || m.Phase != fsstate.PhaseConcluded || m.End == nil || m.End.Code != 3 {
		t.Errorf("the receipt saw the marker %q", h.read("marker"))
	}
	h.noMarker()
}

func TestReceiptFailureKeepsMarkerAndOnlyReceiptRepeats(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("do the thing", "read")
	c.Request.Receipt = fmt.Sprintf("test -e %q", h.file("store is up"))
	for failures := 1; failures <= 2; failures++ {
		h.start(c).want(ReceiptFailed, policy.ReasonReceiptPending, 0)
		if m := h.mustTurn(); m.Phase != fsstate.PhaseConcluded || !m.Receipt.Pending || m.Receipt.Failures != failures {
			t.Fatalf("marker %+v, receipt %+v", m, m.Receipt)
		}
	}
	without := c
	without.Request.Receipt = ""
	h.start(without).want(ReceiptFailed, policy.ReasonReceiptPending, 0)
	h.touch("store is up")
	o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	if !o.Replayed {
		t.Error("a repeated receipt does not say that nothing ran")
	}
	h.noMarker()
	h.ran(1)
}

func TestContinuationRecordsAttemptAndOriginalPrompt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("the original prompt", "read", "say", "@"+h.markerPath(), "once", "./first", "kill", "9", "else", "once", "./second", "kill", "9"))
	if o := k.want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 2 {
		t.Errorf("attempts %d, want 2", o.Attempts)
	}
	prompts := h.texts("prompt")
	if len(prompts) != 3 || prompts[0] != "the original prompt" {
		t.Fatalf("prompts %q", prompts)
	}
	for attempt, seen := range h.texts("said") {
		var m fsstate.Turn
		if err := json.Unmarshal([]byte(seen), &m); err != nil || m.Attempts != attempt || m.Prompt != "the original prompt" {
			t.Errorf("run %d saw the marker %s", attempt, seen)
		}
		if attempt > 0 { // the second crash does not nest note in note
			h.wantContinuation(prompts[attempt], "the original prompt")
		}
		if got := h.logged("prompt")[attempt].Attempt; got != strconv.Itoa(attempt) {
			t.Errorf("run %d was told attempt %s", attempt, got)
		}
	}
	h.noMarker()
	h.ran(3)
}

func TestFreshMarkerIsContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("fix the flaky test")
	if o := h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
		t.Errorf("attempts %d, want 1", o.Attempts)
	}
	h.wantContinuation(h.texts("prompt")[0], "fix the flaky test")
	h.noMarker()
	h.ran(1)
}

func TestHostedMarkerIsLeftToItsDriver(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i, source := range []string{"bot_room", "cron"} {
		h.interrupted("hosted prompt", func(m *fsstate.Turn) { m.Source = source })
		before := h.state()
		v, err := h.room.Show(theSession)
		if err != nil || v.Decision.Action != policy.Keep || v.Decision.Reason != policy.ReasonHostedSource {
			t.Errorf("%s: %v, %v", source, v.Decision, err)
		}
		h.unchanged(before)
		// A keeper sees its agent die and leaves the turn to the driver as well.
		c := h.run("new hosted prompt", "kill", "9")
		c.Request.Source = source
		h.start(c).want(LeftOpen, policy.ReasonHostedSource, 0)
		h.ran(i + 1)
	}
}

func TestStaleMarkerIsRetiredNotContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("old prompt", func(m *fsstate.Turn) { m.StartedAt = time.Now().Add(-2 * time.Hour) })
	h.age(time.Hour)
	h.start(h.run("", "read")).want(GaveUp, policy.ReasonStale, 0)
	h.noMarker()
	h.wantEnded("old prompt", policy.ReasonStale)
	h.ran(0)
}

func TestConfigWidensFreshnessWindow(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("old prompt", func(m *fsstate.Turn) { m.StartedAt = time.Now().Add(-2 * time.Hour) })
	h.age(time.Hour)
	c := h.run("", "read")
	c.Settings.Freshness = 2 * time.Hour
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[0], "old prompt")
}

func TestExhaustedAttemptsBreakTheLoop(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	o := h.start(h.run("crashy prompt", "kill", "9")).want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	if o.Attempts != 2 {
		t.Errorf("attempts %d", o.Attempts)
	}
	h.noMarker()
	h.wantEnded("crashy prompt", policy.ReasonAttemptsExhausted)
	h.ran(3)
	// Also when it is found so by somebody else.
	h.interrupted("another", func(m *fsstate.Turn) { m.Attempts = 2 })
	h.start(h.run("", "read")).want(GaveUp, policy.ReasonAttemptsExhausted, 0)
	h.noMarker()
	h.ran(3)
}

func TestDisabledLeavesTheMarker(t *testing.T) {
	t.Parallel()
	for name, disable := range map[policy.Reason]func(c *call){
		policy.ReasonDisabled:         func(c *call) { c.Settings.Enabled = false },
		policy.ReasonDisabledByMarker: func(c *call) { c.Request.AutoContinue = false },
	} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "read", "once", "./first", "kill", "9")
			disable(&c)
			h.start(c).want(LeftOpen, name, 0)
			if m := h.mustTurn(); m.Attempts != 0 || m.Prompt != "prompt" {
				t.Errorf("marker %+v", m)
			}
			h.ran(1)
			// The person may ask for it all the same.
			h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(2)
		})
	}
}

func TestNoMarkerMeansNothingToContinue(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if r := h.start(h.run("", "read")).wait(); !r.Usage {
		t.Errorf("result %+v", r)
	}
	h.noMarker()
	h.ran(0)
}

func TestPersonsOwnPromptWins(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("the old one")
	h.start(h.run("the new one", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	if got := h.texts("prompt"); len(got) != 1 || got[0] != "the new one" {
		t.Errorf("prompts %q", got)
	}
	h.noMarker()
	h.wantEnded("the old one", policy.ReasonOtherPrompt)
	h.ran(1)
	// And the old one can be brought back.
	if m, err := h.room.Resumed(theSession); err != nil || m.Prompt != "the old one" {
		t.Fatalf("restore: %+v, %v", m, err)
	}
	h.start(h.resume("read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[1], "the old one")
}

func TestDoubleScheduleIsGuarded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt")
	var keepers [3]*keeper
	for i := range keepers {
		c := h.run("", "await", "./go")
		c.Gate = h.file("gate")
		keepers[i] = h.start(c)
	}
	h.touch("gate")
	h.started(1)
	refused := 0
	h.until("all but one are refused", func() bool {
		refused = 0
		for _, k := range keepers {
			if k.hasEnded() {
				refused++
			}
		}
		return refused == len(keepers)-1
	})
	h.touch("go")
	concluded := 0
	for _, k := range keepers {
		switch o := k.outcome(); {
		case o.State == Concluded:
			concluded++
		case o.State != Refused || o.Reason != policy.ReasonKeeperAlive:
			t.Errorf("outcome %+v", o)
		}
	}
	if concluded != 1 {
		t.Errorf("%d concluded", concluded)
	}
	h.ran(1)
}

func TestFailedStartLeavesMarkerWithTheAttemptRefunded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt")
	c := h.run("", "read")
	c.Request.Agent.Resume = []string{h.file("no such program")}
	if r := h.start(c).wait(); r.Err == "" || r.Usage {
		t.Errorf("result %+v", r)
	}
	if m := h.mustTurn(); m.Attempts != 0 || m.Prompt != "prompt" || !m.Verified {
		t.Errorf("marker %+v", m)
	}
	h.ran(0)
	c.Request.Agent.Resume = nil
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[0], "prompt")
}

func TestFailedStartAfterACrashLeavesMarkerAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "kill", "9")
	c.Request.Agent.Resume = []string{h.file("no such program")}
	begun := time.Now()
	if r := h.start(c).wait(); r.Err == "" {
		t.Errorf("result %+v", r)
	}
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("what cannot get better was tried for %s", took)
	}
	if m := h.mustTurn(); m.Attempts != 0 || m.Prompt != "prompt" || !m.Verified || m.Crash == nil {
		t.Errorf("marker %+v, crash %+v", m, m.Crash)
	}
	h.ran(1)
}

func TestRecycledPIDIsDead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	self, err := ident.Self("")
	if err != nil {
		t.Fatal(err)
	}
	h.interrupted("prompt", func(m *fsstate.Turn) { m.Owner, m.Keeper = self, h.dead() })
	h.start(h.run("", "read")).want(Refused, policy.ReasonOwnerAlive, 0) // this very process
	self.Start--
	h.interrupted("prompt", func(m *fsstate.Turn) { m.Owner, m.Keeper = self, h.dead() })
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestSecondBackendDefersToALiveReporter(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	agent := exec.Command(h.program()[0], h.program("log", "./log", "begin", theSession, "interrupted prompt", "touch", "./begun", "await", "never")[1:]...)
	agent.Env = append(os.Environ(), homeVar+"="+h.room.Store.Home().Path)
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Process.Kill(); _ = agent.Wait() }()
	h.until("the turn has begun", func() bool { return h.exists("begun") })
	h.defersUntilGone(policy.ReasonOwnerAlive, func() { _ = agent.Process.Kill(); _ = agent.Wait() })
}

func TestSecondBackendDefersToALiveHermesWriter(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	writer := exec.Command(h.program()[0], h.program("log", "./log", "await", "never")[1:]...)
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Process.Kill(); _ = writer.Wait() }()
	h.started(1)
	h.hermesMarker("interrupted prompt", writer.Process.Pid, psutilCreateTime(t, writer.Process.Pid), 1)
	path := hermes.MarkersPath(h.room.Store.Home().Path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h.defersUntilGone(policy.ReasonOwnerAlive, func() {
		if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
			t.Errorf("the live writer's file now reads %q, %v", now, err)
		}
		_ = writer.Process.Kill()
		_ = writer.Wait()
	})
	// Its end is on record: the entry does not start it again, should Hermes bring it back.
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.start(h.run("", "read")).wait(); !r.Usage {
		t.Errorf("an ended turn of Hermes's is continued: %+v", r)
	}
}

// defersUntilGone: while somebody lives the turn is left to them without a trace; once they are gone it is continued,
// so that their life was all that held it back.
func (h *home) defersUntilGone(reason policy.Reason, end func()) {
	h.Helper()
	before := h.state()
	h.start(h.run("", "read", "say", "@"+h.markerPath())).want(Refused, reason, 0)
	h.unchanged(before)
	h.ran(1) // the live one
	end()
	h.start(h.run("", "read", "say", "@"+h.markerPath())).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[0], "interrupted prompt")
	h.ran(2)
	h.noMarker()
}

func (h *home) unchanged(before map[string]string) {
	h.Helper()
	after := h.state()
	for name, content := range after {
		if old, ok := before[name]; !ok || old != content {
			h.Errorf("%s was changed: %q", name, content)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			h.Errorf("%s was removed", name)
		}
	}
	if h.Failed() {
		h.FailNow()
	}
}

// hermesMarker writes Hermes's own file with one entry, as its Python does.
func (h *home) hermesMarker(prompt string, pid int, created float64, attempts int) {
	h.Helper()
	h.hermesMarkerOf(theSession, prompt, pid, created, attempts)
}

func (h *home) hermesMarkerOf(session, prompt string, pid int, created float64, attempts int) {
	h.Helper()
	h.json(hermes.MarkersPath(h.room.Store.Home().Path), map[string]any{session: map[string]any{
		"prompt": prompt, "started_at": float64(time.Now().Add(-time.Minute).UnixMilli()) / 1000, "attempts": attempts,
		"auto_continue": true, "writer_pid": pid, "writer_start_time": created,
	}})
}

// lease writes Hermes's registry of open sessions.
func (h *home) lease(session string, pid int, created float64) {
	h.Helper()
	h.json(filepath.Join(h.room.Store.Home().Path, "runtime", "active_sessions.json"), map[string]any{"entries": []any{map[string]any{
		"session_id": session, "surface": "cli", "pid": pid, "process_start_time": created,
	}}})
}

func (h *home) json(path string, content any) {
	h.Helper()
	data, err := json.Marshal(content)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// psutilCreateTime is what psutil.Process(pid).create_time() gives: the boot time in whole seconds and the start in
// ticks of a hundredth.
func psutilCreateTime(t *testing.T, pid int) float64 {
	t.Helper()
	id, err := ident.Of(pid, "")
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(stat)) {
		if boot, ok := strings.CutPrefix(text, "btime "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(boot), 64)
			if err != nil {
				t.Fatal(err)
			}
			return seconds + float64(id.Start)/100
		}
	}
	t.Fatal("/proc/stat has no btime")
	return 0
}

//go:build linux

package turn

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// reporter starts an agent that reports its own turns, without a keeper.
func (h *home) reporter(steps ...string) *exec.Cmd {
	h.Helper()
	argv := h.agent(append(steps, "touch", "./done", "await", "never")...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), homeVar+"="+h.room.Store.Home().Path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h.until("the agent has reported", func() bool { return h.exists("done") })
	return cmd
}

func TestReportedTurnBelongsToItsReporter(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	agent := h.reporter("begin", theSession, "the first", "begin", theSession, "the second")
	m := h.mustTurn()
	if !m.Reported() || m.Prompt != "the second" || m.Owner.PID != agent.Process.Pid || !m.Verified || m.Phase != fsstate.PhaseRunning {
		t.Errorf("marker %+v", m)
	}
	if len(h.ended()) > 0 {
		t.Error("the agent's own earlier turn is kept as if it had not ended")
	}
	// Nobody else takes the session or ends the turn while the agent lives.
	before := h.state()
	other := exec.Command(h.agent()[0], h.program("begin", theSession, "a third")[1:]...)
	other.Env = append(os.Environ(), homeVar+"="+h.room.Store.Home().Path)
	if err := other.Run(); err == nil {
		t.Error("another agent began a turn in the session")
	}
	if ended, err := h.room.End(t.Context(), theSession); ended || !isBusy(err) {
		t.Errorf("ended by a stranger: %v, %v", ended, err)
	}
	h.unchanged(before)
	_ = agent.Process.Kill()
	_ = agent.Wait()
	// A person may be sitting at it: only a person continues it, unless it is unattended.
	h.room.Agents = func(string) (Agent, bool) { return Agent{}, true }
	h.wantDecision(policy.Keep, policy.ReasonReported)
	m.Agent, m.Unattended = "claude", true
	h.put(m, testKey)
	h.wantDecision(policy.Continue, policy.ReasonEndUnobserved)
	h.room.Agents = nil
	h.wantDecision(policy.Keep, policy.ReasonAgentUnknown)
	if ended, err := h.room.End(t.Context(), theSession); !ended || err != nil {
		t.Errorf("the late report of a dead agent: %v, %v", ended, err)
	}
	h.noMarker()
	if ended, err := h.room.End(t.Context(), theSession); ended || err != nil {
		t.Errorf("reported again: %v, %v", ended, err)
	}
}

func (h *home) wantDecision(action policy.Action, reason policy.Reason) {
	h.Helper()
	views, bad := h.room.List()
	if len(views) != 1 || len(bad) > 0 {
		h.Fatalf("list: %d views, %v", len(views), bad)
	}
	shown, err := h.room.Show(theSession)
	if err != nil || shown.Decision != views[0].Decision {
		h.Errorf("show says %v, %v; list %v", shown.Decision, err, views[0].Decision)
	}
	if d := views[0].Decision; d.Action != action || d.Reason != reason {
		h.Errorf("decision %v, %s; want %v, %s", d.Action, d.Reason, action, reason)
	}
}

func TestReportOfAnAgentThatCannotBe(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for name, r := range map[string]Report{
		"a stranger": {Session: theSession, Prompt: "p", PID: h.dead().PID},
		"no pid":     {Session: theSession, Prompt: "p"},
		"no prompt":  {Session: theSession, PID: os.Getppid()},
		"no session": {Prompt: "p", PID: os.Getppid()},
		"not UTF-8":  {Session: theSession, Prompt: "\xff", PID: os.Getppid()},
	} {
		if _, err := h.room.Begin(t.Context(), r); !isUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.room.Begin(t.Context(), Report{Session: "new", RotatedFrom: "gone"}); !errors.Is(err, ErrNoTurn) {
		t.Errorf("rotated without a turn: %v", err)
	}
	h.noMarker()
}

func isUsage(err error) bool {
	_, usage := errors.AsType[*UsageError](err)
	return usage
}

func TestListReportsWhatIsBrokenBesideTheOthers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt")
	broken := h.room.Store.Path(fsstate.Turns, "broken.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.hermesMarkerOf("another", "hermes's own", h.dead().PID, 1, 0)
	views, bad := h.room.List()
	if len(views) != 2 || len(bad) != 1 {
		t.Fatalf("%d views, %v", len(views), bad)
	}
	if stores := []string{views[0].Store, views[1].Store}; !slices.Contains(stores, "own") || !slices.Contains(stores, "hermes") {
		t.Errorf("stores %v", stores)
	}
	if _, bad := h.room.List(); len(bad) != 0 {
		t.Errorf("a broken file is reported twice: %v", bad)
	}
}

func TestLiveLeaseOfHermesHoldsTheTurnBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt", func(m *fsstate.Turn) { m.AgentSession = "20260725_101010_abc" })
	self := os.Getpid()
	h.lease("20260725_101010_abc", self, psutilCreateTime(t, self))
	before := h.state()
	h.start(h.run("", "read")).want(Refused, policy.ReasonLeaseHeld, 0)
	h.unchanged(before)
	h.lease("20260725_101010_abc", h.dead().PID, 1)
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}

func TestNewerTurnOfHermesGoesFirst(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("the old one", func(m *fsstate.Turn) { m.StartedAt = m.StartedAt.AddDate(0, 0, -1) })
	h.hermesMarker("the newer one", h.dead().PID, 1, 0)
	h.start(h.run("", "read")).want(Refused, policy.ReasonNewerPrompt, 0)
	h.ran(0)
}

func TestKeyOfTheSessionGoesBeforeAnAlias(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("prompt", func(m *fsstate.Turn) { m.Aliases, m.AgentSession = []string{"b"}, "native" })
	for key, want := range map[string]string{theSession: theSession, "b": theSession, "native": theSession, "c": "c"} {
		if got, err := h.room.Resolve(key); got != want || err != nil {
			t.Errorf("resolve %q: %q, %v", key, got, err)
		}
	}
	if err := h.room.files().Put(&fsstate.Turn{Session: "b", Phase: fsstate.PhaseRunning, Prompt: "its own", Owner: ident.Ident{}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := h.room.Resolve("b"); got != "b" {
		t.Errorf("a session's own key means %q", got)
	}
}

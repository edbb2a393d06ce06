//go:build linux

package turn

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// noSession is how the agents of these tests say that they do not know a session.
const noSession = "no such session"

// sessions is a call with an agent that has sessions of its own: each run says which way it was started, and with which id.
func (h *home) sessions(own OwnSession, start, resume []string) call {
	h.Helper()
	c := h.run("the prompt")
	c.Request.Agent = Agent{
		Command: h.agent(append([]string{"say", "start", "say", "id {{agent_session}}", "read"}, start...)...),
		Resume:  h.agent(append([]string{"say", "resume", "say", "id {{agent_session}}", "read"}, resume...)...),
		Own:     own,
	}
	return c
}

// ways are how the runs were started, and ids the sessions that they were told.
func (h *home) ways() (ways string, ids []string) {
	h.Helper()
	for _, text := range h.texts("said") {
		if id, found := strings.CutPrefix(text, "id "); found {
			ids = append(ids, id)
		} else {
			ways = strings.TrimSpace(ways + " " + text)
		}
	}
	return ways, ids
}

func (h *home) wantWays(want string) (ids []string) {
	h.Helper()
	ways, ids := h.ways()
	if ways != want {
		h.Fatalf("the runs were %q, not %q: %v", ways, want, h.log())
	}
	return ids
}

// wantNotes checks that the first run had the prompt, and each later one the note with the prompt in it, once.
func (h *home) wantNotes() {
	h.Helper()
	for i, prompt := range h.texts("prompt") {
		noted := strings.HasPrefix(prompt, "[System note: ") && strings.HasSuffix(prompt, "]\n\nthe prompt") && strings.Count(prompt, "the prompt") == 1
		if i == 0 && prompt != "the prompt" || i > 0 && !noted {
			h.Errorf("run %d was asked %q", i, prompt)
		}
	}
}

var (
	picked = OwnSession{Chosen: true, Unknown: regexp.MustCompile(noSession), UnknownExit: []int{42}}
	teller = OwnSession{Told: regexp.MustCompile(`^session: (\S+)$`), Unknown: regexp.MustCompile(noSession)}
)

func TestAChosenSessionIsInTheMarkerBeforeTheAgentAndResumed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"say", "@" + h.markerPath(), "kill", "9"}, nil)
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(2)
	said := h.texts("said")
	id := strings.TrimPrefix(said[1], "id ")
	if !uuid.MatchString(id) {
		t.Errorf("%q is no UUID", id)
	}
	if !strings.Contains(said[2], `"agent_session": "`+id+`"`) && !strings.Contains(said[2], `"agent_session":"`+id+`"`) {
		t.Errorf("the agent ran with %s before the marker had it: %s", id, said[2])
	}
	if said[3] != "resume" || said[4] != "id "+id {
		t.Errorf("the continuation was %q, not of %s", said[3:], id)
	}
	h.wantNotes()
	h.noMarker()
}

func TestASessionThatIsKnownAtTheStartIsTheFirstRunsOwn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	own := picked
	own.ID = "mine-1"
	h.start(h.sessions(own, []string{"kill", "9"}, nil)).want(Concluded, policy.ReasonSucceeded, 0)
	if ids := h.wantWays("start resume"); ids[0] != "mine-1" || ids[1] != "mine-1" {
		t.Errorf("sessions %q", ids)
	}
}

// What is told first is at the head of the output, which is freed once it has been followed; the head stays.
func TestAToldSessionIsLearnedFromTheHeadOfALongOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.sessions(teller, []string{"print", "session: told-1", "flood", "8388608", "touch", "./flooded", "await", "never"}, nil))
	h.until("the id is in the marker", func() bool { m := h.turn(); return m != nil && m.AgentSession == "told-1" })
	h.until("all is printed", func() bool { return h.exists("flooded") })
	in, err := h.room.Interrupt(t.Context(), "told-1", patience)
	if err != nil || !in.Found || in.Session != theSession {
		t.Fatalf("an interrupt by the agent's own id: %+v, %v", in, err)
	}
	k.want(Interrupted, policy.ReasonStopRequested, 130)
	h.ran(1)
	h.noMarker()
}

// opencode tells it with the first word of the model, long after a quick look.
func TestASessionThatIsToldLateIsInTheMarkerSoon(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.sessions(teller, []string{"await", "./go", "print", "session: told-1", "await", "never"}, nil))
	h.launched()
	launched := h.mustTurn().LaunchedAt
	h.until("the first look is over", func() bool { return time.Since(launched) > settledAfter+settledAfter/2 })
	h.touch("go")
	h.until("the id is in the marker", func() bool { m := h.turn(); return m != nil && m.AgentSession == "told-1" })
	if took := time.Since(launched); took >= heartbeatEvery {
		t.Errorf("it was in the marker after %s, as late as a heartbeat has it", took)
	}
	if _, err := h.room.Interrupt(t.Context(), "told-1", patience); err != nil {
		t.Error(err)
	}
	k.want(Interrupted, policy.ReasonStopRequested, 130)
}

func TestAToldSessionIsResumed(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"print", "err"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.start(h.sessions(teller, []string{stream, "session: told-1", "kill", "9"}, nil)).want(Concluded, policy.ReasonSucceeded, 0)
			if ids := h.wantWays("start resume"); ids[0] != "" || ids[1] != "told-1" {
				t.Errorf("sessions %q", ids)
			}
			h.wantNotes()
		})
	}
}

// What an answer holds must not choose the session that is resumed, nor put a flag into the command line.
func TestWhatIsNoIDIsNotResumed(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a flag": "session: --yolo", "NUL": "session: a\x00b", "too long": "session: " + strings.Repeat("a", 129), "a path": "session: ../x", "nothing": "session: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			printed := h.file("printed")
			if err := os.WriteFile(printed, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h.start(h.sessions(teller, []string{"once", "./dead", "cat", "./printed", "kill", "9"}, nil)).want(Concluded, policy.ReasonSucceeded, 0)
			h.wantWays("start start")
			h.wantNotes()
		})
	}
}

func TestTheFirstLineThatHoldsAnIDTellsIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.sessions(teller, []string{"print", "session: --yolo", "print", "session: told-1", "kill", "9"}, nil)).want(Concluded, policy.ReasonSucceeded, 0)
	if ids := h.wantWays("start resume"); ids[1] != "told-1" {
		t.Errorf("sessions %q", ids)
	}
}

func TestHalfAnIDIsNotBound(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for name, text := range map[string]string{"half.txt": "session: told", "rest.txt": "-1\n"} {
		if err := os.WriteFile(h.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := h.start(h.sessions(teller, []string{"cat", "./half.txt", "touch", "./half", "await", "./go", "cat", "./rest.txt", "await", "never"}, nil))
	h.until("half of it is printed", func() bool { return h.exists("half") })
	h.launched()
	launched := h.mustTurn().LaunchedAt
	h.until("it was looked for", func() bool { return time.Since(launched) > settledAfter+settledAfter/2 })
	if id := h.mustTurn().AgentSession; id != "" {
		t.Errorf("bound to %q", id)
	}
	h.touch("go")
	h.until("the whole id is in the marker", func() bool { m := h.turn(); return m != nil && m.AgentSession == "told-1" })
	k.kill()
	h.killPID(h.started(1))
}

// A hook binds what its JSON says, and whoever can write here what they like.
func TestABoundIDThatNoArgumentCanHoldIsNotResumed(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"--yolo", "a\x00b", strings.Repeat("a", 200_000)} {
		h := newHome(t)
		h.interrupted("the prompt", func(m *fsstate.Turn) { m.AgentSession = id })
		c := h.sessions(teller, nil, nil)
		h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
		h.wantWays("start")
	}
	h := newHome(t)
	h.interrupted("the prompt", func(m *fsstate.Turn) { m.AgentSession = "a name: mine" })
	h.start(h.sessions(teller, nil, nil)).want(Concluded, policy.ReasonSucceeded, 0)
	if ids := h.wantWays("resume"); ids[0] != "a name: mine" {
		t.Errorf("sessions %q", ids)
	}
}

// Killed before it told its session, there is none to go on with.
func TestASessionThatWasNeverToldIsStartedAfresh(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.sessions(teller, []string{"once", "./dead", "kill", "9"}, nil)).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantWays("start start")
	h.wantNotes()
}

func TestASessionThatTheAgentDoesNotKnowIsStartedAfreshOnce(t *testing.T) {
	t.Parallel()
	renewed := picked
	renewed.NewID = true
	for _, tc := range []struct {
		name   string
		own    OwnSession
		start  []string
		resume []string
		same   bool
	}{
		{"by a line on stderr", picked, nil, []string{"err", noSession, "exit", "1"}, true},
		{"by a line on stdout", picked, nil, []string{"print", noSession, "exit", "1"}, true},
		{"by an exit code", picked, nil, []string{"exit", "42"}, true},
		{"under a new id", renewed, nil, []string{"exit", "42"}, false},
		{"a told one", teller, []string{"print", "session: told-1"}, []string{"err", noSession, "exit", "1"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			k := h.start(h.sessions(tc.own, append(tc.start, "once", "./dead", "kill", "9"), tc.resume))
			if o := k.want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
				t.Errorf("%d attempts were charged", o.Attempts)
			}
			h.ran(3)
			ids := h.wantWays("start resume start")
			if tc.own.Chosen && (ids[0] != ids[1] || (ids[2] == ids[1]) != tc.same || !uuid.MatchString(ids[2])) {
				t.Errorf("sessions %q", ids)
			}
			if !tc.own.Chosen && (ids[1] != "told-1" || ids[2] != "") {
				t.Errorf("sessions %q", ids)
			}
			h.wantNotes()
			h.noMarker()
		})
	}
}

// The words mean something only where a session was to be resumed.
func TestAFirstRunThatSpeaksOfAnUnknownSessionHasEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.sessions(picked, []string{"err", noSession, "exit", "42"}, nil)).want(Concluded, policy.ReasonHandledError, 42)
	h.ran(1)
}

func TestAFreshStartThatSpeaksOfAnUnknownSessionHasEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"once", "./dead", "kill", "9", "else", "err", noSession, "exit", "42"}, []string{"exit", "42"})
	h.start(c).want(Concluded, policy.ReasonHandledError, 42)
	h.wantWays("start resume start")
}

// "Hold back every continuation in this home, by anyone": the world may have changed while the agent looked for its session.
func TestAPauseHoldsBackTheFreshStartToo(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"once", "./dead", "kill", "9"}, []string{"touch", "./resumed", "await", "./go", "exit", "42"})
	k := h.start(c)
	h.until("it resumes", func() bool { return h.exists("resumed") })
	if _, err := h.room.Pause(0); err != nil {
		t.Fatal(err)
	}
	h.touch("go")
	k.want(LeftOpen, policy.ReasonPaused, 0)
	if m := h.mustTurn(); m.Attempts != 0 {
		t.Errorf("%d attempts were charged", m.Attempts)
	}
	if err := h.room.Unpause(); err != nil {
		t.Fatal(err)
	}
	if o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
		t.Errorf("%d attempts were charged", o.Attempts)
	}
	h.wantWays("start resume resume start")
	h.wantNotes()
}

// A person's word counts for the attempt, whichever of its two runs does the work.
func TestAPersonsResumeIsStartedAfreshWhateverTheSwitchesSay(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.interrupted("the prompt", func(m *fsstate.Turn) { m.AgentSession, m.AutoContinue, m.Attempts = "mine-1", false, 2 })
	c := h.sessions(picked, nil, []string{"exit", "42"})
	c.Request.Prompt, c.Request.HasPrompt, c.Request.Fresh, c.Request.AutoContinue = "", false, true, false
	c.Settings.Enabled, c.Settings.MaxAttempts = false, 0
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantWays("resume start")
}

// A fresh start takes the place of a run that never began: there is one for an attempt, and no attempt more for it.
func TestFreshStartsAreNoMoreThanTheAttempts(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.sessions(picked, []string{"kill", "9"}, []string{"exit", "42"}))
	if o := k.outcome(); o.State != GaveUp || o.Attempts != 2 {
		t.Errorf("%+v", o)
	}
	h.wantWays("start resume start resume start")
	h.wantNotes()
}

// Nor is a run that was killed one that never began, whatever it had printed.
func TestARunThatIsKilledAfterTheWordsOfAnUnknownSessionIsAnAttempt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.sessions(picked, []string{"kill", "9"}, []string{"err", noSession, "kill", "9"}))
	if o := k.outcome(); o.State != GaveUp || o.Attempts != 2 {
		t.Errorf("%+v", o)
	}
	h.wantWays("start resume resume")
}

func TestAFreshStartThatDiesIsResumed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"kill", "9"}, []string{"once", "./unknown", "exit", "42"})
	if o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 2 {
		t.Errorf("%d attempts were charged", o.Attempts)
	}
	ids := h.wantWays("start resume start resume")
	if ids[3] != ids[2] {
		t.Errorf("sessions %q", ids)
	}
	h.wantNotes()
}

func TestAStopWhileASessionIsNotKnownEndsTheTurn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.sessions(picked, []string{"kill", "9"}, []string{"ignore", "2", "ignore", "15", "touch", "./resumed", "await", "./go", "exit", "42"})
	k := h.start(c)
	h.until("it resumes", func() bool { return h.exists("resumed") })
	if in, err := h.room.Interrupt(t.Context(), theSession, 0); err != nil || !in.Found {
		t.Fatalf("%+v, %v", in, err)
	}
	h.touch("go")
	if o := k.outcome(); o.State != Interrupted {
		t.Errorf("%+v", o)
	}
	h.wantWays("start resume")
	h.noMarker()
}

// The keeper that learned the session is gone: the next one reads it where it was told.
func TestASuccessorResumesTheSessionOfADeadKeeper(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		own  OwnSession
		say  []string
	}{
		{"a chosen one", picked, nil},
		{"a told one", teller, []string{"print", "session: told-1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.sessions(tc.own, append(tc.say, "touch", "./told", "await", "never"), nil)
			k := h.start(c)
			h.until("the agent has told it", func() bool { return h.exists("told") })
			h.launched()
			k.kill()
			h.killPID(h.started(1))
			h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
			ids := h.wantWays("start resume")
			if want := ids[0]; tc.own.Chosen && ids[1] != want || !tc.own.Chosen && ids[1] != "told-1" {
				t.Errorf("sessions %q", ids)
			}
			h.wantNotes()
		})
	}
}

func TestALiteralArgumentReachesTheAgentAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{{prompt}}", "{{{{open}}", "{{open}}", "{{{prompt}}}", "{{nothing", "a {{session}} b {{args}}"} {
		argv := []string{"x", Literal(text)}
		if err := (Request{Session: "s", Agent: Agent{Command: argv}}).check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := expand(argv, values{prompt: "P", session: "S", agentSession: "A"})[1]; got != text {
			t.Errorf("%q reached the agent as %q", text, got)
		}
		if byFile, byStdin := promptRoute(argv); byFile || !byStdin {
			t.Errorf("%q is taken for a route of the prompt", text)
		}
	}
}

// A first run whose command line has the prompt in words of its own gets it by no second way; the caller's input is its stdin.
func TestAFirstRunWithThePromptInItsOwnWords(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("fix the tests")
	c.Request.Agent = Agent{
		First:   h.agent("say", "fix", "say", "the tests", "read", "kill", "9"),
		Command: h.agent("say", "{{prompt}}", "read"),
	}
	c.Request.Input = []byte("beside it")
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	said := h.texts("said")
	if said[0] != "fix" || said[1] != "the tests" || !strings.HasSuffix(said[2], "\n\nfix the tests") {
		t.Errorf("said %q", said)
	}
	for i, in := range h.texts("prompt") {
		if in != "beside it" {
			t.Errorf("stdin of run %d: %q", i, in)
		}
	}
}

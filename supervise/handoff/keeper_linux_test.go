package handoff

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/process"
)

func TestHandlerReadsOneObjectWithTheSameIDInEveryTry(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("read", "say", "{{id}}|{{session}}|{{platform}}", "once", "./one", "3", "once", "./two", "4")
	k.want(queue.Failed)
	for range 2 {
		if _, err := h.queue.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		h.wantState(id, queue.Pending)
		h.keep(id).awaitEnd()
	}
	hd := h.wantState(id, queue.Completed)
	if hd.End.Reason != string(queue.ReasonDelivered) || hd.End.Code == nil || *hd.End.Code != 0 || hd.Tries != 3 {
		t.Errorf("end %+v after %d tries", hd.End, hd.Tries)
	}
	h.ran(3)
	claims := map[string]bool{}
	for i, l := range h.logged("read") {
		var m struct {
			Schema, Try                                                       int
			Type, ID, Session, Platform, Note, Data, Home, Profile, Claim, At string
			RequestedAt                                                       time.Time `json:"requested_at"`
		}
		if err := json.Unmarshal([]byte(l.Text), &m); err != nil {
			t.Fatalf("stdin %q: %v", l.Text, err)
		}
		claims[m.Claim] = true
		if m.Schema != 1 || m.Type != "handoff" || m.ID != id || m.Session != theSession || m.Platform != "chat" || m.Note != "a note" ||
			m.Data != `{"a":1}` || m.Home != h.place.Home.Path || m.Try != i+1 || m.Claim != l.Claim || !m.RequestedAt.Equal(hd.RequestedAt) {
			t.Errorf("try %d read %s", i+1, l.Text)
		}
	}
	if len(claims) != 3 {
		t.Errorf("claims %v", claims)
	}
	for _, l := range h.logged("said") {
		if l.Text != id+"|"+theSession+"|chat" {
			t.Errorf("argv was expanded to %q", l.Text)
		}
	}
	if left := h.runFiles(); len(left) > 0 {
		t.Errorf("run/ still holds %v", left)
	}
}

func TestReasonOfAFailureIsTheLastLineOfStderr(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps []string
		text  string
	}{
		"a line":          {[]string{"err", "first", "err", "no such chat", "exit", "3"}, "no such chat (exit 3)"},
		"no line":         {[]string{"exit", "4"}, "ended with exit 4"},
		"empty lines":     {[]string{"err", "why", "err", "", "err", " ", "exit", "1"}, "why"},
		"no end of line":  {[]string{"hex", "776879", "exit", "1"}, "why"},
		"binary garbage":  {[]string{"hex", "00ff1b5b33316d77001bfe68790a", "exit", "1"}, "why"},
		"a long line":     {[]string{"err", strings.Repeat("ä", 2000), "exit", "1"}, strings.Repeat("ä", 100)},
		"a huge output":   {[]string{"flood", "50000000", "err", "the last word", "exit", "1"}, "the last word"},
		"killed":          {[]string{"err", "ouch", "strip", "stderr,stdin", "exit", "1"}, "ouch"},
		"words of a heir": {[]string{"leave", "all", "[", "err", "its child said this", "touch", "./there", "]", "await", "./there", "exit", "1"}, "its child said this"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			id, k := h.delivery(tc.steps...)
			k.want(queue.Failed)
			hd := h.wantFailed(id, queue.ReasonHandlerFailed, tc.text)
			if hd.End.Code == nil || *hd.End.Code == 0 {
				t.Errorf("exit code %v", hd.End.Code)
			}
			if strings.Contains(hd.End.Error, mayBe) {
				t.Errorf("the handler itself said that it failed, and the error is %q", hd.End.Error)
			}
			if left := h.runFiles(); len(left) > 0 {
				t.Errorf("run/ still holds %v", left)
			}
		})
	}
}

func TestFailureIsRecordedAlthoughNobodyReadsWhatTheHandlerSays(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "flood", "1000000", "err", "the last word", "exit", "1")
	id := h.request("chat")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := h.call(id)
	c.Report = filepath.Join(t.TempDir(), "report")
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testBinary(t), "keeper")
	cmd.Env, cmd.Stderr = append(cmd.Environ(), callVar+"="+string(data)), w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	h.until("the failure is recorded", func() bool { return h.get(id).State == string(queue.Failed) })
	h.wantFailed(id, queue.ReasonHandlerFailed, "the last word")
}

func TestCommandThatCannotBeStartedHasDeliveredNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.place.Platforms["chat"] = Platform{Command: []string{h.file("no such program")}, Timeout: time.Minute}
	id := h.request("chat")
	h.keep(id).want(queue.Failed)
	hd := h.wantFailed(id, queue.ReasonNotStarted, "nothing was delivered", "no such program")
	if strings.Contains(hd.End.Error, mayBe) {
		t.Errorf("error %q", hd.End.Error)
	}
	if left := h.runFiles(); len(left) > 0 {
		t.Errorf("run/ still holds %v", left)
	}
	h.platform("chat", "exit", "0")
	if _, err := h.queue.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	h.keep(id).want(queue.Completed)
	h.ran(1)
}

func TestCommandThatReportsItsOwnEndIsNotKilledForIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(h *home, id, claim string) (*fsstate.Handoff, error)
		code string
		want queue.State
	}{
		"delivered": {func(h *home, id, claim string) (*fsstate.Handoff, error) {
			return h.queue.Complete(h.Context(), id, claim)
		}, "3", queue.Completed},
		"not delivered": {func(h *home, id, claim string) (*fsstate.Handoff, error) {
			return h.queue.Fail(h.Context(), id, claim, "no such chat")
		}, "0", queue.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			id, k := h.delivery("say", "handler", "await", "./go", "exit", tc.code)
			pid := h.said("handler")
			if _, err := tc.end(h, id, h.get(id).Claim.Claimer.Instance); err != nil {
				t.Fatal(err)
			}
			before := h.get(id).End
			if err := process.Pause(t.Context(), 2*cancelPoll); err != nil { // in which the keeper looks, and is to do nothing
				t.Fatal(err)
			}
			if gone(pid) {
				t.Error("the command was killed")
			}
			h.touch("go")
			k.want(tc.want)
			if got := h.get(id).End; !reflect.DeepEqual(got, before) {
				t.Errorf("end %+v, then %+v", before, got)
			}
		})
	}
}

// tree is a handler with a descendant that left its session.
var tree = []string{
	"leave", "nothing", "[", "note", "./log", "ignore", "15", "say", "child", "await", "never", "]",
	"ignore", "2", "say", "handler", "await", "never",
}

func TestDeliveryThatIsEndedIsEndedWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout, drain time.Duration
		end            func(h *home, id string, k *keeper)
		reason         queue.Reason
		text           string
	}{
		"timeout": {timeout: time.Millisecond, reason: queue.ReasonTimedOut, text: mayBe},
		"cancel": {end: func(h *home, id string, _ *keeper) {
			hd, err := h.queue.Cancel(h.Context(), id)
			if err != nil || hd.State != string(queue.Running) {
				h.Fatal(hd, err)
			}
		}, reason: queue.ReasonDeliveryCancelled, text: mayBe},
		"ctrl-c":    {end: func(_ *home, _ string, k *keeper) { k.signal(syscall.SIGINT) }, reason: queue.ReasonDeliveryCancelled, text: mayBe},
		"drain ran": {drain: time.Millisecond, end: func(_ *home, _ string, k *keeper) { k.signal(syscall.SIGTERM) }, reason: queue.ReasonShutdown, text: mayBe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.platform("chat", tree...)
			p := h.place.Platforms["chat"]
			if tc.timeout > 0 { // it may not run out before the handler is where it should be
				p.Timeout = 3 * time.Second
			}
			h.place.Platforms["chat"] = p
			id := h.request("chat")
			c := h.call(id)
			c.Drain = tc.drain
			k := h.start(c)
			pids := []int{h.said("child"), h.said("handler")}
			if tc.end != nil {
				tc.end(h, id, k)
			}
			h.until("it has failed", func() bool { return h.get(id).State == string(queue.Failed) })
			for _, pid := range pids {
				if !gone(pid) {
					t.Errorf("it has failed, and pid %d lives", pid)
				}
			}
			h.wantFailed(id, tc.reason, tc.text)
			k.want(queue.Failed)
			h.ran(1)
		})
	}
}

func TestHandlerThatEndsPolitelyWhenItIsStoppedHasNotDelivered(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("polite", "0", "say", "here", "await", "never")
	h.said("here")
	if _, err := h.queue.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	k.want(queue.Failed)
	h.wantFailed(id, queue.ReasonDeliveryCancelled, mayBe)
}

func TestDeliveryThatFinishesWithinTheDrainIsCompleted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("say", "here", "await", "./go")
	h.said("here")
	k.signal(syscall.SIGTERM)
	h.until("the keeper drains", func() bool { return strings.Contains(k.said(), "shutting down") })
	h.wantState(id, queue.Running)
	h.touch("go")
	k.want(queue.Completed)
	h.wantState(id, queue.Completed)
	h.ran(1)
}

func TestSecondOrderEndsADrainingDeliveryAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("ignore", "15", "say", "here", "await", "never")
	h.said("here")
	k.signal(syscall.SIGTERM)
	h.until("the keeper drains", func() bool { return strings.Contains(k.said(), "shutting down") })
	k.signal(syscall.SIGTERM)
	began := time.Now()
	k.want(queue.Failed)
	if took := time.Since(began); took > killGrace {
		t.Errorf("it took %v", took)
	}
	h.wantFailed(id, queue.ReasonShutdown, mayBe)
}

func TestWhatASuccessfulHandlerLeftBehindIsEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("leave", "nothing", "[", "note", "./log", "say", "child", "await", "never", "]", "await", "./go")
	child := h.said("child")
	h.touch("go")
	k.want(queue.Completed)
	if !gone(child) {
		t.Errorf("pid %d lives", child)
	}
	h.wantState(id, queue.Completed)
}

func TestWhatAFailedHandlerLeftBehindIsEndedBeforeTheFailureIsRecorded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// Its child answers SIGTERM only when the test lets it, so that the failure would show first.
	id, k := h.delivery("leave", "nothing", "[", "note", "./log", "ignore", "15", "say", "child", "await", "never", "]", "await", "./go", "exit", "1")
	child, handler := h.said("child"), h.started(1)
	h.touch("go")
	h.awaitGone(handler)
	for !gone(child) {
		if s := h.get(id).State; s != string(queue.Running) && !gone(child) {
			t.Fatalf("it is %s, and its child lives", s)
		}
	}
	k.want(queue.Failed)
	h.wantFailed(id, queue.ReasonHandlerFailed)
}

func TestOfEightKeepersAtOnceOneDelivers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "await", "./go")
	id := h.request("chat")
	var all []*keeper
	for range 8 {
		all = append(all, h.keep(id))
	}
	h.until("seven were refused", func() bool {
		return len(slices.DeleteFunc(slices.Clone(all), func(k *keeper) bool { return !k.hasEnded() })) == 7
	})
	h.touch("go")
	won := 0
	for _, k := range all {
		switch r := k.wait(); {
		case r.State == queue.Completed:
			won++
		case r.Refused != queue.ReasonRunning:
			t.Errorf("keeper: %+v", r)
		}
	}
	if won != 1 {
		t.Errorf("%d keepers delivered it", won)
	}
	h.ran(1)
	if hd := h.wantState(id, queue.Completed); hd.Tries != 1 {
		t.Errorf("%s tries", strconv.Itoa(hd.Tries))
	}
}

package mockmodel

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const prompt = `{"stream": true, "instructions": "be brief", "input": [
	{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
	{"type": "message", "role": "assistant", "content": "three"}]}`

func TestAnswerIsStreamedWhole(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Text: "Grüße, 你好 and more"})
	got := readEvents(t, ask(t, s, prompt).body)

	if text := deltas(got); text != "Grüße, 你好 and more" {
		t.Errorf("deltas = %q", text)
	}
	types := make([]string, 0, len(got))
	for _, e := range got {
		types = append(types, e.Type)
	}
	want := []string{
		"response.created", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	request := waitState(t, s, 1, Completed)
	inputs := []Input{{"instructions", "be brief"}, {"user", "one"}, {"user", "two"}, {"assistant", "three"}}
	if diff := cmp.Diff(inputs, request.Inputs); diff != "" {
		t.Errorf("logged inputs (-want +got):\n%s", diff)
	}
	if request.Open() || !request.Aborted.IsZero() || request.End.Before(request.Start) {
		t.Errorf("a whole answer is logged as start %v, end %v, aborted %v", request.Start, request.End, request.Aborted)
	}
}

func TestStalledAnswerGoesOnWhenReleased(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Text: "abcd", Ending: Stall})
	body := ask(t, s, prompt).body
	if first := nextDelta(t, body); first != "ab" {
		t.Errorf("first half = %q", first)
	}
	if request := waitState(t, s, 1, Stalling); !request.Open() || request.Stalled.IsZero() {
		t.Errorf("stalled request is logged as over: %+v", request)
	}
	s.Release()
	if second := nextDelta(t, body); second != "cd" {
		t.Errorf("second half = %q", second)
	}
	if _, err := io.ReadAll(body); err != nil {
		t.Errorf("rest of a released answer: %v", err)
	}
	if request := waitState(t, s, 1, Completed); request.End.Before(request.Stalled) {
		t.Errorf("ended %v before it stalled %v", request.End, request.Stalled)
	}
}

func TestReleaseDoesNotReachLaterStalls(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Always(Answer{Ending: Stall})
	s.Release()
	ask(t, s, prompt)
	waitState(t, s, 1, Stalling)
	ask(t, s, prompt)
	waitState(t, s, 2, Stalling)
	if first := s.Requests()[0]; first.State != Stalling {
		t.Errorf("request 1 is %s without a release", first.State)
	}
}

func TestPeerThatGoesAwayMidAnswerIsLogged(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Ending: Stall})
	ctx, hangUp := context.WithCancel(t.Context())
	do(ctx, t, http.MethodPost, s.URL()+"/v1/responses", prompt)
	waitState(t, s, 1, Stalling)
	hangUp()
	if request := waitState(t, s, 1, PeerGone); request.Aborted.IsZero() || request.Open() {
		t.Errorf("peer's end is not logged: %+v", request)
	}
}

// Codex does so.
func TestPeerThatGoesAwayAfterTheLastEventHasAWholeAnswer(t *testing.T) {
	t.Parallel()
	s := start(t)
	for n := range 20 {
		ctx, hangUp := context.WithCancel(t.Context())
		body := do(ctx, t, http.MethodPost, s.URL()+"/v1/responses", prompt).body
		for e := (sse{}); e.Type != "response.completed"; {
			var err error
			if e, err = nextEvent(t, body); err != nil {
				t.Fatal(err)
			}
		}
		hangUp()
		waitState(t, s, n+1, Completed)
	}
}

func TestCutAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Text: "abcd", Ending: Cut})
	data, err := io.ReadAll(ask(t, s, prompt).body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reading a cut answer: %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if !strings.Contains(string(data), `"delta":"ab"`) || strings.Contains(string(data), "response.completed") {
		t.Errorf("cut answer holds\n%s", data)
	}
	waitState(t, s, 1, WasCut)
}

func TestRefusalCarriesStatusAndReason(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Status: http.StatusUnauthorized})
	response := ask(t, s, prompt)
	data, err := io.ReadAll(response.body)
	if err != nil {
		t.Fatal(err)
	}
	if response.status != http.StatusUnauthorized || !strings.Contains(string(data), `"code":"invalid_api_key"`) {
		t.Errorf("refusal: %d %s", response.status, data)
	}
	if request := waitState(t, s, 1, Refused); !request.Holds("two") {
		t.Errorf("refused request is logged without its inputs: %+v", request)
	}
}

func TestScriptIsUsedUpInOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Text: "first"}, Answer{Text: "second"})
	s.Always(Answer{Text: "ever after"})
	for i, want := range []string{"first", "second", "ever after", "ever after"} {
		if got := deltas(readEvents(t, ask(t, s, prompt).body)); got != want {
			t.Errorf("answer %d = %q, want %q", i+1, got, want)
		}
	}
}

func TestCloseEndsStalledAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{Ending: Stall})
	body := ask(t, s, prompt).body
	waitState(t, s, 1, Stalling)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := io.ReadAll(body); err == nil {
		t.Error("a stalled answer ended as if it were whole")
	}
	waitState(t, s, 1, WasCut)
}

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A reply is what the server has begun to answer.
type reply struct {
	status int
	body   *bufio.Reader
}

func ask(t *testing.T, s *Server, body string) reply {
	t.Helper()
	return do(t.Context(), t, http.MethodPost, s.URL()+"/v1/responses", body)
}

func do(ctx context.Context, t *testing.T, method, url, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return deliver(t, request)
}

func deliver(t *testing.T, request *http.Request) reply {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return reply{response.StatusCode, bufio.NewReader(response.Body)}
}

// waitState waits until request n is in the state, and returns it.
func waitState(t *testing.T, s *Server, n int, state State) Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := s.Wait(ctx, state.String(), func(requests []Request) bool {
		return len(requests) >= n && requests[n-1].State == state
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Requests()[n-1]
}

type sse struct {
	Type  string `json:"type"`
	Delta string `json:"delta"`
}

func readEvents(t *testing.T, body *bufio.Reader) []sse {
	t.Helper()
	var events []sse
	for {
		e, err := nextEvent(t, body)
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func nextDelta(t *testing.T, body *bufio.Reader) string {
	t.Helper()
	for {
		e, err := nextEvent(t, body)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "response.output_text.delta" {
			return e.Delta
		}
	}
}

// nextEvent reads one event and holds its name against its type: agents differ in which of the two they go by.
func nextEvent(t *testing.T, body *bufio.Reader) (sse, error) {
	t.Helper()
	name, err := body.ReadString('\n')
	if err != nil {
		return sse{}, err
	}
	data, err := body.ReadString('\n')
	if err != nil {
		return sse{}, err
	}
	if blank, err := body.ReadString('\n'); err != nil || blank != "\n" {
		t.Fatalf("after an event: %q, %v", blank, err)
	}
	var e sse
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &e); err != nil {
		t.Fatalf("event data %q: %v", data, err)
	}
	if name != "event: "+e.Type+"\n" {
		t.Fatalf("event %q carries type %q", name, e.Type)
	}
	return e, nil
}

func deltas(events []sse) string {
	var text strings.Builder
	for _, e := range events {
		text.WriteString(e.Delta)
	}
	return text.String()
}

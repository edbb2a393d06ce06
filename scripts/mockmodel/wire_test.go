package mockmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A dialect is a wire format as an agent speaks it, for what must hold in all of them.
type dialect struct {
	api    string
	stream string // the path of a streamed request
	whole  string // of one that is not; "" where the format knows only streams
	body   string // a request with the user's texts "one" and "two" and the tool "run"; %stream% is replaced
	tool   string // what a streamed call of run with {"cmd":"ls"} holds
	answer string // what a whole answer "äbcd" holds
	result string // a later request, with the tool's result "files"
}

var dialects = []dialect{
	{
		api: "responses", stream: "/v1/responses",
		body:   `{"stream":%stream%,"model":"m","instructions":"be brief","tools":[{"type":"function","name":"run"}],"input":[{"role":"user","content":"one"},{"role":"user","content":[{"type":"input_text","text":"two"}]}]}`,
		tool:   `"item":{"arguments":"{\"cmd\":\"ls\"}","call_id":"call_1","id":"fc_1","name":"run","status":"completed","type":"function_call"}`,
		result: `{"stream":true,"tools":[{"name":"run"}],"input":[{"role":"user","content":"two"},{"type":"function_call","call_id":"call_1","name":"run","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"files"}]}`,
	},
	{
		api: "messages", stream: "/v1/messages?beta=true", whole: "/v1/messages",
		body:   `{"stream":%stream%,"model":"m","system":[{"type":"text","text":"be brief"}],"tools":[{"name":"run"}],"messages":[{"role":"user","content":"one"},{"role":"user","content":[{"type":"text","text":"two"}]}]}`,
		tool:   `"delta":{"partial_json":"{\"cmd\":\"ls\"}","type":"input_json_delta"}`,
		answer: `"content":[{"text":"äbcd","type":"text"}]`,
		result: `{"stream":true,"tools":[{"name":"run"}],"messages":[{"role":"user","content":"two"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"run","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"files"}]}]}`,
	},
	{
		api: "gemini", stream: "/v1beta/models/m:streamGenerateContent?alt=sse", whole: "/v1beta/models/m:generateContent",
		body:   `{"systemInstruction":{"role":"user","parts":[{"text":"be brief"}]},"tools":[{"functionDeclarations":[{"name":"run"}]}],"contents":[{"role":"user","parts":[{"text":"one"},{"text":"two"}]}]}`,
		tool:   `{"functionCall":{"args":{"cmd":"ls"},"id":"call_1","name":"run"}}`,
		answer: `"parts":[{"text":"äbcd"}]`,
		result: `{"tools":[{"functionDeclarations":[{"name":"run"}]}],"contents":[{"role":"user","parts":[{"text":"two"}]},{"role":"model","parts":[{"functionCall":{"name":"run"}}]},{"role":"user","parts":[{"functionResponse":{"name":"run","response":{"output":"files"}}}]}]}`,
	},
	{
		api: "completions", stream: "/v1/chat/completions", whole: "/v1/chat/completions",
		body:   `{"stream":%stream%,"model":"m","tools":[{"type":"function","function":{"name":"run"}}],"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one"},{"role":"user","content":[{"type":"text","text":"two"}]}]}`,
		tool:   `"function":{"arguments":"{\"cmd\":\"ls\"}","name":"run"},"id":"call_1","index":0`,
		answer: `"message":{"content":"äbcd","role":"assistant"}`,
		result: `{"stream":true,"tools":[{"function":{"name":"run"}}],"messages":[{"role":"user","content":"two"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","function":{"name":"run"}}]},{"role":"tool","tool_call_id":"call_1","content":"files"}]}`,
	},
}

func (d dialect) ask(t *testing.T, s *Server) reply {
	t.Helper()
	return do(t.Context(), t, http.MethodPost, s.URL()+d.stream, strings.ReplaceAll(d.body, "%stream%", "true"))
}

func TestEveryFormatStreamsAndLogsTheSame(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Script(Answer{Text: "Grüße, 你好 and more"})
			if text := streamed(t, readAll(t, d.ask(t, s))); text != "Grüße, 你好 and more" {
				t.Errorf("streamed text = %q", text)
			}
			request := waitState(t, s, 1, Completed)
			inputs := []Input{{"instructions", "be brief"}, {"user", "one"}, {"user", "two"}}
			if diff := cmp.Diff(inputs, request.Inputs); diff != "" {
				t.Errorf("logged inputs (-want +got):\n%s", diff)
			}
			if request.API != d.api || request.Model != "m" || !request.Offers("run") || request.Offers("walk") {
				t.Errorf("logged as %s to model %q with tools %q", request.API, request.Model, request.Tools)
			}
			if last := request.LastUser(); last != "two" || !request.Holds("one") {
				t.Errorf("last text of the user = %q of %v", last, request.Inputs)
			}
		})
	}
}

func TestEveryFormatStallsInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Script(Answer{Text: "abcd", Ending: Stall})
			response := d.ask(t, s)
			waitState(t, s, 1, Stalling)
			s.Release()
			waitState(t, s, 1, Completed)
			if text := streamed(t, readAll(t, response)); text != "abcd" {
				t.Errorf("text of a released answer = %q", text)
			}
		})
	}
}

func TestEveryFormatIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Script(Answer{Text: "abcd", Ending: Cut, Tool: &Tool{Name: "run"}})
			data, err := io.ReadAll(d.ask(t, s).body)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading a cut answer: %v, want %v", err, io.ErrUnexpectedEOF)
			}
			if text := streamed(t, string(data)); text != "ab" {
				t.Errorf("text of a cut answer = %q, want its half", text)
			}
		})
	}
}

func TestEveryFormatCallsAToolAndThenAnswersItsResult(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			call := Answer{Text: "I call.", Tool: &Tool{Name: "run", Arguments: map[string]any{"cmd": "ls"}}}
			s.Script(call, Answer{Text: "abcd", Ending: Stall})
			called := readAll(t, d.ask(t, s))
			if !strings.Contains(called, d.tool) {
				t.Errorf("the call %s is not in\n%s", d.tool, called)
			}
			do(t.Context(), t, http.MethodPost, s.URL()+d.stream, d.result)
			request := waitState(t, s, 2, Stalling)
			if !request.Holds("files") || request.LastUser() != "two" {
				t.Errorf("request with a tool's result is logged as %v", request.Inputs)
			}
		})
	}
}

func TestEveryFormatAnswersWhole(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		if d.whole == "" { // it only streams
			continue
		}
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Script(Answer{Text: "äbcd"}, Answer{Text: "x", Tool: &Tool{Name: "run", Arguments: map[string]any{"cmd": "ls"}}})
			for _, want := range []string{d.answer, `"run"`} {
				data := readAll(t, do(t.Context(), t, http.MethodPost, s.URL()+d.whole, strings.ReplaceAll(d.body, "%stream%", "false")))
				if !json.Valid([]byte(data)) || !strings.Contains(data, want) {
					t.Errorf("whole answer, want %s in it:\n%s", want, data)
				}
			}
		})
	}
}

func TestEveryFormatRefuses(t *testing.T) {
	t.Parallel()
	for status, kinds := range map[int]string{
		http.StatusUnauthorized:        "invalid_api_key authentication_error UNAUTHENTICATED",
		http.StatusTooManyRequests:     "rate_limit_exceeded rate_limit_error RESOURCE_EXHAUSTED",
		http.StatusInternalServerError: "server_error api_error INTERNAL",
	} {
		for _, d := range dialects {
			t.Run(fmt.Sprintf("%d %s", status, d.api), func(t *testing.T) {
				t.Parallel()
				s := start(t)
				s.Script(Answer{Status: status})
				response := d.ask(t, s)
				data := readAll(t, response)
				named := false
				for kind := range strings.FieldsSeq(kinds) {
					named = named || strings.Contains(data, `"`+kind+`"`)
				}
				if response.status != status || !named {
					t.Errorf("refusal: %d, want %d and one of %s in\n%s", response.status, status, kinds, data)
				}
				if request := waitState(t, s, 1, Refused); !request.Holds("two") {
					t.Errorf("refused request is logged without its inputs: %+v", request)
				}
			})
		}
	}
}

func TestEveryFormatRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if response := do(t.Context(), t, http.MethodPost, s.URL()+d.stream, "not json"); response.status != http.StatusBadRequest {
				t.Errorf("status %d, want 400", response.status)
			}
			if request := waitState(t, s, 1, Refused); !strings.Contains(request.Error, "decode "+d.api+" request") {
				t.Errorf("logged error %q", request.Error)
			}
		})
	}
}

func readAll(t *testing.T, response reply) string {
	t.Helper()
	data, err := io.ReadAll(response.body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// streamed is the text of a streamed answer, in whatever format it is.
func streamed(t *testing.T, stream string) string {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.TrimSpace(data) == "[DONE]" {
			continue
		}
		var e struct {
			Delta      json.RawMessage
			Candidates []struct {
				Content struct{ Parts []struct{ Text string } }
			}
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("event data %q: %v", data, err)
		}
		var part struct{ Text string }
		var delta string
		if json.Unmarshal(e.Delta, &delta) == nil && strings.Contains(data, "output_text.delta") {
			text.WriteString(delta)
		} else if json.Unmarshal(e.Delta, &part) == nil {
			text.WriteString(part.Text)
		}
		for _, candidate := range e.Candidates {
			text.WriteString(candidate.Content.Parts[0].Text)
		}
		for _, choice := range e.Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	return text.String()
}

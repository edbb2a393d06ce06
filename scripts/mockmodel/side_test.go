package mockmodel

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSideRequestsTakeNothingFromTheScript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		userAgent, body string
		agent           string
		side            bool
	}{
		"a turn of Claude Code":   {"claude-cli/2.1 (external, cli)", `"tools":[{"function":{"name":"Bash"}}],"messages":[]`, "claude", false},
		"a title of Claude Code":  {"claude-cli/2.1 (external, cli)", `"messages":[]`, "claude", true},
		"a title of opencode":     {"opencode/1.18 ai-sdk", `"messages":[]`, "opencode", true},
		"a turn of Goose":         {"", `"tools":[{}],"messages":[{"role":"system","content":"You are a general-purpose AI agent called goose."}]`, "goose", false},
		"a name for Goose":        {"", `"messages":[{"role":"system","content":"Name the session."}]`, "", true},
		"a turn of Hermes":        {"OpenAI/Python 2.24.0", `"tools":[{}],"messages":[{"role":"system","content":"You are Hermes Agent, …"}]`, "hermes", false},
		"a title of Hermes":       {"OpenAI/Python 2.24.0", `"messages":[{"role":"system","content":"Write a title."}]`, "", true},
		"a turn of Aider":         {"OpenAI/Python 2.20.0", `"messages":[{"role":"system","content":"Act as an expert software developer."}]`, "aider", false},
		"somebody without tools":  {"curl/8", `"messages":[]`, "", false},
		"the user speaks of them": {"curl/8", `"messages":[{"role":"user","content":"You are Hermes Agent"}]`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Always(Answer{Text: "of the script"})
			data := readAll(t, as(t, c.userAgent, s.URL()+"/v1/chat/completions", `{`+c.body+`}`))
			turns, sides := s.Requests(), s.Sides()
			if (len(sides) == 1) != c.side || len(turns)+len(sides) != 1 {
				t.Fatalf("%d turns and %d sides, side: want %t", len(turns), len(sides), c.side)
			}
			if scripted := strings.Contains(data, "of the script"); scripted == c.side {
				t.Errorf("side %t is answered %s", c.side, data)
			}
			if request := append(turns, sides...)[0]; request.Agent != c.agent || request.N != 1 || request.UserAgent != c.userAgent {
				t.Errorf("logged as request %d of %q, User-Agent %q", request.N, request.Agent, request.UserAgent)
			}
		})
	}
}

func TestSideRequestForAnObjectGetsOne(t *testing.T) {
	t.Parallel()
	s := start(t)
	for url, body := range map[string]string{
		"/v1/messages":                     `{"messages":[],"output_config":{"format":{"type":"json_schema"}}}`,
		"/v1beta/models/m:generateContent": `{"contents":[],"generationConfig":{"responseMimeType":"application/json"}}`,
		"/v1/chat/completions":             `{"messages":[],"response_format":{"type":"json_object"}}`,
	} {
		if data := readAll(t, as(t, "claude-cli/2", s.URL()+url, body)); !strings.Contains(data, `\"next_speaker\":\"user\"`) {
			t.Errorf("%s is answered %s", url, data)
		}
	}
}

func TestQuestionsAboutModelsAreAnsweredAndNotLogged(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ method, path, want string }{
		{http.MethodGet, "/v1/models", `"id":"mock-model"`},
		{http.MethodPost, "/v1/messages/count_tokens?beta=true", `{"input_tokens":10}`},
		{http.MethodPost, "/v1beta/models/m:countTokens", `{"totalTokens":10}`},
	} {
		if data := readAll(t, do(t.Context(), t, c.method, s.URL()+c.path, "{}")); !strings.Contains(data, c.want) {
			t.Errorf("%s is answered %s, want %s in it", c.path, data, c.want)
		}
	}
	if len(s.Requests())+len(s.Sides())+len(s.Strays()) != 0 {
		t.Errorf("logged: %v, %v, %v", s.Requests(), s.Sides(), s.Strays())
	}
}

func TestGeminiAnswersTheMethodsThatAgentsCall(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i, call := range []string{"m:embedContent", "m", "m:streamGenerateContent"} { // the last without alt=sse
		response := do(t.Context(), t, http.MethodPost, s.URL()+"/v1beta/models/"+call, "{}")
		if response.status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", call, response.status)
		}
		if request := waitState(t, s, i+1, Refused); !strings.Contains(request.Error, "are answered") {
			t.Errorf("%s: logged error %q", call, request.Error)
		}
	}
}

func TestOtherPathsAreStrays(t *testing.T) {
	t.Parallel()
	s := start(t)
	response := do(t.Context(), t, http.MethodGet, s.URL()+"/v1/updates", "")
	if response.status != http.StatusNotFound {
		t.Errorf("status %d, want 404", response.status)
	}
	if diff := cmp.Diff([]string{"GET /v1/updates"}, s.Strays()); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
	if requests := s.Requests(); len(requests) != 0 {
		t.Errorf("a stray is logged as a model request: %+v", requests)
	}
}

// as is a request of an agent that names itself so; "" is one without a User-Agent.
func as(t *testing.T, userAgent, url, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", userAgent)
	return deliver(t, request)
}

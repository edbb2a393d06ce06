package mockmodel

import (
	"net/http"
	"strings"
)

// userAgents is how agents name themselves at the start of a User-Agent.
var userAgents = []struct{ prefix, agent string }{
	{"claude-cli/", "claude"},
	{"codex", "codex"},
	{"GeminiCLI", "gemini"},
	{"opencode/", "opencode"},
}

// introductions is how the others name themselves to the model.
var introductions = []struct{ part, agent string }{
	{"You are Hermes Agent", "hermes"},
	{"agent called goose", "goose"},
	{"Act as an expert software developer", "aider"},
}

// agentOf is the agent that asks, "" where it does not say.
func agentOf(userAgent string, inputs []Input) string {
	for _, known := range userAgents {
		if strings.HasPrefix(userAgent, known.prefix) {
			return known.agent
		}
	}
	for _, input := range inputs {
		for _, known := range introductions {
			if input.Role == "instructions" && strings.Contains(input.Text, known.part) {
				return known.agent
			}
		}
	}
	return ""
}

// side reports whether a request is one that an agent makes beside its turn: a title for the session, a summary, a
// question to a small model. What tells them apart is that nothing can be done in them: they offer no tools. Only Aider
// has none in a turn either. Who does not say what agent it is makes turns, but for two: in such a request Goose is known
// by having no User-Agent at all, and Hermes by that of its library.
func side(userAgent, agent string, q question) bool {
	if len(q.tools) > 0 || agent == "aider" {
		return false
	}
	return agent != "" || userAgent == "" || strings.HasPrefix(userAgent, "OpenAI/Python")
}

// sideAnswer pleases whoever asks beside a turn. The object has the fields that the agents ask for: a session's title, and
// whether it is the model's turn to speak (Gemini CLI goes on by itself if it is).
func sideAnswer(q question) Answer {
	if !q.format {
		return Answer{Text: "A title"}
	}
	return Answer{Text: string(encode(object{
		"title": "A title", "next_speaker": "user", "model_choice": "flash", "reasoning": "It is done.",
	}))}
}

// Sides returns the requests that agents made beside their turns, oldest first. They are answered whole, and take nothing
// from the script.
func (s *Server) Sides() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return snapshot(s.sides)
}

// harmless is the answers to questions about models rather than to them: the list of models, and how many tokens a request
// would be. Agents ask them before or beside a turn, and they are not logged.
var harmless = map[string]any{
	"GET /v1/models": object{"object": "list", "data": []any{
		object{"id": "mock-model", "object": "model", "created": 1, "owned_by": "mock", "context_length": 200_000},
	}},
	"POST /v1/messages/count_tokens": object{"input_tokens": 10},
}

func sendJSON(rw http.ResponseWriter, body any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = send(rw, encode(body)) // nobody waits for a peer that is gone
}

package mockmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// completions is OpenAI's Chat Completions API, which most agents speak to a provider that they do not know: POST
// /v1/chat/completions, streamed or not.
var completions = wire{
	api:     "completions",
	pattern: "POST /v1/chat/completions",
	read:    completionsRead,
	stream:  completionsStream,
	whole:   completionsWhole,
	refusal: completionsRefusal,
}

func completionsRead(_ *http.Request, body []byte) (question, error) {
	var request struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string            `json:"role"`
			Content json.RawMessage   `json:"content"`
			Calls   []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Stream bool `json:"stream"`
		Tools  []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Format json.RawMessage `json:"response_format"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return question{}, fmt.Errorf("decode completions request: %w", err)
	}
	q := question{model: request.Model, stream: request.Stream, format: len(request.Format) > 0}
	for _, tool := range request.Tools {
		q.tools = append(q.tools, tool.Function.Name)
	}
	for _, message := range request.Messages {
		if message.Role == "system" || message.Role == "developer" {
			message.Role = "instructions"
		}
		more, err := texts(message.Role, message.Content)
		if err != nil {
			return question{}, fmt.Errorf("decode content of completions request: %w", err)
		}
		q.inputs = append(q.inputs, more...)
		for _, call := range message.Calls {
			q.inputs = append(q.inputs, Input{Role: "tool_call", Text: string(call)})
		}
	}
	return q, nil
}

func completionsStream(s speech) (first, rest []byte) {
	var out bytes.Buffer
	completionsChunk(&out, s, object{"role": "assistant", "content": s.head}, nil)
	first = bytes.Clone(out.Bytes())

	out.Reset()
	completionsChunk(&out, s, object{"content": s.tail}, nil)
	if s.tool != nil {
		call := completionsCall(s)
		call["index"] = 0
		completionsChunk(&out, s, object{"tool_calls": []any{call}}, nil)
	}
	completionsChunk(&out, s, object{}, completionsFinish(s))
	// The usage comes behind the last choice, as with "stream_options": {"include_usage": true}.
	event(&out, completionsObject(s, "chat.completion.chunk", []any{}))
	fmt.Fprint(&out, "data: [DONE]\n\n")
	return first, out.Bytes()
}

func completionsWhole(s speech) any {
	message := object{"role": "assistant", "content": s.text()}
	if s.tool != nil {
		message["tool_calls"] = []any{completionsCall(s)}
	}
	return completionsObject(s, "chat.completion", []any{
		object{"index": 0, "message": message, "finish_reason": completionsFinish(s)},
	})
}

func completionsRefusal(status int) any {
	kind := refusalKind(status, "invalid_api_key", "rate_limit_exceeded", "invalid_request_error", "server_error")
	return object{"error": object{"message": refusalText(status), "type": kind, "code": kind, "param": nil}}
}

// completionsChunk appends one piece of a stream; finish is nil before the last.
func completionsChunk(out *bytes.Buffer, s speech, delta object, finish any) {
	chunk := completionsObject(s, "chat.completion.chunk", []any{object{"index": 0, "delta": delta, "finish_reason": finish}})
	delete(chunk, "usage")
	event(out, chunk)
}

func completionsObject(s speech, kind string, choices []any) object {
	return object{
		"id": fmt.Sprintf("chatcmpl-%d", s.n), "object": kind, "created": 1, "model": s.model, "choices": choices,
		"usage": object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
	}
}

func completionsCall(s speech) object {
	return object{
		"id": callID(s.n), "type": "function",
		"function": object{"name": s.tool.Name, "arguments": string(encode(s.tool.Arguments))},
	}
}

func completionsFinish(s speech) string {
	if s.tool != nil {
		return "tool_calls"
	}
	return "stop"
}

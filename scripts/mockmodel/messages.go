package mockmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// messages is Anthropic's Messages API: POST /v1/messages, streamed or not. A tool's call is a content block behind that of
// the text.
var messages = wire{
	api:     "messages",
	pattern: "POST /v1/messages",
	read:    messagesRead,
	stream:  messagesStream,
	whole:   messagesWhole,
	refusal: messagesRefusal,
}

func messagesRead(_ *http.Request, body []byte) (question, error) {
	var request struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Stream bool `json:"stream"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Output struct {
			Format json.RawMessage `json:"format"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return question{}, fmt.Errorf("decode messages request: %w", err)
	}
	q := question{model: request.Model, stream: request.Stream, format: len(request.Output.Format) > 0}
	for _, tool := range request.Tools {
		q.tools = append(q.tools, tool.Name)
	}
	system, err := texts("instructions", request.System)
	if err != nil {
		return question{}, fmt.Errorf("decode system of messages request: %w", err)
	}
	q.inputs = system
	for _, message := range request.Messages {
		more, err := texts(message.Role, message.Content)
		if err != nil {
			return question{}, fmt.Errorf("decode content of messages request: %w", err)
		}
		q.inputs = append(q.inputs, more...)
	}
	return q, nil
}

func messagesStream(s speech) (first, rest []byte) {
	var out bytes.Buffer
	event(&out, object{"type": "message_start", "message": messagesObject(s, []any{}, nil)})
	event(&out, object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	messagesDelta(&out, 0, object{"type": "text_delta", "text": s.head})
	first = bytes.Clone(out.Bytes())

	out.Reset()
	messagesDelta(&out, 0, object{"type": "text_delta", "text": s.tail})
	event(&out, object{"type": "content_block_stop", "index": 0})
	if s.tool != nil {
		event(&out, object{"type": "content_block_start", "index": 1, "content_block": messagesCall(s, object{})})
		messagesDelta(&out, 1, object{"type": "input_json_delta", "partial_json": string(encode(s.tool.Arguments))})
		event(&out, object{"type": "content_block_stop", "index": 1})
	}
	event(&out, object{
		"type": "message_delta", "delta": object{"stop_reason": messagesStop(s), "stop_sequence": nil},
		"usage": object{"output_tokens": 5},
	})
	event(&out, object{"type": "message_stop"})
	return first, out.Bytes()
}

func messagesWhole(s speech) any {
	content := []any{object{"type": "text", "text": s.text()}}
	if s.tool != nil {
		content = append(content, messagesCall(s, s.tool.Arguments))
	}
	return messagesObject(s, content, messagesStop(s))
}

func messagesRefusal(status int) any {
	kind := refusalKind(status, "authentication_error", "rate_limit_error", "invalid_request_error", "api_error")
	return object{"type": "error", "error": object{"type": kind, "message": refusalText(status)}}
}

func messagesDelta(out *bytes.Buffer, index int, delta object) {
	event(out, object{"type": "content_block_delta", "index": index, "delta": delta})
}

// messagesObject has the stop reason nil while it is not over.
func messagesObject(s speech, content []any, stop any) object {
	return object{
		"id": messageID(s.n), "type": "message", "role": "assistant", "model": s.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 5},
	}
}

func messagesCall(s speech, input object) object {
	return object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", s.n), "name": s.tool.Name, "input": input}
}

func messagesStop(s speech) string {
	if s.tool != nil {
		return "tool_use"
	}
	return "end_turn"
}

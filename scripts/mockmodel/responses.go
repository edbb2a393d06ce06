package mockmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// responses is OpenAI's Responses API as a coding agent uses it: POST /v1/responses with "stream": true, answered by
// server-sent events. The events are those that the API's reference lists for one message of text and one call of a
// function, in its order.
var responses = wire{
	api:     "responses",
	pattern: "POST /v1/responses",
	read:    responsesRead,
	stream:  responsesStream,
	refusal: responsesRefusal,
}

func responsesRead(_ *http.Request, body []byte) (question, error) {
	var request struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Stream       bool            `json:"stream"`
		Tools        []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return question{}, fmt.Errorf("decode responses request: %w", err)
	}
	if !request.Stream {
		return question{}, errors.New(`responses request without "stream": true: only streams are answered`)
	}
	q := question{model: request.Model, stream: true}
	for _, tool := range request.Tools {
		if tool.Name == "" { // one that the provider runs
			tool.Name = tool.Type
		}
		q.tools = append(q.tools, tool.Name)
	}
	if request.Instructions != "" {
		q.inputs = append(q.inputs, Input{Role: "instructions", Text: request.Instructions})
	}
	var text string
	if json.Unmarshal(request.Input, &text) == nil {
		q.inputs = append(q.inputs, Input{Role: "user", Text: text})
		return q, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(request.Input, &items); err != nil {
		return question{}, fmt.Errorf("decode input of responses request: %w", err)
	}
	for _, item := range items {
		more, err := responsesItem(item)
		if err != nil {
			return question{}, err
		}
		q.inputs = append(q.inputs, more...)
	}
	return q, nil
}

// responsesItem is the texts of one input item. What is no message (a tool's call, its output) is kept as it came.
func responsesItem(item json.RawMessage) ([]Input, error) {
	var message struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(item, &message); err != nil {
		return nil, fmt.Errorf("decode input item of responses request: %w", err)
	}
	if message.Role == "" {
		return []Input{{Role: message.Type, Text: string(item)}}, nil
	}
	inputs, err := texts(message.Role, message.Content)
	if err != nil {
		return nil, fmt.Errorf("decode content of input item of responses request: %w", err)
	}
	return inputs, nil
}

func responsesStream(s speech) (first, rest []byte) {
	var out bytes.Buffer
	event(&out, object{"type": "response.created", "response": responsesObject(s, "in_progress", []any{})})
	event(&out, object{"type": "response.output_item.added", "output_index": 0, "item": responsesMessage(s, "in_progress", []any{})})
	event(&out, object{
		"type": "response.content_part.added", "item_id": messageID(s.n), "output_index": 0, "content_index": 0,
		"part": responsesPart(""),
	})
	responsesDelta(&out, s.n, s.head)
	first = bytes.Clone(out.Bytes())

	out.Reset()
	responsesDelta(&out, s.n, s.tail)
	done := responsesMessage(s, "completed", []any{responsesPart(s.text())})
	event(&out, object{
		"type": "response.output_text.done", "item_id": messageID(s.n), "output_index": 0, "content_index": 0, "text": s.text(),
	})
	event(&out, object{
		"type": "response.content_part.done", "item_id": messageID(s.n), "output_index": 0, "content_index": 0,
		"part": responsesPart(s.text()),
	})
	event(&out, object{"type": "response.output_item.done", "output_index": 0, "item": done})
	output := []any{done}
	if s.tool != nil {
		output = append(output, responsesCall(&out, s))
	}
	completed := responsesObject(s, "completed", output)
	completed["usage"] = object{
		"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 5, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": 15,
	}
	event(&out, object{"type": "response.completed", "response": completed})
	return first, out.Bytes()
}

// responsesCall appends the events of a function's call, and returns the finished item.
func responsesCall(out *bytes.Buffer, s speech) object {
	arguments := string(encode(s.tool.Arguments))
	item := func(status, arguments string) object {
		return object{
			"type": "function_call", "id": fmt.Sprintf("fc_%d", s.n), "call_id": callID(s.n),
			"name": s.tool.Name, "arguments": arguments, "status": status,
		}
	}
	id := item("", "")["id"]
	event(out, object{"type": "response.output_item.added", "output_index": 1, "item": item("in_progress", "")})
	event(out, object{"type": "response.function_call_arguments.delta", "item_id": id, "output_index": 1, "delta": arguments})
	event(out, object{"type": "response.function_call_arguments.done", "item_id": id, "output_index": 1, "arguments": arguments})
	done := item("completed", arguments)
	event(out, object{"type": "response.output_item.done", "output_index": 1, "item": done})
	return done
}

func responsesRefusal(status int) any {
	kind := refusalKind(status, "invalid_api_key", "rate_limit_exceeded", "invalid_request_error", "server_error")
	return object{"error": object{"message": refusalText(status), "type": kind, "code": kind, "param": nil}}
}

func responsesDelta(out *bytes.Buffer, n int, text string) {
	event(out, object{
		"type": "response.output_text.delta", "item_id": messageID(n), "output_index": 0, "content_index": 0, "delta": text,
	})
}

func responsesObject(s speech, status string, output []any) object {
	return object{"id": fmt.Sprintf("resp_%d", s.n), "object": "response", "model": "mock-model", "status": status, "output": output}
}

func responsesMessage(s speech, status string, content []any) object {
	return object{"id": messageID(s.n), "type": "message", "role": "assistant", "status": status, "content": content}
}

func responsesPart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

package mockmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// responses is OpenAI's Responses API as a coding agent uses it: POST /v1/responses with "stream": true, answered by
// server-sent events. The events are those that the API's reference lists for one message of text, in its order.
var responses = wire{
	api:     "responses",
	path:    "/v1/responses",
	inputs:  responsesInputs,
	first:   responsesFirst,
	rest:    responsesRest,
	refusal: responsesRefusal,
}

// object is a JSON object; encoding/json sorts its keys, so equal answers are equal bytes.
type object = map[string]any

func responsesInputs(body []byte) ([]Input, error) {
	var request struct {
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Stream       bool            `json:"stream"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decode responses request: %w", err)
	}
	if !request.Stream {
		return nil, errors.New(`responses request without "stream": true: only streams are answered`)
	}
	var inputs []Input
	if request.Instructions != "" {
		inputs = append(inputs, Input{Role: "instructions", Text: request.Instructions})
	}
	var text string
	if json.Unmarshal(request.Input, &text) == nil {
		return append(inputs, Input{Role: "user", Text: text}), nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(request.Input, &items); err != nil {
		return nil, fmt.Errorf("decode input of responses request: %w", err)
	}
	for _, item := range items {
		more, err := responsesItem(item)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more...)
	}
	return inputs, nil
}

// responsesItem is the texts of one input item. What is no message (a tool's call, its output) is kept as it came: the
// log shows everything that the model was told.
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
	var text string
	if json.Unmarshal(message.Content, &text) == nil {
		return []Input{{Role: message.Role, Text: text}}, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(message.Content, &parts); err != nil {
		return nil, fmt.Errorf("decode content of input item of responses request: %w", err)
	}
	inputs := make([]Input, 0, len(parts))
	for _, part := range parts {
		inputs = append(inputs, Input{Role: message.Role, Text: part.Text})
	}
	return inputs, nil
}

func responsesFirst(n int, half string) []byte {
	var out bytes.Buffer
	event(&out, object{"type": "response.created", "response": responsesObject(n, "in_progress", nil)})
	event(&out, object{"type": "response.output_item.added", "output_index": 0, "item": responsesMessage(n, "in_progress", nil)})
	event(&out, object{
		"type": "response.content_part.added", "item_id": messageID(n), "output_index": 0, "content_index": 0,
		"part": responsesPart(""),
	})
	responsesDelta(&out, n, half)
	return out.Bytes()
}

func responsesRest(n int, text, half string) []byte {
	var out bytes.Buffer
	responsesDelta(&out, n, text[len(half):])
	done := responsesMessage(n, "completed", []any{responsesPart(text)})
	event(&out, object{
		"type": "response.output_text.done", "item_id": messageID(n), "output_index": 0, "content_index": 0, "text": text,
	})
	event(&out, object{
		"type": "response.content_part.done", "item_id": messageID(n), "output_index": 0, "content_index": 0,
		"part": responsesPart(text),
	})
	event(&out, object{"type": "response.output_item.done", "output_index": 0, "item": done})
	completed := responsesObject(n, "completed", []any{done})
	completed["usage"] = object{
		"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 5, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": 15,
	}
	event(&out, object{"type": "response.completed", "response": completed})
	return out.Bytes()
}

func responsesRefusal(status int) any {
	kind := "server_error"
	switch {
	case status == 401:
		kind = "invalid_api_key"
	case status == 429:
		kind = "rate_limit_exceeded"
	case status < 500:
		kind = "invalid_request_error"
	}
	return object{"error": object{
		"message": fmt.Sprintf("mock model refuses with status %d", status), "type": kind, "code": kind, "param": nil,
	}}
}

func responsesDelta(out *bytes.Buffer, n int, text string) {
	event(out, object{
		"type": "response.output_text.delta", "item_id": messageID(n), "output_index": 0, "content_index": 0, "delta": text,
	})
}

func responsesObject(n int, status string, output []any) object {
	if output == nil {
		output = []any{}
	}
	return object{"id": fmt.Sprintf("resp_%d", n), "object": "response", "model": "mock-model", "status": status, "output": output}
}

func responsesMessage(n int, status string, content []any) object {
	if content == nil {
		content = []any{}
	}
	return object{"id": messageID(n), "type": "message", "role": "assistant", "status": status, "content": content}
}

func responsesPart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

func messageID(n int) string { return fmt.Sprintf("msg_%d", n) }

// event appends one server-sent event, named after its type as the API does it.
func event(out *bytes.Buffer, data object) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err) // built above from strings and numbers
	}
	fmt.Fprintf(out, "event: %s\ndata: %s\n\n", data["type"], encoded)
}

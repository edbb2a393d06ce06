package mockmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// A wire is one provider's format.
type wire struct {
	api     string
	pattern string // of the requests to a model
	read    func(r *http.Request, body []byte) (question, error)
	// stream is the bytes of a streamed answer up to the middle of its text, and from there to its end.
	stream func(s speech) (first, rest []byte)
	// whole is the body of an answer that was not asked for as a stream.
	whole func(s speech) any
	// refusal is the body of an error status.
	refusal func(status int) any
}

// wires are all formats that a server speaks, side by side: their paths differ.
var wires = []wire{responses, messages, gemini, completions}

// A question is what a request says, in whatever format.
type question struct {
	model  string
	inputs []Input
	tools  []string // by name
	stream bool
	format bool // the answer must be a JSON object of the asker's design
	// harmless answers a question about the model rather than to it, where the path does not tell. It is not logged.
	harmless any
}

// answer is the two parts of what is sent. A body that is no stream is one JSON object, and is cut in its middle.
func (w wire) answer(q question, s speech) (first, rest []byte) {
	if q.stream {
		return w.stream(s)
	}
	body := encode(w.whole(s))
	return body[:len(body)/2], body[len(body)/2:]
}

// object is a JSON object; encoding/json sorts its keys, so equal answers are equal bytes.
type object = map[string]any

// event appends one server-sent event, named after its type where it has one, as the APIs do it.
func event(out *bytes.Buffer, data object) {
	if kind, ok := data["type"].(string); ok {
		fmt.Fprintf(out, "event: %s\n", kind)
	}
	fmt.Fprintf(out, "data: %s\n\n", encode(data))
}

// encode is for values that are built here, or were decoded from JSON.
func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}

// texts is the texts of content that is a string or a list of parts, as three of the four formats have it. What is no
// text (a tool's call, its result) is kept as it came, under its type: the log shows everything that the model was told.
func texts(role string, content json.RawMessage) ([]Input, error) {
	if len(content) == 0 || bytes.Equal(content, []byte("null")) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []Input{{Role: role, Text: text}}, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	inputs := make([]Input, 0, len(parts))
	for _, raw := range parts {
		var part struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, err
		}
		if part.Text != nil {
			inputs = append(inputs, Input{Role: role, Text: *part.Text})
		} else {
			inputs = append(inputs, Input{Role: part.Type, Text: string(raw)})
		}
	}
	return inputs, nil
}

// refusalKind is a provider's word for a status.
func refusalKind(status int, unauthorized, limited, invalid, server string) string {
	switch {
	case status == http.StatusUnauthorized:
		return unauthorized
	case status == http.StatusTooManyRequests:
		return limited
	case status < http.StatusInternalServerError:
		return invalid
	default:
		return server
	}
}

func refusalText(status int) string { return fmt.Sprintf("mock model refuses with status %d", status) }

func messageID(n int) string { return fmt.Sprintf("msg_%d", n) }

func callID(n int) string { return fmt.Sprintf("call_%d", n) }

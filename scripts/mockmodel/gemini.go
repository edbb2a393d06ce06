package mockmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// gemini is Google's Gemini API: POST /v1beta/models/MODEL:METHOD, where the method says whether the answer is streamed.
// A stream is answered as server-sent events, which is how the agents ask for it (alt=sse).
var gemini = wire{
	api:     "gemini",
	pattern: "POST /v1beta/models/{call}",
	read:    geminiRead,
	stream:  geminiStream,
	whole:   geminiWhole,
	refusal: geminiRefusal,
}

// The methods of a model.
const (
	geminiStreams = "streamGenerateContent"
	geminiAnswers = "generateContent"
	geminiCounts  = "countTokens"
)

type geminiContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

func geminiRead(r *http.Request, body []byte) (question, error) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	q := question{model: model, stream: method == geminiStreams}
	if method == geminiCounts {
		return question{harmless: object{"totalTokens": 10}}, nil
	}
	if method != geminiAnswers && (!q.stream || r.FormValue("alt") != "sse") {
		return question{}, fmt.Errorf("gemini request for %q: only %s, and %s with alt=sse, are answered", r.URL, geminiAnswers, geminiStreams)
	}
	var request struct {
		Instruction json.RawMessage `json:"systemInstruction"`
		Contents    []geminiContent `json:"contents"`
		Tools       []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MIME string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return question{}, fmt.Errorf("decode gemini request: %w", err)
	}
	q.format = request.Config.MIME == "application/json"
	for _, tool := range request.Tools {
		for _, function := range tool.Functions {
			q.tools = append(q.tools, function.Name)
		}
	}
	if len(request.Instruction) > 0 {
		var instruction geminiContent
		if err := json.Unmarshal(request.Instruction, &instruction); err != nil {
			return question{}, fmt.Errorf("decode system instruction of gemini request: %w", err)
		}
		instruction.Role = "instructions"
		request.Contents = append([]geminiContent{instruction}, request.Contents...)
	}
	for _, content := range request.Contents {
		if content.Role == "model" {
			content.Role = "assistant"
		}
		for _, raw := range content.Parts {
			input, err := geminiPart(content.Role, raw)
			if err != nil {
				return question{}, err
			}
			q.inputs = append(q.inputs, input)
		}
	}
	return q, nil
}

// geminiPart is the text of one part. A part has no type, only a field of its kind: what is no text is kept as it came.
func geminiPart(role string, raw json.RawMessage) (Input, error) {
	var part struct {
		Text     *string         `json:"text"`
		Call     json.RawMessage `json:"functionCall"`
		Response json.RawMessage `json:"functionResponse"`
	}
	if err := json.Unmarshal(raw, &part); err != nil {
		return Input{}, fmt.Errorf("decode part of gemini request: %w", err)
	}
	switch {
	case part.Text != nil:
		return Input{Role: role, Text: *part.Text}, nil
	case part.Call != nil:
		return Input{Role: "functionCall", Text: string(raw)}, nil
	case part.Response != nil:
		return Input{Role: "functionResponse", Text: string(raw)}, nil
	default:
		return Input{Role: "part", Text: string(raw)}, nil
	}
}

func geminiStream(s speech) (first, rest []byte) {
	var head, tail bytes.Buffer
	event(&head, geminiObject(s, "", object{"text": s.head}))
	event(&tail, geminiObject(s, "STOP", geminiParts(s, s.tail)...))
	return head.Bytes(), tail.Bytes()
}

func geminiWhole(s speech) any { return geminiObject(s, "STOP", geminiParts(s, s.text())...) }

func geminiParts(s speech, text string) []object {
	parts := []object{{"text": text}}
	if s.tool != nil {
		parts = append(parts, object{"functionCall": object{"id": callID(s.n), "name": s.tool.Name, "args": s.tool.Arguments}})
	}
	return parts
}

func geminiRefusal(status int) any {
	kind := refusalKind(status, "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "INTERNAL")
	return object{"error": object{"code": status, "message": refusalText(status), "status": kind}}
}

func geminiObject(s speech, finish string, parts ...object) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"responseId": messageID(s.n), "modelVersion": s.model, "candidates": []any{candidate},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	}
}

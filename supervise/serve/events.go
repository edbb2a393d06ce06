package serve

import (
	"encoding/json"
	"errors"
	"strings"
)

// known names the session, and deals with what came before it was known.
func (w *work) known(session string) error {
	early := w.early
	w.session, w.early = session, nil
	for _, f := range early {
		if err := w.take(f); err != nil {
			return err
		}
	}
	return nil
}

// take deals with what was not asked for: events, and what the backend wants of a person. What another session wants is
// for its own client to answer; what names none is asked of this one.
func (w *work) take(f frame) error {
	kind, asks := strings.CutSuffix(f.Params.Type, ".request")
	request := f.Method != "event" && len(f.ID) > 0 && string(f.ID) != "null"
	switch {
	case f.Method == "":
		return nil
	case w.session == "":
		switch f.Params.Type {
		case "message.start", "message.complete", "error", "session.reclaimed":
			w.early = append(w.early, f)
		default:
			if request || asks {
				w.early = append(w.early, f)
			}
		}
		return nil
	case request && (f.Params.Session == "" || f.Params.Session == w.session):
		return w.send(map[string]any{"id": f.ID, "result": answer(f.Method)})
	case f.Method != "event" || f.Params.Session != w.session:
		return nil
	case f.Params.Type == "message.start":
		w.started, w.failed = true, nil
	case f.Params.Type == "message.complete":
		w.ends = append(w.ends, endOf(f))
	case f.Params.Type == "error":
		end := endOf(f)
		w.failed = &end
	case f.Params.Type == "session.reclaimed":
		return errors.New("the session was reclaimed")
	case asks:
		return w.decline(kind, f)
	}
	return nil
}

// answer is what a person who is not there says to a request.
func answer(method string) map[string]any {
	switch method {
	case "approval":
		return map[string]any{"choice": "deny"}
	case "clarify":
		return map[string]any{"answers": map[string]any{}}
	}
	return map[string]any{"value": ""}
}

// decline answers what older versions ask by an event, with a call.
func (w *work) decline(kind string, f frame) error {
	var payload struct {
		Request json.RawMessage `json:"request_id"`
	}
	_ = json.Unmarshal(f.Params.Payload, &payload)
	params := map[string]any{"session_id": f.Params.Session}
	if kind == "approval" {
		params["choice"] = "deny"
	} else {
		if len(payload.Request) == 0 {
			return nil
		}
		params["request_id"], params["answer"], params["value"], params["password"] = payload.Request, "", "", ""
	}
	w.next++
	return w.send(map[string]any{"id": w.next, "method": kind + ".respond", "params": params})
}

func endOf(f frame) End {
	var p struct {
		Text    string `json:"text"`
		Status  string `json:"status"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(f.Params.Payload, &p)
	end := End{Status: Complete, Text: p.Text}
	switch {
	case p.Status == string(Interrupted):
		end.Status = Interrupted
	case p.Status == string(Failed) || f.Params.Type == "error":
		end.Status = Failed
		for _, text := range []string{p.Message, p.Error, p.Text} {
			if text != "" {
				end.Text = text
			}
		}
	}
	return end
}

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Turn is what is to go on.
type Turn struct {
	Session string // Hermes's stored id of the session, which its marker is called by
	Profile string // of the session, where the backend serves several; "": its own
	Prompt  string // the note with the original prompt
}

// Status is how a turn ended.
type Status string

// The three ends of a turn, in Hermes's words.
const (
	Complete    Status = "complete"
	Failed      Status = "error"
	Interrupted Status = "interrupted"
)

// End is the end of a turn.
type End struct {
	Status Status
	Text   string // the answer, or what went wrong
	Taken  bool   // Hermes was at it itself: nothing was prompted
}

// Progress is told once: the turn is at work, and whether Hermes had taken it itself.
type Progress func(taken bool)

// replyWait bounds one reply: a cold resume reads a whole transcript.
const replyWait = 2 * time.Minute

// Continue resumes the session and sees the turn to its end. The error is a *BusyError where somebody else has the session,
// or the backend cannot be reached, and nothing has begun; any other says that the turn's end is not known. When stop is closed the turn is interrupted.
func (b Backend) Continue(ctx context.Context, t Turn, stop <-chan struct{}, begun Progress) (End, error) {
	w := &work{backend: b, turn: t, stop: stop, begun: begun}
	end, err := w.converse(ctx)
	return b.told(end, err, w.given)
}

// told is what leaves this package: nothing in it has the secret, whoever put it there.
func (b Backend) told(end End, err error, given bool) (End, error) {
	end.Text = hide(end.Text, b.Secret)
	if err == nil {
		return end, nil
	}
	text := hide(err.Error(), b.Secret)
	busy := refusal(err)
	if _, lost := errors.AsType[*lostError](err); lost && !given {
		busy = &BusyError{Reason: "SERVICE_NOT_REACHED"}
	}
	if busy != nil {
		return End{}, &BusyError{Reason: busy.Reason, Detail: text}
	}
	return End{}, errors.New("hermes serve: " + text)
}

// work is one conversation.
type work struct {
	*conn

	backend Backend
	turn    Turn
	stop    <-chan struct{}
	begun   Progress
	given   bool // prompt.submit was sent: from then on a lost connection says nothing about the turn

	session string  // the backend's own id of it, once it is known
	early   []frame // what came before that
	ends    []End   // what has ended in it
}

// resumed is what is read of a reply to session.resume.
type resumed struct {
	Session      string          `json:"session_id"`
	Running      bool            `json:"running"`
	AutoContinue json.RawMessage `json:"auto_continue"`
}

func (r resumed) taken() bool {
	auto := bytes.TrimSpace(r.AutoContinue)
	return r.Running || len(auto) > 0 && !bytes.Equal(auto, []byte("null")) && !bytes.Equal(auto, []byte("false"))
}

// converse is one connection, from the dial to the end of the turn.
func (w *work) converse(ctx context.Context) (End, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := dial(ctx, w.backend)
	if err != nil {
		return End{}, err
	}
	defer c.ws.conn.Close() //nolint:errcheck // it has served its end
	go c.ws.keepAlive(ctx)
	w.conn = c
	return w.carryOut(ctx)
}

func (w *work) carryOut(ctx context.Context) (End, error) {
	t := w.turn
	params := map[string]any{"session_id": t.Session, "cols": 80, "omit_messages": true}
	if t.Profile != "" {
		params["profile"] = t.Profile
	}
	var r resumed
	if err := w.ask(ctx, "session.resume", params, &r); err != nil {
		return End{}, err
	}
	if r.Session == "" {
		return End{}, errors.New("session.resume names no session")
	}
	if err := w.known(r.Session); err != nil {
		return End{}, err
	}
	if stopped(w.stop) {
		return End{Status: Interrupted}, nil // nothing was begun
	}
	awaited := 1
	if !r.taken() {
		w.ends = nil // of what was at work there before: a session is idle only after it has told its end
		w.given = true
		var submitted struct {
			Status string `json:"status"`
		}
		err := w.ask(ctx, "prompt.submit", map[string]any{"session_id": w.session, "text": t.Prompt, "display_kind": "hidden"}, &submitted)
		if err != nil {
			return End{}, err
		}
		if submitted.Status == "queued" { // somebody was faster: theirs ends first
			awaited = 2
		}
	}
	w.begun(r.taken())
	end, err := w.await(ctx, awaited)
	end.Taken = r.taken()
	return end, err
}

// ask is a call with a time limit, whose result is read into v.
func (w *work) ask(ctx context.Context, method string, params map[string]any, v any) error {
	ctx, cancel := context.WithTimeout(ctx, replyWait)
	defer cancel()
	result, err := w.call(ctx, method, params, w.take)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := json.Unmarshal(result, v); err != nil {
		return fmt.Errorf("%s: reply not understood: %w", method, err)
	}
	return nil
}

// await reads until the session has ended so many turns. The interrupt of a turn is its end too.
func (w *work) await(ctx context.Context, n int) (End, error) {
	stop := w.stop
	frames, lost := make(chan frame), make(chan error, 1)
	go func() {
		for {
			f, err := w.read(ctx)
			if err != nil {
				lost <- err
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		if len(w.ends) >= n {
			return w.ends[n-1], nil
		}
		select {
		case <-stop:
			stop = nil
			w.next++
			err := w.send(map[string]any{"id": w.next, "method": "session.interrupt", "params": map[string]any{"session_id": w.session}})
			if err != nil {
				return End{}, err
			}
		case f := <-frames:
			if err := w.take(f); err != nil {
				return End{}, err
			}
		case err := <-lost:
			return End{}, err
		}
	}
}

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
		if request || asks || f.Params.Type == "message.complete" || f.Params.Type == "session.reclaimed" {
			w.early = append(w.early, f)
		}
		return nil
	case request && (f.Params.Session == "" || f.Params.Session == w.session):
		return w.send(map[string]any{"id": f.ID, "result": answer(f.Method)})
	case f.Method != "event" || f.Params.Session != w.session:
		return nil
	case f.Params.Type == "message.complete", f.Params.Type == "error":
		w.ended(f)
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

func (w *work) ended(f frame) {
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
	w.ends = append(w.ends, end)
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// refusals are Hermes's words for a session that somebody else has, or that it cannot take now.
var refusals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`SESSION_NOT_OWNED|MAX_CONCURRENT_SESSIONS|SESSION_COORDINATION_UNAVAILABLE`)
})

// Codes of refusals: somebody else has the session, or works in it.
const (
	codeNotOwned = 4090
	codeBusy     = 4009
)

// refusal is err as one that spends no attempt; nil where it is none.
func refusal(err error) *BusyError {
	rpc, ok := errors.AsType[*rpcError](err)
	if !ok {
		return nil
	}
	if word := refusals().FindString(rpc.Message + " " + string(rpc.Data)); word != "" {
		return &BusyError{Reason: word, Detail: rpc.Message}
	}
	if rpc.Code == codeNotOwned || rpc.Code == codeBusy {
		return &BusyError{Reason: "SESSION_NOT_OWNED", Detail: rpc.Message}
	}
	return nil
}

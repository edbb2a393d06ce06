package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// Turn is what is to go on.
type Turn struct {
	Session string // Hermes's stored id of the session, which its marker is called by
	Profile string // of the session, where the backend serves several; "": its own
	Prompt  string // the note with the original prompt
	ID      string // tells this turn of the session from others; "": each call is a turn of its own
}

// Status is how a turn ended.
type Status string

// The ends of a turn, the first three in Hermes's words.
const (
	Complete    Status = "complete"
	Failed      Status = "error"
	Interrupted Status = "interrupted"
	Unseen      Status = "unseen" // the backend lives and is done with it, and how it ended was told to nobody here
)

// End is the end of a turn.
type End struct {
	Status Status
	Text   string // the answer, or what went wrong
}

// Progress is told once: the turn is at work, and whether Hermes had taken it itself.
type Progress func(taken bool)

// replyWait bounds one reply: a cold resume reads a whole transcript.
const replyWait = 2 * time.Minute

// Continue resumes the session and sees the turn to its end. The error is a *BusyError where somebody else has the session,
// or the backend cannot be reached, and nothing has begun; any other says that the turn's end is not known. When stop is
// closed the turn is interrupted.
func (b Backend) Continue(ctx context.Context, t Turn, stop <-chan struct{}, tell Progress) (End, error) {
	w := &work{backend: b, turn: t, stop: stop, begun: once(tell), kept: givenOf(b, t)}
	switch w.given = w.kept.read(); w.given { // an end is there where whoever saw it has not been heard
	case Complete, Unseen:
		return End{Status: Unseen}, nil
	case Failed:
		return End{Status: Failed, Text: "Hermes has ended the turn with an error"}, nil
	case Interrupted:
		return End{Status: Interrupted}, nil
	case asking, begun: // it is looked for first
	}
	for wait := firstAgain; ; wait = min(2*wait, lastAgain) {
		end, err := w.converse(ctx)
		if err == nil && w.given != "" {
			_ = w.kept.write(end.Status) // it is told now; this is for a keeper that does not hear it
		}
		// The turn goes on while its backend lives: a connection is no part of it.
		if _, lost := errors.AsType[*lostError](err); !lost || w.given == "" && !w.watched || ctx.Err() != nil || !b.living() {
			return b.told(end, err, w.given != "" || w.watched)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// Between two tries to reach a backend again that lives.
const (
	firstAgain = 100 * time.Millisecond
	lastAgain  = 5 * time.Second
)

// told is what leaves this package: nothing in it has the secret, whoever put it there.
func (b Backend) told(end End, err error, given bool) (End, error) {
	end.Text = hide(end.Text, b.Secret)
	if err == nil {
		return end, nil
	}
	text := hide(err.Error(), b.Secret)
	busy := refusal(err)
	if own, is := errors.AsType[*BusyError](err); is {
		busy, text = own, hide(own.Detail, b.Secret)
	}
	if _, lost := errors.AsType[*lostError](err); lost && !given {
		busy = &BusyError{Reason: "SERVICE_NOT_REACHED"}
	}
	if busy != nil {
		return End{}, &BusyError{Reason: busy.Reason, Detail: text}
	}
	return End{}, errors.New("hermes serve: " + text)
}

// once has it told once, however often the connection is lost.
func once(tell Progress) Progress {
	told := false
	return func(taken bool) {
		if !told {
			told = true
			tell(taken)
		}
	}
}

// work is one call of Continue.
type work struct {
	*conn

	backend Backend
	turn    Turn
	stop    <-chan struct{}
	begun   Progress
	kept    given
	given   Status // what the backend was given of the turn: from then on a lost connection says nothing about it
	watched bool   // Hermes has taken the turn itself
	started bool   // it was seen at work

	session string  // the backend's own id of it, once it is known
	early   []frame // what came before that
	ends    []End   // what has ended in it
	failed  *End    // an error after which nothing has come yet: the end, or one after which Hermes goes on
}

// resumed is what is read of a reply to session.resume.
type resumed struct {
	Session      string          `json:"session_id"`
	Running      bool            `json:"running"`
	AutoContinue json.RawMessage `json:"auto_continue"`
	Queued       json.RawMessage `json:"queued"` // a prompt that waits for the end of what runs
}

func (r resumed) taken() bool  { return r.Running || r.queued() || says(r.AutoContinue) }
func (r resumed) queued() bool { return says(r.Queued) }

// says tells whether a field is there and holds something.
func says(field json.RawMessage) bool {
	field = bytes.TrimSpace(field)
	return len(field) > 0 && !bytes.Equal(field, []byte("null")) && !bytes.Equal(field, []byte("false"))
}

// converse is one connection, from the dial to the end of the turn.
func (w *work) converse(ctx context.Context) (End, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := dial(ctx, w.backend)
	if err != nil {
		return End{}, err
	}
	defer c.ws.close()
	go c.ws.keepAlive(ctx)
	w.conn, w.session, w.early, w.ends, w.failed = c, "", nil, nil, nil
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
	switch {
	case stopped(w.stop) && w.given == "":
		return End{Status: Interrupted}, nil // nothing was begun
	case r.taken():
		w.began(r)
		if w.given != "" && r.Running && r.queued() { // ours waits for another
			return w.await(ctx, 2)
		}
		return w.await(ctx, 1)
	case len(w.ends) > 0 && w.given != "":
		return w.ends[len(w.ends)-1], nil
	case w.given == begun || w.started:
		return End{Status: Unseen}, nil
	case w.given == asking: // it was not taken, or is over: the next try prompts again, with a note that says so
		_ = w.kept.write("")
		return End{}, errors.New("the backend was lost while it was given the prompt")
	case w.watched:
		return End{}, errNotDone
	}
	return w.submit(ctx)
}

// began is said of a turn that the backend is at.
func (w *work) began(r resumed) {
	if w.given == "" {
		w.watched = true
		w.begun(true)
	}
	if r.Running {
		w.started = true
		w.give(begun)
	}
}

func (w *work) give(s Status) {
	if w.given != s {
		w.given = s
		_ = w.kept.write(s) // lost, it costs another continuation, which is told to verify
	}
}

// submit prompts. That it is about to comes first.
func (w *work) submit(ctx context.Context) (End, error) {
	if err := w.kept.write(asking); err != nil {
		return End{}, &BusyError{Reason: "NOT_RECORDED", Detail: err.Error()}
	}
	w.given = asking
	w.ends, w.failed = nil, nil // of what was at work there before: a session is idle only after it has told its end
	var submitted struct {
		Status string `json:"status"`
	}
	err := w.ask(ctx, "prompt.submit", map[string]any{"session_id": w.session, "text": w.turn.Prompt, "display_kind": "hidden"}, &submitted)
	if _, refused := errors.AsType[*rpcError](err); refused {
		w.given = ""
		_ = w.kept.write("")
	}
	if err != nil {
		return End{}, err
	}
	w.give(begun)
	w.begun(false)
	if submitted.Status == "queued" { // somebody was faster: theirs ends first
		return w.await(ctx, 2)
	}
	return w.await(ctx, 1)
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

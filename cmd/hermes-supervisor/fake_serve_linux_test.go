package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/shirou/gopsutil/v4/process"

	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/policy"
)

// fakeServe is `hermes serve` as its clients know it. Files in its home say how it behaves:
//
//	turn        a person's turn is begun at the start, of that prompt in session work; the file goes
//	auto        it continues such turns itself
//	running     its sessions are at work
//	approval    a prompt asks for an approval
//	fatal       a prompt kills it
//	hanging     a prompt is never done
//	slow        it is done when there is a file finish, and there is one ended then
//	deaf        nobody is let in
//	mute        no end is told
//	closes      the connection is closed when it has taken a prompt; the file goes
//	notowned    another backend has the sessions
//	lease       it has the session open in Hermes's registry, from its start on; the file goes
//	fails       how a prompt ends, as interrupted
//	queued      somebody else is faster
//
// It writes down every prompt in "prompts", every answer to an approval in "answers", every interrupt in "interrupts".
func fakeServe(home string, args []string) int {
	appendLine(filepath.Join(home, "starts"), strings.Join(args, " "))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &fakeBackend{home: home, token: os.Getenv("HERMES_DASHBOARD_SESSION_TOKEN")}
	if prompt, err := os.ReadFile(filepath.Join(home, "turn")); err == nil {
		s.mark("work", string(prompt), 0)
		if err := os.Remove(filepath.Join(home, "turn")); err != nil {
			panic(err)
		}
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() { // it retires its turns as if they had concluded: NousResearch/hermes-agent#81319
		<-term
		markers, _ := hermes.ReadMarkers(home)
		for _, m := range markers {
			if m.WriterPID == os.Getpid() {
				_ = hermes.ClearMarker(home, m.Session, m.StartedAt, time.Now())
			}
		}
		os.Exit(0)
	}()
	if there(home, "lease") {
		replaceJSON(filepath.Join(home, "runtime", "active_sessions.json"), map[string]any{"entries": []any{map[string]any{
			"lease_id": "l1", "session_id": "work", "surface": "desktop", "pid": os.Getpid(), "process_start_time": startOfSelf(),
		}}})
		if err := os.Remove(filepath.Join(home, "lease")); err != nil {
			panic(err)
		}
	}
	fmt.Fprintf(os.Stdout, "HERMES_BACKEND_READY port=%d\n", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

type fakeBackend struct {
	home, token string
	mu          sync.Mutex
	working     atomic.Bool                // a prompt is not done
	hears       atomic.Pointer[fakeClient] // who has resumed the session last
}

// startOfSelf is when this process was created, as psutil has it.
func startOfSelf() float64 {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		panic(err)
	}
	created, err := p.CreateTime()
	if err != nil {
		panic(err)
	}
	return float64(created) / 1000
}

// mark records a turn as a backend does: with itself as its writer.
func (s *fakeBackend) mark(session, prompt string, attempts int) {
	err := hermes.RecordMarker(s.home, hermes.Marker{
		Session: session, Prompt: prompt, Attempts: attempts, AutoContinue: true,
		HasWriter: true, WriterPID: os.Getpid(), WriterStart: startOfSelf(),
	}, time.Now())
	if err != nil {
		panic(err)
	}
}

func (s *fakeBackend) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/ws" || s.token == "" || subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(s.token)) == 0 {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	if there(s.home, "deaf") {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	c := &fakeClient{fakeBackend: s, ws: ws, ctx: r.Context()}
	c.event("gateway.ready", "", map[string]any{})
	for {
		_, data, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params map[string]any  `json:"params"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(data, &call) != nil {
			continue
		}
		if call.Method == "" { // the answer to our request
			appendLine(filepath.Join(s.home, "answers"), string(call.ID)+" "+string(call.Result))
			c.complete(map[string]any{"status": "complete", "text": "done without it"})
			continue
		}
		c.called(call.ID, call.Method, call.Params)
	}
}

// fakeClient is one connection.
type fakeClient struct {
	*fakeBackend

	ws      *websocket.Conn
	profile any             // that its session was resumed in
	ctx     context.Context //nolint:containedctx // it lives exactly as long as the connection
}

func (c *fakeClient) send(v map[string]any) {
	v["jsonrpc"] = "2.0"
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_ = c.ws.Write(c.ctx, websocket.MessageText, data)
}

func (c *fakeClient) event(kind, session string, payload map[string]any) {
	c.send(map[string]any{"method": "event", "params": map[string]any{"type": kind, "session_id": session, "payload": payload}})
}

// complete ends the turn: its entry goes before anybody is told.
func (c *fakeClient) complete(payload map[string]any) {
	if err := hermes.ClearMarker(c.home, "work", 0, time.Now()); err != nil {
		panic(err)
	}
	c.working.Store(false)
	if !there(c.home, "mute") {
		c.hears.Load().event("message.complete", "run-1", payload)
	}
}

// finish ends a slow turn when it is told to.
func (c *fakeClient) finish() {
	for !there(c.home, "finish") {
		time.Sleep(10 * time.Millisecond)
	}
	c.complete(map[string]any{"status": "complete", "text": "all done"})
	appendLine(filepath.Join(c.home, "ended"), "")
}

func (c *fakeClient) called(id json.RawMessage, method string, params map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := func(result map[string]any) { c.send(map[string]any{"id": id, "result": result}) }
	refuse := func(code int, message string) {
		c.send(map[string]any{"id": id, "error": map[string]any{"code": code, "message": message}})
	}
	done := map[string]any{"status": "complete", "text": "all done"}
	switch method {
	case "session.resume":
		c.profile = params["profile"]
		c.hears.Store(c)
		result := map[string]any{"session_id": "run-1", "stored_session_id": params["session_id"], "running": c.working.Load(), "auto_continue": nil}
		switch {
		case params["session_id"] != "work":
			refuse(4007, "session not found")
			return
		case there(c.home, "notowned"):
			refuse(4090, "session is open in another Hermes (SESSION_NOT_OWNED)")
			return
		case there(c.home, "auto"):
			c.mark("work", "as it was", 1)
			result["auto_continue"] = map[string]any{"attempt": 1, "interrupted_at": 1.5}
			c.event("message.complete", "another", done) // of a session that is none of the client's
			reply(result)
			c.complete(done)
			return
		case there(c.home, "running"):
			result["running"] = true
			reply(result)
			c.complete(done)
			return
		}
		reply(result)
	case "prompt.submit":
		text, _ := params["text"].(string)
		line, _ := json.Marshal(map[string]any{"session": params["session_id"], "original": policy.Original(text), "note": text != policy.Original(text), "kind": params["display_kind"], "profile": c.profile})
		appendLine(filepath.Join(c.home, "prompts"), string(line))
		c.mark("work", text, 0)
		if there(c.home, "fatal") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		c.working.Store(true)
		status := "streaming"
		if there(c.home, "queued") {
			status = "queued"
		}
		reply(map[string]any{"status": status})
		switch {
		case there(c.home, "hanging"):
		case there(c.home, "slow"):
			go c.finish()
			go func() { // the client has heard of it by then
				time.Sleep(300 * time.Millisecond)
				appendLine(filepath.Join(c.home, "begun"), "")
			}()
			if there(c.home, "closes") {
				if err := os.Remove(filepath.Join(c.home, "closes")); err != nil {
					panic(err)
				}
				_ = c.ws.CloseNow()
			}
		case there(c.home, "approval"):
			c.send(map[string]any{"id": "r1", "method": "approval", "params": map[string]any{"session_id": "run-1", "command": "rm -rf /"}})
		case there(c.home, "fails"):
			c.complete(map[string]any{"status": "error", "error": "the provider refuses the key"})
		case there(c.home, "interrupted"):
			c.complete(map[string]any{"status": "interrupted"})
		case there(c.home, "queued"):
			c.complete(map[string]any{"status": "error", "error": "the other one's"})
			c.complete(done)
		default:
			c.event("approval.request", "another", nil)
			c.complete(done)
		}
	case "session.active_list":
		status := "idle"
		if c.working.Load() {
			status = "working"
		}
		reply(map[string]any{"sessions": []any{map[string]any{"id": "run-1", "session_key": "work", "status": status}}})
	case "session.interrupt":
		appendLine(filepath.Join(c.home, "interrupts"), fmt.Sprint(params["session_id"]))
		reply(map[string]any{"status": "interrupted"})
		c.complete(map[string]any{"status": "interrupted"})
	default:
		appendLine(filepath.Join(c.home, "answers"), method+" "+fmt.Sprint(params["choice"]))
		reply(map[string]any{})
	}
}

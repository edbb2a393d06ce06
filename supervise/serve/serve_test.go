package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const secret = "5ec2e7"

// backend is a server that answers each call with the frames that the script has for its method; "ID" stands for the call's,
// and "METHOD 2" for the second call.
func backend(t *testing.T, script map[string][]string) (b Backend, calls func() []string) {
	t.Helper()
	got := make(chan string, 1000)
	var asked sync.Mutex
	times := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("token") != secret {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		for {
			_, data, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			var call struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Result json.RawMessage `json:"result"`
			}
			_ = json.Unmarshal(data, &call)
			got <- call.Method + string(call.Result)
			asked.Lock()
			times[call.Method]++
			answers, again := script[fmt.Sprint(call.Method, " ", times[call.Method])]
			asked.Unlock()
			if !again {
				answers = script[call.Method]
			}
			for _, answer := range answers {
				if answer == "close" {
					return
				}
				_ = ws.Write(r.Context(), websocket.MessageText, []byte(strings.ReplaceAll(answer, "ID", string(call.ID))))
			}
		}
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return Backend{Port: at.Port(), Secret: secret}, func() (all []string) {
		for {
			select {
			case call := <-got:
				all = append(all, call)
			default:
				return all
			}
		}
	}
}

func event(kind, session, payload string) string {
	return `{"jsonrpc":"2.0","method":"event","params":{"type":"` + kind + `","session_id":"` + session + `","payload":` + payload + `}}`
}

const (
	idle    = `{"jsonrpc":"2.0","id":ID,"result":{"session_id":"r1","running":false,"auto_continue":null}}`
	taken   = `{"jsonrpc":"2.0","id":ID,"result":{"session_id":"r1","running":false,"auto_continue":{"attempt":1}}}`
	running = `{"jsonrpc":"2.0","id":ID,"result":{"session_id":"r1","running":true}}`
	streams = `{"jsonrpc":"2.0","id":ID,"result":{"status":"streaming"}}`
)

func TestContinue(t *testing.T) {
	t.Parallel()
	done := event("message.complete", "r1", `{"status":"complete","text":"ok"}`)
	for _, tc := range []struct {
		name   string
		script map[string][]string
		calls  string
		want   End
		fails  string // "busy", or a part of the error
	}{
		{"idle", map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, done}}, "session.resume prompt.submit", End{Status: Complete, Text: "ok"}, ""},
		{"its end comes before the reply", map[string][]string{"session.resume": {idle}, "prompt.submit": {done, streams}}, "session.resume prompt.submit", End{Status: Complete, Text: "ok"}, ""},
		{"taken by Hermes, done before the reply", map[string][]string{"session.resume": {done, taken}}, "session.resume", End{Status: Complete, Text: "ok"}, ""},
		{"an end of an earlier turn comes before the prompt", map[string][]string{
			"session.resume": {event("message.complete", "r1", `{"status":"complete","text":"old"}`), idle}, "prompt.submit": {streams, done},
		}, "session.resume prompt.submit", End{Status: Complete, Text: "ok"}, ""},
		{"running", map[string][]string{"session.resume": {running, done}}, "session.resume", End{Status: Complete, Text: "ok"}, ""},
		{"an end of another session", map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("message.complete", "r2", `{}`), "close"}}, "session.resume prompt.submit", End{}, "connection lost"},
		{"interrupted", map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("message.complete", "r1", `{"status":"interrupted"}`)}}, "session.resume prompt.submit", End{Status: Interrupted}, ""},
		{"an error of Hermes's", map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("message.complete", "r1", `{"status":"error","error":"no key"}`)}}, "session.resume prompt.submit", End{Status: Failed, Text: "no key"}, ""},
		{"an agent that cannot be made", map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("error", "r1", `{"message":"no provider"}`)}, "session.active_list": {listed("idle")}}, "session.resume prompt.submit session.active_list session.active_list", End{Status: Failed, Text: "no provider"}, ""},
		{"garbage in between", map[string][]string{"session.resume": {"{", "[]", `{"id":"ID"}`, `{"method":5}`, idle}, "prompt.submit": {"null", streams, done}}, "session.resume prompt.submit", End{Status: Complete, Text: "ok"}, ""},
		{"questions", map[string][]string{
			"session.resume": {idle},
			"prompt.submit": {
				streams, `{"jsonrpc":"2.0","id":"q1","method":"approval","params":{}}`, `{"jsonrpc":"2.0","id":"q2","method":"sudo","params":{}}`,
				event("approval.request", "r1", `{}`), event("clarify.request", "r1", `{"request_id":"c"}`),
			},
			"clarify.respond": {done},
		}, `session.resume prompt.submit {"choice":"deny"} {"value":""} approval.respond clarify.respond`, End{Status: Complete, Text: "ok"}, ""},
		{"questions of other sessions", map[string][]string{
			"session.resume": {
				event("approval.request", "r2", `{}`), `{"jsonrpc":"2.0","id":"q1","method":"approval","params":{"session_id":"r2"}}`,
				`{"jsonrpc":"2.0","id":"q2","method":"approval","params":{"session_id":"r1"}}`, idle,
			},
			"prompt.submit": {streams, event("approval.request", "r2", `{}`), `{"jsonrpc":"2.0","id":"q3","method":"approval","params":{"session_id":"r2"}}`, done},
		}, `session.resume {"choice":"deny"} prompt.submit`, End{Status: Complete, Text: "ok"}, ""},
		{"owned by another", map[string][]string{"session.resume": {`{"id":ID,"error":{"code":4090,"message":"in use"}}`}}, "session.resume", End{}, "busy"},
		{"too many", map[string][]string{"session.resume": {`{"id":ID,"error":{"code":1,"message":"x","data":{"reason":"MAX_CONCURRENT_SESSIONS"}}}`}}, "session.resume", End{}, "busy"},
		{"unknown session", map[string][]string{"session.resume": {`{"id":ID,"error":{"code":4007,"message":"session not found"}}`}}, "session.resume", End{}, "session not found"},
		{"closed before the resume was answered", map[string][]string{"session.resume": {"close"}}, "session.resume", End{}, "busy"},
		{"died before the reply", map[string][]string{"session.resume": {idle}, "prompt.submit": {"close"}}, "session.resume prompt.submit", End{}, "prompt.submit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, calls := backend(t, tc.script)
			b.every = 30 * time.Millisecond
			end, err := b.Continue(t.Context(), Turn{Session: "s", Prompt: "p"}, nil, func(bool) {})
			asked := calls()
			for len(asked) > 4 && asked[len(asked)-1] == asked[len(asked)-3] { // on a busy machine it asks more often than twice
				asked = asked[:len(asked)-1]
			}
			if all := strings.Join(asked, " "); all != tc.calls {
				t.Errorf("calls: %s", all)
			}
			_, busy := errors.AsType[*BusyError](err)
			switch {
			case tc.fails == "" && (err != nil || end != tc.want):
				t.Errorf("%+v, %v", end, err)
			case tc.fails != "" && err == nil, (tc.fails == "busy") != busy:
				t.Errorf("%v", err)
			case tc.fails != "" && !busy && !strings.Contains(err.Error(), tc.fails):
				t.Errorf("%v", err)
			}
		})
	}
}

func TestWhatIsToldHasNoSecret(t *testing.T) {
	t.Parallel()
	closed := listen(t, func(conn net.Conn, in *bufio.Reader) {
		if shake(conn, in) == nil {
			_, _ = io.WriteString(conn, "\x88\x08\x03\xf3"+secret)
			_, _ = io.Copy(io.Discard, in)
		}
	})
	status := listen(t, func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, "HTTP/1.1 "+secret+" no\r\n\r\n") })
	scripted := func(script map[string][]string) Backend { b, _ := backend(t, script); return b }
	for name, b := range map[string]Backend{
		"nobody listens": {Port: "1", Secret: secret},
		"refused":        func() Backend { b := scripted(nil); b.Secret = "other-" + secret; return b }(),
		"its status":     {Port: status, Secret: secret},
		"closed":         {Port: closed, Secret: secret},
		"not owned":      scripted(map[string][]string{"session.resume": {`{"id":ID,"error":{"code":4090,"message":"` + secret + `"}}`}}),
		"an error":       scripted(map[string][]string{"session.resume": {`{"id":ID,"error":{"code":1,"message":"` + secret + `"}}`}}),
		"a failed turn":  scripted(map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("message.complete", "r1", `{"status":"error","error":"`+secret+`"}`)}}),
		"an answer":      scripted(map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, event("message.complete", "r1", `{"text":"`+secret+`"}`)}}),
	} {
		end, err := b.Continue(t.Context(), Turn{Session: "s"}, nil, func(bool) {})
		text := fmt.Sprint(end, err)
		if busy, is := errors.AsType[*BusyError](err); is {
			text += busy.Reason + busy.Detail
		}
		if end.Text == "" && err == nil || strings.Contains(text, secret) || strings.Contains(text, "token") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestBackendThatCannotBeReachedHasNotBegun(t *testing.T) {
	t.Parallel()
	refusing, _ := backend(t, nil)
	refusing.Secret = "another"
	for name, b := range map[string]Backend{"nobody listens": {Port: "1"}, "no port": {Port: "99999"}, "refused": refusing} {
		_, err := b.Continue(t.Context(), Turn{Session: "s"}, nil, func(bool) {})
		if busy, is := errors.AsType[*BusyError](err); !is || busy.Reason != "SERVICE_NOT_REACHED" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStopInterruptsTheTurn(t *testing.T) {
	t.Parallel()
	b, calls := backend(t, map[string][]string{
		"session.resume": {idle}, "prompt.submit": {streams},
		"session.interrupt": {`{"id":ID,"result":{"status":"interrupted"}}`, event("message.complete", "r1", `{"status":"interrupted"}`)},
	})
	stop := make(chan struct{})
	end, err := b.Continue(t.Context(), Turn{Session: "s"}, stop, func(bool) { close(stop) })
	if all := strings.Join(calls(), " "); err != nil || end.Status != Interrupted || all != "session.resume prompt.submit session.interrupt" {
		t.Errorf("%+v, %v, calls: %s", end, err, all)
	}
}

func TestStopBeforeThePromptBeginsNothing(t *testing.T) {
	t.Parallel()
	b, calls := backend(t, map[string][]string{"session.resume": {idle}})
	stop := make(chan struct{})
	close(stop)
	end, err := b.Continue(context.WithoutCancel(t.Context()), Turn{Session: "s"}, stop, func(bool) {})
	if all := strings.Join(calls(), " "); err != nil || end.Status != Interrupted || all != "session.resume" {
		t.Errorf("%+v, %v, calls: %s", end, err, all)
	}
}

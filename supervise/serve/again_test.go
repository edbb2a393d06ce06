package serve

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

// listed is the answer to a look that finds the session so.
func listed(status string) string {
	return `{"jsonrpc":"2.0","id":ID,"result":{"sessions":[{"id":"other","status":"idle"},{"id":"r1","session_key":"s","status":"` + status + `"}]}}`
}

func TestTurnIsSeenToItsEndThroughWhateverLooksLikeOne(t *testing.T) {
	t.Parallel()
	done, failed := event("message.complete", "r1", `{"text":"ok"}`), event("error", "r1", `{"message":"no title"}`)
	busy, quiet := listed("working"), listed("idle")
	const gone, unknown = `{"id":ID,"result":{"sessions":[]}}`, `{"id":ID,"error":{"code":-32601,"message":"no such method"}}`
	for name, tc := range map[string]struct {
		script map[string][]string
		dead   bool
		want   End
		fails  string
	}{
		"the connection is lost, and the turn goes on": {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, "close"}, "session.resume 2": {running, done}}, false, End{Status: Complete, Text: "ok"}, ""},
		"the connection is lost, and the turn ends":    {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, "close"}, "session.resume 2": {idle}}, false, End{Status: Unseen}, ""},
		"it is lost more than once":                    {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, "close"}, "session.resume 2": {"close"}, "session.resume 3": {idle}}, false, End{Status: Unseen}, ""},
		"it is lost before the prompt was taken":       {map[string][]string{"session.resume": {idle}, "prompt.submit": {"close"}}, false, End{}, "while it was given"},
		"it was taken, and the reply is lost":          {map[string][]string{"session.resume": {idle}, "prompt.submit": {"close"}, "session.resume 2": {running, done}}, false, End{Status: Complete, Text: "ok"}, ""},
		"the backend dies":                             {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, "close"}}, true, End{}, "connection lost"},
		"Hermes's own turn ends while nobody listens":  {map[string][]string{"session.resume": {running, "close"}, "session.resume 2": {idle}}, false, End{Status: Unseen}, ""},
		"Hermes does not do what it has taken":         {map[string][]string{"session.resume": {taken}, "session.active_list": {quiet}}, false, End{}, "did not"},
		"an error, and the turn goes on":               {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, failed}, "session.active_list": {busy}, "session.active_list 4": {done, quiet}}, false, End{Status: Complete, Text: "ok"}, ""},
		"an error, and a turn begins":                  {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, failed, event("message.start", "r1", `{}`)}, "session.active_list": {quiet}}, false, End{Status: Unseen}, ""},
		"an error that is the end":                     {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, failed}, "session.active_list": {quiet}}, false, End{Status: Failed, Text: "no title"}, ""},
		"an error of a Hermes that does not list":      {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams, failed}, "session.active_list": {unknown}}, false, End{Status: Failed, Text: "no title"}, ""},
		"an error before the prompt":                   {map[string][]string{"session.resume": {failed, idle}, "prompt.submit": {streams}, "session.active_list": {quiet}}, false, End{Status: Unseen}, ""},
		"running, and no end comes":                    {map[string][]string{"session.resume": {running}, "session.active_list": {busy}, "session.active_list 3": {quiet}, "session.active_list 4": {quiet}}, false, End{Status: Unseen}, ""},
		"the session is gone":                          {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams}, "session.active_list": {gone}}, false, End{Status: Unseen}, ""},
		"idle once, between two steps":                 {map[string][]string{"session.resume": {idle}, "prompt.submit": {streams}, "session.active_list": {quiet}, "session.active_list 2": {busy}, "session.active_list 3": {quiet}, "session.active_list 4": {done}}, false, End{Status: Complete, Text: "ok"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, calls := backend(t, tc.script)
			b.every, b.lives = 30*time.Millisecond, func() bool { return !tc.dead }
			end, err := b.Continue(t.Context(), Turn{Session: "s", Prompt: "p"}, nil, func(bool) {})
			if n := strings.Count(fmt.Sprint(calls()), "prompt.submit"); n > 1 {
				t.Errorf("%d prompts", n)
			}
			if end != tc.want || (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%+v, %v", end, err)
			}
			if _, busy := errors.AsType[*BusyError](err); busy {
				t.Errorf("%v", err)
			}
		})
	}
}

// withFiles gives a backend what is kept on disk of one launch.
func withFiles(t *testing.T, b Backend, instance string) Backend {
	t.Helper()
	home := t.TempDir()
	store, err := fsstate.Open(fsstate.Home{Path: home, Root: home}, fsstate.Options{UnsafeFilesystem: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	b.files, b.instance = fsstate.ServiceFiles{Store: store, Key: []byte("key")}, instance
	return b
}

func TestWhoAsksAgainDoesNotPromptAgain(t *testing.T) {
	t.Parallel()
	done := event("message.complete", "r1", `{"text":"ok"}`)
	for name, tc := range map[string]struct {
		kept    Status
		resumed []string
		want    End
		prompts int
		after   Status
	}{
		"it is done":                  {begun, []string{idle}, End{Status: Unseen}, 0, Unseen},
		"it goes on":                  {begun, []string{running, done}, End{Status: Complete, Text: "ok"}, 0, Complete},
		"perhaps prompted, at work":   {asking, []string{running, done}, End{Status: Complete, Text: "ok"}, 0, Complete},
		"perhaps prompted, not at it": {asking, []string{idle}, End{}, 0, ""},
		"its end was seen":            {Complete, nil, End{Status: Unseen}, 0, Complete},
		"its interrupt was seen":      {Interrupted, nil, End{Status: Interrupted}, 0, Interrupted},
		"nothing is known":            {"", []string{idle}, End{Status: Complete, Text: "ok"}, 1, Complete},
	} {
		b, calls := backend(t, map[string][]string{"session.resume": tc.resumed, "prompt.submit": {streams, done}})
		b = withFiles(t, b, "0123456789abcdef0123456789abcdef")
		turn := Turn{Session: "s", Prompt: "p", ID: "1"}
		kept := givenOf(b, turn)
		if err := kept.write(tc.kept); err != nil {
			t.Fatal(err)
		}
		end, err := b.Continue(t.Context(), turn, nil, func(bool) {})
		if end != tc.want || (err == nil) != (tc.want != End{}) {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
		if n := strings.Count(fmt.Sprint(calls()), "prompt.submit"); n != tc.prompts || kept.read() != tc.after {
			t.Errorf("%s: %d prompts, kept: %q", name, n, kept.read())
		}
	}
}

func TestWhatOthersWroteKeepsNoTurnFromGoingOn(t *testing.T) {
	t.Parallel()
	b := withFiles(t, Backend{}, "0123456789abcdef0123456789abcdef")
	mine := givenOf(b, Turn{Session: "s", ID: "1"})
	other := givenOf(b, Turn{Session: "s", ID: "2"})
	if err := mine.write(Complete); err != nil || other.read() != "" {
		t.Fatalf("%v, of another turn: %q", err, other.read())
	}
	text, _, err := b.files.Store.Read(fsstate.Run, mine.file)
	if err == nil {
		err = b.files.Store.Write(fsstate.Run, other.file, text)
	}
	if err != nil || other.read() != "" {
		t.Errorf("copied: %q, %v", other.read(), err)
	}
	if err := b.files.Store.Write(fsstate.Run, mine.file, []byte(`{"version":1,"status":"complete"}`)); err != nil || mine.read() != "" {
		t.Errorf("without a seal: %q, %v", mine.read(), err)
	}
}

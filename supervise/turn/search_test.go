//go:build linux

package turn

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

func TestSearchFindsTheAgentsOwnWordInTheTail(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	events := Events{
		End: regexp.MustCompile(`^\{"type":"turn.completed"`), Error: regexp.MustCompile(`^\{"type":"turn.failed"`),
		Busy: regexp.MustCompile(`SESSION_NOT_OWNED`), RateLimit: regexp.MustCompile(`(?i)rate.?limit`),
	}
	const end = `{"type":"turn.completed","usage":{}}`
	for name, c := range map[string]struct {
		out, err string
		want     seen
	}{
		"nothing":                     {"", "", seen{}},
		"the end":                     {"a\n" + end + "\n", "", seen{end: true}},
		"the end without a newline":   {"a\n" + end, "", seen{end: true}},
		"the end with CRLF":           {end + "\r\nbye\r\n", "", seen{end: true}},
		"an end on stderr is none":    {"", end + "\n", seen{}},
		"within a line is none":       {"x " + end + "\n", "", seen{}},
		"a handled error":             {`{"type":"turn.failed"}` + "\n", "", seen{failed: true}},
		"busy, on either":             {"", "error: SESSION_NOT_OWNED\n", seen{busy: true}},
		"limited, on either":          {"Rate limit\n", "", seen{rateLimit: true}},
		"after a line beyond the end": {strings.Repeat("x", 2*tailSize) + "\n" + end + "\n", "", seen{end: true}},
		"before the tail":             {end + "\n" + strings.Repeat("x", tailSize) + "\n", "", seen{}},
		"a long line in the tail":     {end + strings.Repeat("x", tailSize/2) + "\n", "", seen{end: true}},
	} {
		instance := ident.NewInstance()
		for suffix, text := range map[string]string{".out": c.out, ".err": c.err} {
			if err := os.WriteFile(h.room.Store.Path(fsstate.Run, instance+suffix), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := h.room.search(instance, Agent{Events: events}); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
		if got, err := h.room.search(instance, Agent{}); err != nil || got != (seen{}) {
			t.Errorf("%s, for an agent without events: %+v, %v", name, got, err)
		}
	}
	quoted := ident.NewInstance()
	text := []byte("SESSION_NOT_OWNED\nrate limit\nno such session\n")
	if err := os.WriteFile(h.room.Store.Path(fsstate.Run, quoted+".out"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	strict := Agent{Events: events, Own: picked, OnStderr: OnStderr{UnknownSession: true, Busy: true, RateLimit: true}}
	if got, err := h.room.search(quoted, strict); err != nil || got != (seen{}) {
		t.Errorf("words of an answer, where stderr alone counts: %+v, %v", got, err)
	}
	if err := os.WriteFile(h.room.Store.Path(fsstate.Run, quoted+".err"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := h.room.search(quoted, strict); err != nil || got != (seen{busy: true, rateLimit: true, unknown: true}) {
		t.Errorf("said on stderr: %+v, %v", got, err)
	}
	if got, err := h.room.search(ident.NewInstance(), Agent{Events: events}); err != nil || got != (seen{}) {
		t.Errorf("no output: %+v, %v", got, err)
	}
	fifo := ident.NewInstance()
	if err := os.Mkdir(h.room.Store.Path(fsstate.Run, fifo+".out"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := h.room.search(fifo, Agent{Events: events}); err == nil {
		t.Error("what is no file was searched")
	}
}

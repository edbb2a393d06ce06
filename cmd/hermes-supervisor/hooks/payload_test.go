package hooks

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience is far beyond what a slow machine needs.
const patience = 30 * time.Second

func TestReadFindsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", MaxPayload)
	for name, tc := range map[string]struct {
		in   string
		want Payload
		bad  bool
	}{
		"whole":              {`{"event":"Stop","id":"a","extra":{"deep":{"prompt":"p"}}}`, Payload{"event": "Stop", "id": "a", "extra.deep.prompt": "p"}, false},
		"more behind it":     {`{"event":"Stop"}` + "\n{]", Payload{"event": "Stop"}, false},
		"other members":      {`{"a":[{"event":"no"}],"b":null,"event":"Stop","c":{"id":"no"}}`, Payload{"event": "Stop"}, false},
		"wrong types":        {`{"event":1,"id":["a"],"extra":"no"}`, Payload{}, false},
		"null":               {`{"event":null,"id":{},"extra":{"deep":null}}`, Payload{}, false},
		"twice":              {`{"event":"a","event":"b"}`, Payload{"event": "b"}, false},
		"escapes":            {`{"event":"\u0000\ud800é\n"}`, Payload{"event": "\x00\ufffdé\n"}, false},
		"bad UTF-8":          {"{\"event\":\"\xff\"}", Payload{"event": "\ufffd"}, false},
		"empty":              {"", Payload{}, true},
		"empty object":       {"{}", Payload{}, false},
		"binary":             {"\x7fELF\x00\x01", Payload{}, true},
		"a list":             {`["event"]`, Payload{}, true},
		"a text":             {`"event"`, Payload{}, true},
		"cut in a value":     {`{"event":"Stop","id":"a`, Payload{"event": "Stop"}, true},
		"cut behind a value": {`{"event":"Stop"`, Payload{"event": "Stop"}, true},
		"too long at the end": {
			`{"event":"Stop","id":"a","last_assistant_message":"` + big + `"}`, Payload{"event": "Stop", "id": "a"}, true,
		},
		"too long before": {`{"last_assistant_message":"` + big + `","event":"Stop"}`, Payload{}, true},
		"deep":            {`{"event":"Stop","x":` + strings.Repeat("[", 20_000), Payload{"event": "Stop"}, true},
	} {
		got, err := Read(strings.NewReader(tc.in), patience, "event", "id", "extra.deep.prompt")
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.bad {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if err != nil && strings.Contains(err.Error(), "Stop") {
			t.Errorf("%s: the error tells of the event: %v", name, err)
		}
	}
}

// An agent may keep the pipe open, having written a whole event or a part of one.
func TestReadWaitsForNoEnd(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, `{"event":"Stop"}`) }()
	if got, err := Read(r, patience, "event"); got["event"] != "Stop" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	part, half := io.Pipe()
	defer half.Close()
	wrote := make(chan struct{})
	go func() { _, _ = io.WriteString(half, `{"event":"Stop",`); close(wrote) }()
	if got, err := Read(part, 200*time.Millisecond, "event"); got["event"] != "Stop" || err != ErrLate { //nolint:errorlint // it is that very one
		t.Errorf("%v, %v", got, err)
	}
	<-wrote
}

// An agent whose pipe broke while it wrote would take that for the failure of its hook.
func TestReadTakesAllThatIsWritten(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, `{"event":"Stop","x":"`+strings.Repeat("x", 2*MaxPayload)+`"}`)
		_ = w.Close()
		done <- err
	}()
	if got, err := Read(r, patience, "event"); got["event"] != "Stop" || err == nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

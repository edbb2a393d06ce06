package health

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait for something real.
const patience = 60 * time.Second

// patient is a ctx that a test which goes well never sees the end of.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// says fails the test unless err has a text that contains part, in one line.
func says(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line with %q", err, part)
	}
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile("x")
	for _, tc := range []struct {
		name    string
		probe   Probe
		problem string // "": none
	}{
		{"nothing", Probe{}, "not 0"},
		{"output", Probe{Output: line}, ""},
		{"file", Probe{File: "/x"}, ""},
		{"two", Probe{File: "/x", Output: line}, "not 2"},
		{"tcp", Probe{TCP: "127.0.0.1:80"}, ""},
		{"tcp by name", Probe{TCP: "localhost:http"}, ""},
		{"tcp IPv6", Probe{TCP: "[::1]:80"}, ""},
		{"tcp without a port", Probe{TCP: "localhost"}, `"localhost" is no host:port: missing port in address`},
		{"tcp with an empty port", Probe{TCP: "localhost:"}, "names no port"},
		{"tcp port 0", Probe{TCP: "localhost:0"}, "names no port"},
		{"http", Probe{HTTP: "http://127.0.0.1:80/health?x=1"}, ""},
		{"https", Probe{HTTP: "https://127.0.0.1/"}, "https is not supported"},
		{"no scheme", Probe{HTTP: "127.0.0.1:80"}, "URL"},
		{"no host", Probe{HTTP: "http:///x"}, "no http:// URL"},
		{"a user", Probe{HTTP: "http://u:p@127.0.0.1/"}, ""},
		{"a line end", Probe{HTTP: "http://127.0.0.1/\r\nX: y"}, "no URL"},
		{"status", Probe{HTTP: "http://127.0.0.1/", Status: []int{204, 401}}, ""},
		{"no status", Probe{HTTP: "http://127.0.0.1/", Status: []int{99}}, "99 is no HTTP status"},
		{"status of tcp", Probe{TCP: "127.0.0.1:80", Status: []int{200}}, "for http only"},
		{"heartbeat", Probe{Heartbeat: "/x", MaxAge: time.Second}, ""},
		{"heartbeat without an age", Probe{Heartbeat: "/x"}, "max_age above zero"},
		{"age of a file", Probe{File: "/x", MaxAge: time.Second}, "for a heartbeat only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.probe.Validate()
			if tc.problem != "" {
				says(t, err, tc.problem)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOutputIsNoHealthProbe(t *testing.T) {
	t.Parallel()
	p := Probe{Output: regexp.MustCompile("x")}
	if p.Repeats() || !(Probe{File: "/x"}).Repeats() {
		t.Error("only what can be asked again repeats")
	}
	says(t, p.Check(t.Context(), time.Now(), time.Time{}), "cannot be asked for again")
	says(t, Probe{}.Check(t.Context(), time.Now(), time.Time{}), "no probe is set")
}

func TestAwaitEndsWithItsContextAndSaysWhatWasMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	missing := filepath.Join(dir, "missing")
	died := errors.New("exit code 3 before it was ready")
	for _, tc := range []struct {
		probe Probe
		part  string
	}{
		{Probe{Output: regexp.MustCompile("never")}, `await a line of output like "never": ` + died.Error()},
		{Probe{File: missing}, "look for " + missing + ": no such file or directory: " + died.Error()},
		{Probe{Heartbeat: missing, MaxAge: time.Second}, "look for " + missing},
		{Probe{TCP: refusing}, "connection refused: " + died.Error()},
		{Probe{HTTP: "http://" + refusing}, "connection refused: " + died.Error()},
	} {
		var err error
		// On a busy machine the end may come before the first try: then there is nothing that was missing.
		for wait := 30 * time.Millisecond; wait < patience && (err == nil || !strings.Contains(err.Error(), tc.part)); wait *= 2 {
			ctx, cancel := context.WithCancelCause(patient(t))
			time.AfterFunc(wait, func() { cancel(died) })
			err = tc.probe.Await(ctx, time.Now(), Stream{File: out})
		}
		says(t, err, tc.part)
		if !errors.Is(err, died) {
			t.Errorf("%v does not name the cause", err)
		}
	}
}

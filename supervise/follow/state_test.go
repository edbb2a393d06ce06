package follow

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

func openStore(t *testing.T) *fsstate.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "home")
	s, err := fsstate.Open(fsstate.Home{Path: path, Root: path}, fsstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTheStateIsReadAsItWasKept(t *testing.T) {
	t.Parallel()
	store, now := openStore(t), time.Now()
	s, err := load(store, now)
	if err != nil || !s.Since.Equal(now.Truncate(time.Millisecond)) {
		t.Fatalf("%+v, %v", s, err)
	}
	p := s.at("work")
	for _, e := range []fsstate.Event{
		{Kind: "removed", Session: "s", Reason: "succeeded"},
		{Kind: "launched", Session: "s", Attempt: 1, Millis: 5},
		{Kind: "crashed", LockMillis: 100},
		{Kind: "service", Service: "web", To: "starting", Reason: "restarted"},
		{Kind: "handoff", To: "failed", Reason: "timed-out"},
	} {
		p.Tally.count(e, web)
	}
	p.Looping["web"] = true
	p.Position = fsstate.JournalPosition{Files: []fsstate.JournalPlace{{Head: "x", Bytes: 1, Offset: 2}}, Last: now.UTC().Truncate(time.Millisecond)}
	s.take(notice(fsstate.Event{Time: now.UTC().Truncate(time.Millisecond), Kind: "ended", Session: "s", Reason: "stale"}, home, web, p.Looping), 1, now)
	s.Sent[0] = s.Sent[0].UTC().Round(0)
	s.Suppressed[EventParked] = 3
	if err := s.save(store); err != nil {
		t.Fatal(err)
	}
	again, err := load(store, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Error(diff)
	}
}

func TestAStateThatIsNotOursBeginsAnew(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, text := range map[string]string{
		"empty": "", "cut": `{"version":1,"since":"20`, "no JSON": "\x00\xff", "no version": `{"since":"2026-01-01T00:00:00Z"}`,
		"no beginning": `{"version":1}`, "other types": `{"version":1,"since":"2026-01-01T00:00:00Z","homes":[]}`,
	} {
		store := openStore(t)
		if err := os.WriteFile(store.Path("", StateFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := load(store, now)
		if err == nil || s == nil || !s.Since.Equal(now.Truncate(time.Millisecond)) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		aside, _ := filepath.Glob(store.Path("", StateFile) + ".corrupt-*")
		if len(aside) != 1 || !strings.Contains(err.Error(), filepath.Base(aside[0])) {
			t.Fatalf("%s: %q, %v", name, aside, err)
		}
		if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != text {
			t.Errorf("%s: %q, %v", name, kept, err)
		}
	}
	store := openStore(t)
	if err := os.WriteFile(store.Path("", StateFile), []byte(`{"version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(store, now)
	if _, newer := errors.AsType[*fsstate.VersionError](err); s != nil || !newer {
		t.Errorf("a newer one: %+v, %v", s, err)
	}
}

// An agent may write what it wants into the file: it makes neither labels nor notices of its own.
func TestAForgedStateMakesNoLabels(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	forged := `{"version":1,"since":"2026-01-01T00:00:00Z","homes":{"":{"tally":{"turns":{"x\"}":{"y\n":1}},"recovery":{"buckets":[1],"ms":3},"restarts":{"a b":1,"ok":2},"handoffs":{"q":{"r":4}},"lock_waits":5},"looping":null},"gone":null},
	"pending":[{"schema":1,"id":"short","event":"parked"},{"schema":1,"id":"i","event":"rm -rf","text":"x"},{"schema":1,"event":"parked","text":"` + strings.Repeat("x", 20<<10) + `"}],
	"begun":true,"suppressed":{"nothing":9,"parked":1},"notices":{"a b":1}}`
	if err := os.WriteFile(store.Path("", StateFile), []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(store, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pending) > 0 && s.Pending[0].Event != EventParked {
		t.Errorf("%+v", s.Pending)
	}
	text := render("v", true, time.Unix(1, 0), []gauges{{}}, s)
	for line := range strings.SplitSeq(text, "\n") {
		for _, label := range []string{`x\"`, `"y`, "a b", `"q"`, "nothing", "gone"} {
			if strings.Contains(line, label) && !strings.HasPrefix(line, "#") {
				t.Errorf("%s", line)
			}
		}
	}
	if !strings.Contains(text, `turns_total{profile="default",outcome="other",reason="other"} 1`) || !strings.Contains(text, `service="ok"} 2`) {
		t.Error(text)
	}
}

func TestTheCommandsEnvironmentIsNotOurs(t *testing.T) {
	t.Parallel()
	got := environment([]string{
		"PATH=/bin", "NOTIFY_SOCKET=/run/x", "WATCHDOG_USEC=1", "INVOCATION_ID=1", "HERMES_SUPERVISOR_CONFIG=/c", ident.InstanceVar + "=old", "SECRET=s", "SLACK_TOKEN=theirs", "HERMES_HOME=/h",
	}, []string{"SECRET"}, "new")
	want := []string{"PATH=/bin", "SLACK_TOKEN=theirs", "HERMES_HOME=/h", ident.InstanceVar + "=new"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLabelsAreEscaped(t *testing.T) {
	t.Parallel()
	var x exposition
	x.sample("a", "1", "b", "\\ \"\n\xff", "c", "ä")
	if got, want := x.text.String(), `hermes_supervisor_a{b="\\ \"\n`+"\uFFFD"+`",c="ä"} 1`+"\n"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

package hermes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hermes-supervisor/fsstate/ident"
)

// quiet are the looks that depend on the home alone: on a developer's machine a
// Hermes without HERMES_HOME may live, and would rightly count for every home.
func quiet(home string) (pid int, live bool, err error) {
	for _, look := range []func(string) (int, bool, error){liveWriter, liveLease, liveGateway} {
		if pid, live, err = look(home); live {
			return pid, live, err
		}
	}
	return 0, false, err
}

func TestHomeThatNobodyNamesIsQuiet(t *testing.T) {
	t.Parallel()
	if pid, live, err := quiet(t.TempDir()); pid != 0 || live || err != nil {
		t.Errorf("%d, %v, %v", pid, live, err)
	}
}

func TestMarkerWriterHoldsTheHomeWhileItLives(t *testing.T) {
	t.Parallel()
	home, c := t.TempDir(), startChild(t, nil)
	start := created(t, c.pid)
	mustRecord(t, home, Marker{Session: "older", Prompt: "p"})
	mustRecord(t, home, Marker{Session: "self", Prompt: "p", HasWriter: true, WriterPID: os.Getpid()})
	if pid, live, err := quiet(home); live || err != nil {
		t.Errorf("no writer but this process: %d, %v", pid, err)
	}
	mustRecord(t, home, Marker{Session: "s", Prompt: "p", HasWriter: true, WriterPID: c.pid, WriterStart: start - 1})
	if pid, live, err := LiveProcess(home); pid != c.pid || !live || err != nil {
		t.Errorf("unknown writer: %d, %v, %v", pid, live, err)
	}
	mustRecord(t, home, Marker{Session: "s", Prompt: "p", HasWriter: true, WriterPID: c.pid, WriterStart: start - 86400})
	if pid, live, err := quiet(home); live || err != nil {
		t.Errorf("recycled writer: %d, %v", pid, err)
	}
	mustRecord(t, home, Marker{Session: "s", Prompt: "p", HasWriter: true, WriterPID: c.pid, WriterStart: start})
	if pid, live, err := LiveProcess(home); pid != c.pid || !live || err != nil {
		t.Errorf("live writer: %d, %v, %v", pid, live, err)
	}
	c.end()
	if pid, live, err := quiet(home); live || err != nil {
		t.Errorf("dead writer: %d, %v", pid, err)
	}
}

// Else no record could ever take a broken file's place.
func TestBrokenMarkersAreNoEvidenceOfAProcess(t *testing.T) {
	t.Parallel()
	if pid, live, _ := quiet(homeWith(t, "{broken")); live {
		t.Errorf("live: %d", pid)
	}
}

func TestLeaseHoldsTheHomeWhileItsOwnerLives(t *testing.T) {
	t.Parallel()
	home, c := t.TempDir(), startChild(t, nil)
	leasesOf(t, home, fmt.Sprintf(`{"entries": [{"session_id": "odd"}, {"session_id": "self", "pid": %d}, {"session_id": "s", "pid": %d, "process_start_time": %f}]}`,
		os.Getpid(), c.pid, created(t, c.pid)))
	if pid, live, err := LiveProcess(home); pid != c.pid || !live || err != nil {
		t.Errorf("live owner: %d, %v, %v", pid, live, err)
	}
	c.end()
	if pid, live, err := quiet(home); live || err != nil {
		t.Errorf("dead owner: %d, %v", pid, err)
	}
}

func TestGatewayHoldsTheHomeWhileItLives(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "gateway.pid")
	plain := startChild(t, nil)
	gateway := startChild(t, []string{"python3", "-m", "hermes_cli.main", "gateway", "run"}, "HERMES_HOME="+home)
	id, err := ident.Of(plain.pid, "")
	if err != nil {
		t.Fatal(err)
	}
	recorded := id.Start
	if !sameGatewayStart(id, recorded) {
		recorded = int64(created(t, plain.pid) * 100)
	}
	for name, tc := range map[string]struct {
		text string
		want int // 0: not live
	}{
		"its start":        {fmt.Sprintf(`{"pid": %d, "kind": "hermes-gateway", "argv": ["x"], "start_time": %d}`, plain.pid, recorded), plain.pid},
		"start not known":  {fmt.Sprintf(`{"pid": %d, "start_time": null}`, plain.pid), plain.pid},
		"old bare number":  {fmt.Sprintf("%d\n", plain.pid), plain.pid},
		"recycled":         {fmt.Sprintf(`{"pid": %d, "start_time": %d}`, plain.pid, recorded+100000), 0},
		"visibly a Hermes": {fmt.Sprintf(`{"pid": %d, "start_time": 1}`, gateway.pid), gateway.pid},
		"this process":     {fmt.Sprintf(`{"pid": %d}`, os.Getpid()), 0},
		"nobody":           {`{"pid": 2147483647}`, 0},
		"out of range":     {`{"pid": 4294967297}`, 0},
		"garbage":          {"{", 0},
		"empty":            {"", 0},
		"text":             {`{"pid": "x"}`, 0},
		"negative":         {"-1", 0},
	} {
		writeAt(t, file, tc.text)
		pid, live, err := liveGateway(home)
		if live != (tc.want != 0) || live && pid != tc.want || err != nil {
			t.Errorf("%s: %d, %v, %v", name, pid, live, err)
		}
	}
	writeAt(t, file, strconv.Itoa(plain.pid))
	plain.end()
	if pid, live, err := liveGateway(home); live || err != nil {
		t.Errorf("gone: %d, %v", pid, err)
	}
}

func TestCommandLineHoldsItsHomeAndNoOther(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	coder, writer := filepath.Join(root, "profiles", "coder"), filepath.Join(root, "profiles", "writer")
	c := startChild(t, []string{"/venv/bin/python3", "/venv/bin/hermes", "--tui"}, "HERMES_HOME="+coder)
	if live, err := liveAt(coder, c.pid); !live || err != nil {
		t.Errorf("its home: %v, %v", live, err)
	}
	if live, err := liveAt(writer, c.pid); live || err != nil {
		t.Errorf("another home: %v, %v", live, err)
	}
	if _, live, err := LiveProcess(coder); !live || err != nil {
		t.Errorf("found among all: %v, %v", live, err)
	}
	c.end()
	if live, err := liveAt(coder, c.pid); live || err != nil {
		t.Errorf("gone: %v, %v", live, err)
	}
	other := startChild(t, []string{"hermes-supervisor", "turn", "run", "--", "hermes"}, "HERMES_HOME="+coder)
	if live, err := liveAt(coder, other.pid); live || err != nil {
		t.Errorf("a keeper: %v, %v", live, err)
	}
}

// Where two people run Hermes on one machine, neither can read the other's environment.
func TestAnotherUsersHermesIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	self := os.Getuid()
	for user, want := range map[int]bool{self: false, 0: false, unknownUser: false, self + 1000: true} {
		if got := foreign(user); got != want {
			t.Errorf("uid %d: %v", user, got)
		}
	}
}

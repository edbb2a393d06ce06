package hermes

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A session is held back by an entry that Hermes itself would read, and by no number that cannot be a pid or a time.
func FuzzActiveSessions(f *testing.F) {
	for _, text := range []string{
		`{"entries": [{"lease_id": "l", "session_id": "s", "surface": "cli", "pid": 812, "process_start_time": 1764500000.12, "metadata": {"live_session_id": "x"}}]}`,
		`[{"session_id": "s", "pid": "812", "process_start_time": "1.5"}]`,
		`{"entries": [{"session_id": "s", "pid": -1, "process_start_time": 1e999}, {"session_id": "s", "pid": 1.5}]}`,
		`{"entries": [{"session_id": "s", "pid": true}, {"SESSION_ID": "s"}, null, 5, "x"]}`,
		`{"entries": null}`, `{"entries": {}}`, "\ufeff[]", "null", "",
		`{"entries": [{"session_id": "s", "pid": 9223372036854775808, "process_start_time": "NaN"}]}`,
		`{"entries": [], "entries": [{"session_id": "s", "process_start_time": "-Inf"}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		leases, err := parseLeases(data)
		if err != nil && leases != nil {
			t.Fatal("leases and an error")
		}
		for _, l := range leases {
			if strings.TrimSpace(l.SessionID) == "" || l.PID < 0 || l.ProcessStart < 0 || math.IsNaN(l.ProcessStart) || math.IsInf(l.ProcessStart, 0) {
				t.Errorf("lease %+v of %q", l, data)
			}
		}
	})
}

func FuzzGatewayPID(f *testing.F) {
	for _, text := range []string{
		`{"pid": 812, "kind": "hermes-gateway", "argv": ["x"], "start_time": 12345, "hermes_home": "/h"}`, "812\n", "\ufeff812",
		`{"pid": "812"}`, `{"pid": 812, "start_time": null}`, `{"PID": 812}`, `{"pid": 1e3}`, "{", "-1", "4294967297", "[812]", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pid, start := parseGatewayPID(data)
		if pid != 0 && !json.Valid(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))) {
			t.Errorf("pid %d, start %d of what is no JSON: %q", pid, start, data)
		}
	})
}

// A rewrite gives every other entry as it was spelled, whatever it is, and adds only keys that Hermes knows.
func FuzzRewriteOfTheMarkerFile(f *testing.F) {
	f.Add([]byte("{"+strings.Join(others, ", ")+"}"), "mine", "prompt")
	f.Add([]byte(`{"mine": {"prompt": "p", "started_at": 5}, "mine": {"prompt": "q", "started_at": 6}}`), "mine", "é\u2028")
	f.Add([]byte(`{"a": {"prompt": "p", "started_at": 1e300}}`), "a\x00", "<\xff>")
	f.Fuzz(func(t *testing.T, data []byte, session, prompt string) {
		entries, err := parseMarkers(data)
		if err != nil {
			return
		}
		fresh, err := newEntry(Marker{Session: session, Prompt: prompt, StartedAt: epoch(testNow)}, testNow)
		if err != nil {
			return
		}
		kept := without(entries, map[string]bool{session: true})
		written := encodeMarkers(append(slices.Clip(kept), fresh))
		again, err := parseMarkers(written)
		if err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
		if len(again) != len(kept)+1 {
			t.Fatalf("%d entries of %d", len(again), len(kept)+1)
		}
		for i, e := range kept {
			if !bytes.Equal(e.key, again[i].key) || !bytes.Equal(e.value, again[i].value) {
				t.Errorf("%s: %s became %s: %s", e.key, e.value, again[i].key, again[i].value)
			}
		}
		mine := again[len(kept)]
		if !mine.readable() || mine.session != session || mine.marker.Extra != nil {
			t.Errorf("ours reads as %+v", mine)
		}
	})
}

// The command line of any process on the machine is read.
func FuzzCommandLine(f *testing.F) {
	for _, line := range []string{
		"python3\x00-m\x00hermes_cli.main\x00gateway", "hermes --tui", "/usr/bin/hermes\x00-p\x00x", "python\x00-W\x00", "python3\x00-mtui_gateway",
		"hermes-supervisor\x00turn\x00run\x00--\x00hermes", "", "\x00", "python3\x00-X",
	} {
		f.Add(line, "HERMES_HOME=/h", "/h")
	}
	f.Fuzz(func(t *testing.T, line, env, home string) {
		argv := strings.Split(line, "\x00")
		if isHermes(argv) && programName(argv[0]) == "hermes-supervisor" {
			t.Error("we are taken for Hermes")
		}
		_ = mayServe(home, argv, strings.Split(env, "\x00"))
		if diff := cmp.Diff(strings.Split(line, "\x00"), argv); diff != "" {
			t.Error("the command line was changed:", diff)
		}
	})
}

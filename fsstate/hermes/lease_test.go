package hermes

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func leasesOf(t *testing.T, home, text string) {
	t.Helper()
	writeAt(t, filepath.Join(home, "runtime", "active_sessions.json"), text)
}

func TestLeasesAreReadAsHermesWritesThem(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if got, err := ActiveLeases(home); got != nil || err != nil {
		t.Errorf("missing: %v, %v", got, err)
	}
	for text, want := range map[string][]Lease{
		`{"entries": []}`: nil,
		`{"entries": [{"lease_id": "1", "session_id": "s", "surface": "tui", "pid": 812, "process_start_time": 1764503000.12, "metadata": {"live_session_id": "x"}}]}`: {{SessionID: "s", Surface: "tui", PID: 812, ProcessStart: 1764503000.12}},
		`[{"session_id": "s", "pid": "812", "process_start_time": "5.5"}]`:                                                                                             {{SessionID: "s", PID: 812, ProcessStart: 5.5}},
		`{"entries": [{"session_id": "s", "pid": 812, "process_start_time": null}]}`:                                                                                   {{SessionID: "s", PID: 812}},
		`{"entries": [{"session_id": "s", "surface": null, "pid": 812, "process_start_time": ""}]}`:                                                                    {{SessionID: "s", PID: 812}},
		`{"entries": [{"session_id": "s", "pid": true}, {"session_id": "t", "pid": -4, "surface": 5}]}`:                                                                {{SessionID: "s"}, {SessionID: "t"}},
		`{"entries": [{"session_id": "s", "pid": 812, "process_start_time": "then"}]}`:                                                                                 {{SessionID: "s"}},
		`{"entries": [{"session_id": "s", "pid": 1e3}, {"session_id": "t", "pid": "x"}]}`:                                                                              {{SessionID: "s"}, {SessionID: "t"}},
		`{"entries": [5, null, {"pid": 812}, {"session_id": " ", "pid": 812}, {"session_id": 5}]}`:                                                                     nil,
		"\ufeff" + `{"entries": [{"session_id": "s", "pid": 1}]}`:                                                                                                      {{SessionID: "s", PID: 1}},
		`{"entries": [{"session_id": "s", "pid": 812, "process_start_time": -5}]}`:                                                                                     {{SessionID: "s"}},
		`{"entries": [{"session_id": "s", "Pid": 812, "process_start_time": 5, "SESSION_ID": "other"}]}`:                                                               {{SessionID: "s", ProcessStart: 5}},
	} {
		leasesOf(t, home, text)
		got, err := ActiveLeases(home)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestRegistryThatCannotBeUsedIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, text := range []string{
		"", "{", "null", "5", "{}", `{"entries": null}`, `{"entries": {}}`, `{"Entries": []}`, `[NaN]`, "\xff",
		strings.Repeat("[", 200000), `[] []`, strings.Repeat(" ", maxSmallFile+1),
	} {
		leasesOf(t, home, text)
		got, err := ActiveLeases(home)
		if _, ok := errors.AsType[*BrokenError](err); !ok || got != nil {
			t.Errorf("%.20q: %v, %v", text, got, err)
		}
		if _, live, err := LiveProcess(home); !live || err == nil {
			t.Errorf("%.20q: live %v, %v", text, live, err)
		}
	}
}

package health

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

func TestReadyByWhatAFileHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	re := regexp.MustCompile(`"state":\s*"running"`)
	for _, tc := range []struct {
		name string
		make func() error
		ok   bool
	}{
		{"nothing", func() error { return nil }, false},
		{"another state", func() error { return os.WriteFile(path, []byte(`{"state": "starting"}`), 0o600) }, false},
		{"the state", func() error { return os.WriteFile(path, []byte(`{"state": "running"}`), 0o600) }, true},
		{"a folder", func() error { _ = os.Remove(path); return os.Mkdir(path, 0o700) }, false},
	} {
		if err := tc.make(); err != nil {
			t.Fatal(err)
		}
		if err := holds(path, re); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// A version that writes no heartbeat may run where the file of one that did still lies.
func TestOptionalHeartbeatCountsOnlyOnceItWasTouched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "beat")
	started := time.Now().Add(-time.Hour)
	p := Probe{Heartbeat: path, MaxAge: time.Minute, Optional: true}
	check := func(what string, age time.Duration, ok bool) {
		t.Helper()
		if age != 0 {
			at := time.Now().Add(-age)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Check(t.Context(), started, time.Time{}); (err == nil) != ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("never there", 0, true)
	check("of the version before", 2*time.Hour, true)
	check("touched", time.Second, true)
	check("no longer touched", 2*time.Minute, false)
}

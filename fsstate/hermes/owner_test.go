package hermes

import (
	"errors"
	"math"
	"os"
	"testing"

	"hermes-supervisor/fsstate/ident"
)

func TestWriterIsJudgedByItsRecordedStart(t *testing.T) {
	t.Parallel()
	c := startChild(t, nil)
	start := created(t, c.pid)
	day := 86400.0
	for name, tc := range map[string]struct {
		marker Marker
		want   ident.Verdict
	}{
		"alive":             {Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start}, ident.Alive},
		"within 1 ms":       {Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start + 0.0009}, ident.Alive},
		"within 2 s":        {Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start - 1.9}, ident.Unknown},
		"yesterday":         {Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start - day}, ident.Dead},
		"tomorrow":          {Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start + day}, ident.Dead},
		"start not known":   {Marker{HasWriter: true, WriterPID: c.pid}, ident.Unknown},
		"no writer":         {Marker{WriterPID: c.pid, WriterStart: start}, ident.Unknown},
		"pid out of range":  {Marker{HasWriter: true, WriterPID: math.MaxUint32, WriterStart: start}, ident.Unknown},
		"pid of nobody yet": {Marker{HasWriter: true, WriterPID: math.MaxInt32, WriterStart: start}, ident.Dead},
	} {
		if got, why := Writer(tc.marker); got != tc.want || why == "" {
			t.Errorf("%s: %v (%s), want %v", name, got, why, tc.want)
		}
		if got, why := LeaseOwner(Lease{PID: tc.marker.WriterPID, ProcessStart: tc.marker.WriterStart}); tc.marker.HasWriter && got != tc.want {
			t.Errorf("lease, %s: %v (%s), want %v", name, got, why, tc.want)
		}
	}
	c.end()
	if got, why := Writer(Marker{HasWriter: true, WriterPID: c.pid, WriterStart: start}); got != ident.Dead {
		t.Errorf("killed: %v (%s)", got, why)
	}
	if got, why := Writer(Marker{HasWriter: true, WriterPID: c.pid}); got != ident.Dead {
		t.Errorf("killed, start not known: %v (%s)", got, why)
	}
}

// A clock step moves the create time of a live writer by any amount.
func TestPIDThatIsStillVisiblyAHermesIsNotCalledDead(t *testing.T) {
	t.Parallel()
	c := startChild(t, []string{"/opt/hermes/venv/bin/python3", "-m", "tui_gateway.entry"})
	if got, why := Writer(Marker{HasWriter: true, WriterPID: c.pid, WriterStart: created(t, c.pid) - 86400}); got != ident.Unknown {
		t.Errorf("%v (%s)", got, why)
	}
}

func TestStartsAreComparedByDistance(t *testing.T) {
	t.Parallel()
	no := func() (bool, error) { return false, nil }
	yes := func() (bool, error) { return true, nil }
	hidden := func() (bool, error) { return false, os.ErrPermission }
	never := func() (bool, error) { t.Error("the command line was asked for"); return false, nil }
	const start = 1764503000.12
	for name, tc := range map[string]struct {
		recorded float64
		hermes   func() (bool, error)
		want     ident.Verdict
	}{
		"equal":                  {start, never, ident.Alive},
		"psutil's microseconds":  {start + 0.000999, never, ident.Alive},
		"a tick off":             {start + 0.01, never, ident.Unknown},
		"a second of gopsutil's": {start - 1, never, ident.Unknown},
		"two seconds":            {start + 2, never, ident.Unknown},
		"recycled":               {start - 2.1, no, ident.Dead},
		"hermes":                 {start - 2.1, yes, ident.Unknown},
		"command hidden":         {start - 86400, hidden, ident.Unknown},
		"not a number":           {math.NaN(), never, ident.Unknown},
		"endless":                {math.Inf(1), no, ident.Dead},
	} {
		if got, why := compareStart(7, tc.recorded, start, tc.hermes); got != tc.want || why == "" {
			t.Errorf("%s: %v (%s), want %v", name, got, why, tc.want)
		}
	}
}

func TestBrokenErrorSaysThePathOnce(t *testing.T) {
	t.Parallel()
	err := &BrokenError{Path: "/x", Err: &os.PathError{Op: "open", Path: "/x", Err: os.ErrPermission}}
	if got := err.Error(); got != "read /x: permission denied" || !errors.Is(err, os.ErrPermission) {
		t.Error(got)
	}
}

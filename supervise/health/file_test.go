package health

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// touch makes a file, or gives it a new time.
func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Close(), os.Chtimes(path, at, at))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfAnEarlierLaunchIsNotReady(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready")
	now := time.Now()
	touch(t, file, now.Add(-time.Minute))
	says(t, fresh(file, now), "look for "+file+": it is 1m0s older than the launch")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := Probe{File: file}.Await(ctx, now)
	says(t, err, "older than the launch: context deadline exceeded")
	time.AfterFunc(20*time.Millisecond, func() { touch(t, file, time.Now()) })
	if err := (Probe{File: file}).Await(patient(t), now); err != nil {
		t.Error("the file was changed: ", err)
	}
	if err := (Probe{File: file}).Check(t.Context(), now.Add(time.Hour), time.Time{}); err != nil {
		t.Error("healthy while it is there: ", err)
	}
}

// A file that is made right after the launch bears the time of the kernel's last tick, which may be before it.
func TestAFileMadeRightAfterTheLaunchIsReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 200 {
		file := filepath.Join(dir, "ready")
		started := time.Now()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := fresh(file, started); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWholeSecondsStandForAnyMomentOfTheirSecond(t *testing.T) {
	t.Parallel()
	second := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		at, started time.Time
		want        bool
	}{
		{second, second.Add(900 * time.Millisecond), true},
		{second, second.Add(1100 * time.Millisecond), false},
		{second.Add(1), second.Add(900 * time.Millisecond), false},
		{second.Add(1), second.Add(fileTick), true},
		{second.Add(1), second.Add(fileTick + 2), false},
		{second.Add(time.Hour), second, true},
	} {
		if got := since(tc.at, tc.started); got != tc.want {
			t.Errorf("since(%s, %s) = %v", tc.at.UTC(), tc.started.UTC(), got)
		}
	}
}

func TestALinkIsReadyWhenItsTargetIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	if err := os.Symlink("target", link); err != nil {
		t.Skip("this system makes no link for us: ", err)
	}
	now := time.Now()
	says(t, fresh(link, now), "no such file")
	says(t, exists(link), "no such file")
	touch(t, target, now.Add(-time.Hour))
	says(t, fresh(link, now), "older")
	touch(t, target, now)
	if err := fresh(link, now); err != nil {
		t.Error(err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	says(t, fresh(loop, now), "look for "+loop)
	says(t, fresh(filepath.Join(target, "below"), now), "not a directory")
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	const maxAge = 30 * time.Second
	now := time.Now()
	for _, tc := range []struct {
		name      string
		up        time.Duration // since the launch
		age       time.Duration // of the file
		missing   bool
		unhealthy string // "": healthy
	}{
		{name: "young", up: time.Hour, age: time.Second},
		{name: "old", up: time.Hour, age: 31 * time.Second, unhealthy: "last 31s ago, at most 30s is healthy"},
		{name: "missing", up: time.Hour, missing: true, unhealthy: "no such file"},
		{name: "not yet", up: 29 * time.Second, missing: true},
		{name: "of an earlier launch, not yet", up: 29 * time.Second, age: time.Hour},
		{name: "of an earlier launch", up: 31 * time.Second, age: time.Hour, unhealthy: "last 1h0m0s ago"},
		{name: "a little ahead", up: time.Hour, age: -29 * time.Second},
		{name: "far ahead", up: time.Hour, age: -time.Hour, unhealthy: "1h0m0s ahead of the clock"},
		{name: "launched a little ahead", up: -29 * time.Second, missing: true},
		{name: "launched far ahead, by a clock that was set back", up: -time.Hour, age: time.Second},
		{name: "launched far ahead, missing", up: -time.Hour, missing: true, unhealthy: "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "beat")
			if !tc.missing {
				touch(t, file, now.Add(-tc.age))
			}
			err := beats(file, maxAge, now.Add(-tc.up), time.Time{}, now)
			if tc.unhealthy != "" {
				says(t, err, "heartbeat "+file+": ")
				says(t, err, tc.unhealthy)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheFirstHeartbeatOfALaunchIsReady(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "beat")
	started := time.Now()
	touch(t, file, started.Add(-time.Minute))
	p := Probe{Heartbeat: file, MaxAge: time.Hour}
	if p.Check(t.Context(), started, time.Time{}) != nil {
		t.Error("not healthy in its first hour")
	}
	time.AfterFunc(30*time.Millisecond, func() { touch(t, file, time.Now()) })
	if err := p.Await(patient(t), started); err != nil {
		t.Error(err)
	}
	if at, err := changed(file); err != nil || !since(at, started) {
		t.Errorf("ready by a beat of %s, launched at %s (%v)", at, started, err)
	}
}

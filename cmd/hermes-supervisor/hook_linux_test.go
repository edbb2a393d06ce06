package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"hermes-supervisor/fsstate"
)

// hookHome is a home whose agent "claude" is this test.
func hookHome(t *testing.T) (home string, env []string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	for _, d := range []string{home, filepath.Join(dir, "config", "hermes-supervisor")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Base(os.Args[0])
	text := fmt.Sprintf("[agent.claude.hooks]\nprocess = [%q]\n", self)
	if err := os.WriteFile(filepath.Join(dir, "config", "hermes-supervisor", "hermes.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, append(os.Environ(), "HERMES_HOME="+home, "HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "GORACE=atexit_sleep_ms=0")
}

// startHook hands an event to the real program; the returned wait checks that it said nothing and did not fail.
func startHook(t *testing.T, env []string, stdin *os.File) (wait func() time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hermes-supervisor", "hook", "claude")
	var said bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdin, &said, &said
	started := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() time.Duration {
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("hook: %v, said %q", err, said.String())
		}
		return time.Since(started)
	}
}

const begins = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"do it"}`

func event(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return r // its other end stays open: an agent need not close it
}

func recorded(home string) bool {
	_, err := os.Stat(filepath.Join(home, "supervisor", "turns", fsstate.Name("claude:s")+".json"))
	return err == nil
}

// generous is far beyond any bound of a hook, for a slow machine; a hook that hangs takes for ever.
const generous = 20 * time.Second

func TestHookDoesNotWaitForAnAgentThatKeepsThePipeOpen(t *testing.T) {
	t.Parallel()
	home, env := hookHome(t)
	if took := startHook(t, env, event(t, begins))(); took > generous || !recorded(home) {
		t.Errorf("took %v, recorded: %v", took, recorded(home))
	}
	if took := startHook(t, env, event(t, `{"hook_event_name":"Stop",`))(); took > generous || !recorded(home) {
		t.Errorf("half an event: took %v, still there: %v", took, recorded(home))
	}
	if took := startHook(t, env, event(t, `{"hook_event_name":"Stop","session_id":"s",`))(); took > generous || recorded(home) {
		t.Errorf("an end that is cut behind all that it needs: took %v, still there: %v", took, recorded(home))
	}
}

func TestHookDoesNotWaitForALockThatSomebodyHolds(t *testing.T) {
	t.Parallel()
	home, env := hookHome(t)
	startHook(t, env, event(t, begins))()
	locks, err := filepath.Glob(filepath.Join(home, "supervisor", "locks", "*.lock"))
	if err != nil || len(locks) == 0 {
		t.Fatal(locks, err)
	}
	for _, path := range locks {
		l := flock.New(path)
		if ok, err := l.TryLock(); !ok {
			t.Fatal(path, err)
		}
		t.Cleanup(func() { _ = l.Unlock() })
	}
	if took := startHook(t, env, event(t, `{"hook_event_name":"Stop","session_id":"s"}`))(); took > generous || !recorded(home) {
		t.Errorf("took %v, recorded: %v", took, recorded(home))
	}
	if text, err := os.ReadFile(filepath.Join(home, "supervisor", "journal.jsonl")); err != nil || !strings.Contains(string(text), `"kind":"hook"`) {
		t.Errorf("the journal does not tell: %v\n%s", err, text)
	}
}

// A home that cannot be written, a full disk (a file may not grow), an open store that is no folder.
func TestHookOnADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	home, env := hookHome(t)
	// Whoever may write anywhere is not kept out by a mode: a file where the folder should be is.
	if err := os.WriteFile(filepath.Join(home, "supervisor"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if took := startHook(t, env, event(t, begins))(); took > generous {
		t.Errorf("took %v", took)
	}
	home, env = hookHome(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap '' XFSZ; ulimit -f 0; exec hermes-supervisor hook claude`)
	var said bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, event(t, begins), &said, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("a full disk: %v, said %q", err, said.String())
	}
	if recorded(home) {
		t.Error("recorded on a disk that takes nothing")
	}
}

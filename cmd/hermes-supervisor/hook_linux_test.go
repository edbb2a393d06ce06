package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"hermes-supervisor/fsstate"
)

// hookHome is a home whose agent "claude" is this test.
func hookHome(t *testing.T) (home string, env []string) {
	t.Helper()
	return hookHomeOf(t, filepath.Base(os.Args[0]))
}

// hookHomeOf is a home whose agent "claude" is a program of that name.
func hookHomeOf(t *testing.T, program string) (home string, env []string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	for _, d := range []string{home, filepath.Join(dir, "config", "hermes-supervisor")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("[agent.claude.hooks]\nprocess = [%q]\n", program)
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
	if took := startHook(t, env, event(t, `{"hook_event_name":"Stop","session_id":"s"}`))(); took > fsstate.LockWait || !recorded(home) {
		t.Errorf("took %v, as long as anybody waits for a lock; recorded: %v", took, recorded(home))
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

// A script that names its shell in its first line has the agent's name, and the lifetime of a wrapper.
func TestHookTakesNoShellForTheAgent(t *testing.T) {
	t.Parallel()
	home, env := hookHomeOf(t, "claude")
	wrapper := filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\nprintf '%s' '" + begins + "' | hermes-supervisor hook claude\nexit $?\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out []byte
	var err error
	for range 50 { // a fork of a test beside this one may hold the new file open for a moment
		cmd := exec.CommandContext(t.Context(), wrapper)
		cmd.Env = env
		if out, err = cmd.CombinedOutput(); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
	}
	if err != nil || len(out) > 0 || recorded(home) {
		t.Errorf("%v, said %q, recorded: %v", err, out, recorded(home))
	}
	if text, err := os.ReadFile(filepath.Join(home, "supervisor", "journal.jsonl")); err != nil || !strings.Contains(string(text), "no ancestor of the hook is the agent") {
		t.Errorf("the journal does not tell: %v\n%s", err, text)
	}
}

// node and python run agents under their own name: then the script's counts, which is here the first argument.
func TestHookFindsAnAgentThatAnInterpreterRuns(t *testing.T) {
	t.Parallel()
	home, env := hookHomeOf(t, "hook")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(t.TempDir(), "node")
	if err := os.Symlink(self, node); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node)
	cmd.Args, cmd.Env = []string{"agent", "hook", "claude", begins}, env
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "[hook 0]\n" || !recorded(home) {
		t.Errorf("%v, said %q, recorded: %v", err, out, recorded(home))
	}
}

// An event of a turn at work is a sign of life and nothing else, and only the owner's own counts.
func TestHookOfATurnAtWorkIsAHeartbeat(t *testing.T) {
	t.Parallel()
	home, env := hookHome(t)
	startHook(t, env, event(t, begins))()
	path := filepath.Join(home, "supervisor", "turns", fsstate.Name("claude:s")+".json")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	seen := func() time.Time {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for name, fresh := range map[string]bool{"claude:s": true, "claude:other": false} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		startHook(t, env, event(t, `{"hook_event_name":"PostToolUse","session_id":"`+strings.TrimPrefix(name, "claude:")+`"}`))()
		if got := seen().After(old.Add(time.Minute)); got != fresh {
			t.Errorf("event of %s: seen alive: %v", name, got)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, the record became\n%s", err, after)
	}
}

//go:build linux

package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// theSession is the session of a test that needs only one.
const theSession = "agent:main:telegram:dm:42"

// home is one HERMES_HOME with its room, and what the agents in it write.
type home struct {
	*testing.T

	dir  string // for the files of a test, outside of the home
	room *Room
}

func newHome(t *testing.T) *home {
	t.Helper()
	return newProfileHome(t, "")
}

func newProfileHome(t *testing.T, profile string) *home {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "hermes")
	at := fsstate.Home{Path: root, Root: root, Profile: profile}
	if profile != "" {
		at.Path = filepath.Join(root, "profiles", profile)
	}
	if err := os.MkdirAll(at.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := fsstate.Open(at, fsstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	settings := policy.Defaults()
	settings.Backoff = time.Millisecond
	return &home{T: t, dir: dir, room: &Room{Store: store, Key: testKey, Settings: settings}}
}

func (h *home) file(name string) string { return filepath.Join(h.dir, name) }

func (h *home) touch(name string) {
	h.Helper()
	if err := os.WriteFile(h.file(name), nil, 0o600); err != nil {
		h.Fatal(err)
	}
}

func (h *home) exists(name string) bool {
	_, err := os.Stat(h.file(name))
	return err == nil
}

// agent is the argv of a scripted agent that logs to the test's log. Files in its steps are named relative to the
// test's folder, as "./name".
func (h *home) agent(steps ...string) []string {
	return h.program(append([]string{"log", "./log"}, steps...)...)
}

func (h *home) program(steps ...string) []string {
	argv := []string{testBinary(h.T), "agent"}
	for _, step := range steps {
		if name, ok := strings.CutPrefix(step, "./"); ok {
			step = h.file(name)
		}
		if name, ok := strings.CutPrefix(step, "@./"); ok {
			step = "@" + h.file(name)
		}
		argv = append(argv, step)
	}
	return argv
}

func testBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// run is a call of `turn run` with a prompt and a scripted agent.
func (h *home) run(prompt string, steps ...string) call {
	return call{Home: h.room.Store.Home(), Key: testKey, Settings: h.room.Settings, Request: Request{
		Session: theSession, Prompt: prompt, HasPrompt: prompt != "", AutoContinue: true, Cwd: h.dir,
		Agent: Agent{Command: h.agent(steps...)}, Drain: 5 * time.Second,
	}}
}

// resume is a person's `turn resume` of the session.
func (h *home) resume(steps ...string) call {
	c := h.run("", steps...)
	c.Request.Fresh = true
	return c
}

// keeper is a keeper process.
type keeper struct {
	h      *home
	cmd    *exec.Cmd
	report string
	stdout bytes.Buffer // to be read after its end
	stderr *os.File
	ended  chan struct{}
}

func (h *home) start(c call) *keeper { h.Helper(); return h.startAs("keeper", c) }

func (h *home) startAs(part string, c call) *keeper {
	h.Helper()
	return h.startCmd(exec.Command(testBinary(h.T), part), c)
}

// startCmd starts a command that becomes a keeper, or ends together with one.
func (h *home) startCmd(cmd *exec.Cmd, c call) *keeper {
	h.Helper()
	dir := h.TempDir()
	k := &keeper{h: h, cmd: cmd, report: filepath.Join(dir, "report"), ended: make(chan struct{})}
	c.Report = k.report
	data, err := json.Marshal(c)
	if err == nil {
		k.stderr, err = os.Create(filepath.Join(dir, "stderr"))
	}
	if err != nil {
		h.Fatal(err)
	}
	k.cmd.Env = append(k.cmd.Environ(), keeperVar+"="+string(data), "GORACE=atexit_sleep_ms=0")
	k.cmd.Dir = h.dir
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, k.stderr
	k.cmd.WaitDelay = 10 * time.Second // an agent that outlives its keeper has no pipe of ours, but a receipt may
	if err := k.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	go func() { _ = k.cmd.Wait(); close(k.ended) }()
	h.Cleanup(func() {
		k.signal(syscall.SIGKILL)
		<-k.ended
		h.endAll()
		if h.Failed() {
			h.Logf("keeper %d said:\n%s", k.cmd.Process.Pid, k.said())
		}
		_ = k.stderr.Close()
	})
	return k
}

// said is what the keeper and its agents wrote to stderr so far.
func (k *keeper) said() string {
	k.h.Helper()
	data, err := os.ReadFile(k.stderr.Name())
	if err != nil {
		k.h.Fatal(err)
	}
	return string(data)
}

func (k *keeper) signal(s syscall.Signal) { _ = k.cmd.Process.Signal(s) }

// kill ends the keeper as nothing can prevent, and returns when it is gone.
func (k *keeper) kill() {
	k.h.Helper()
	k.signal(syscall.SIGKILL)
	k.awaitEnd()
}

func (k *keeper) hasEnded() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

func (k *keeper) awaitEnd() {
	k.h.Helper()
	select {
	case <-k.ended:
	case <-time.After(patience):
		k.signal(syscall.SIGKILL)
		<-k.ended
		k.h.Fatalf("keeper %d did not end", k.cmd.Process.Pid)
	}
}

// wait is the result of a keeper that ends by itself.
func (k *keeper) wait() result {
	k.h.Helper()
	k.awaitEnd()
	data, err := os.ReadFile(k.report)
	if err != nil {
		k.h.Fatalf("keeper %d left no result: %v", k.cmd.Process.Pid, k.cmd.ProcessState)
	}
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		k.h.Fatal(err)
	}
	return r
}

// outcome is the outcome of a keeper that must not fail.
func (k *keeper) outcome() Outcome {
	k.h.Helper()
	r := k.wait()
	if r.Err != "" {
		k.h.Fatalf("keeper failed: %s", r.Err)
	}
	return r.Outcome
}

func (k *keeper) want(state State, reason policy.Reason, code int) Outcome {
	k.h.Helper()
	o := k.outcome()
	if o.State != state || o.Reason != reason || o.Code != code {
		k.h.Fatalf("outcome %s, %s, code %d (%s); want %s, %s, code %d", o.State, o.Reason, o.Code, o.Detail, state, reason, code)
	}
	return o
}

// until waits for a state that tells nobody when it comes.
func (h *home) until(what string, holds func() bool) {
	h.Helper()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			h.Fatalf("it never came true that %s", what)
		}
	}
}

// log is what the agents wrote so far.
func (h *home) log() []line {
	h.Helper()
	data, err := os.ReadFile(h.file("log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Fatal(err)
	}
	var lines []line
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			h.Fatalf("log line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

func (h *home) logged(event string) []line {
	h.Helper()
	return slices.DeleteFunc(h.log(), func(l line) bool { return l.Event != event })
}

// texts are the texts of one kind of log line.
func (h *home) texts(event string) []string {
	h.Helper()
	var texts []string
	for _, l := range h.logged(event) {
		texts = append(texts, l.Text)
	}
	return texts
}

// started waits for the n-th start of an agent and returns its pid.
func (h *home) started(n int) int {
	h.Helper()
	h.until(fmt.Sprintf("agent %d has started", n), func() bool { return len(h.logged("start")) >= n })
	return h.logged("start")[n-1].PID
}

// ran checks by the agents' own log how often they started, and that no two of them lived at once.
func (h *home) ran(times int) {
	h.Helper()
	if n := len(h.logged("start")); n != times {
		h.Fatalf("the agent started %d times, want %d: %v", n, times, h.log())
	}
	if over := h.logged("overlap"); len(over) > 0 {
		h.Fatalf("two ran at once: %v", h.log())
	}
}

// killPID ends a process that the test's agents became, and waits until it is gone.
func (h *home) killPID(pid int) {
	h.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.Fatalf("kill %d: %v", pid, err)
	}
	h.awaitGone(pid)
}

func (h *home) awaitGone(pid int) {
	h.Helper()
	h.until(fmt.Sprintf("pid %d is gone", pid), func() bool { return gone(pid) })
}

func gone(pid int) bool {
	_, err := ident.Of(pid, "")
	return errors.Is(err, os.ErrProcessDone)
}

// endAll ends what the agents of a failed or finished test have left.
func (h *home) endAll() {
	for _, l := range h.log() {
		if l.Event != "start" || gone(l.PID) {
			continue
		}
		if argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", l.PID)); err == nil && bytes.Contains(argv, []byte(h.dir)) {
			_ = syscall.Kill(l.PID, syscall.SIGKILL)
		}
	}
}

// turn is the open turn of theSession, nil when there is none.
func (h *home) turn() *fsstate.Turn {
	h.Helper()
	t, err := h.room.files().Get(theSession)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		h.Fatal(err)
	}
	return t
}

func (h *home) mustTurn() *fsstate.Turn {
	h.Helper()
	t := h.turn()
	if t == nil {
		h.Fatal("no marker")
	}
	return t
}

func (h *home) noMarker() {
	h.Helper()
	if t := h.turn(); t != nil {
		h.Fatalf("the marker is still there: phase %s", t.Phase)
	}
}

// awaitPhase waits until the marker is in a phase with its owner's pid recorded.
func (h *home) awaitPhase(phase string) {
	h.Helper()
	h.until("the marker is "+phase, func() bool { t := h.turn(); return t != nil && t.Phase == phase })
}

// launched waits until the keeper has given back the lock in which it started the agent.
func (h *home) launched() {
	h.Helper()
	h.awaitPhase(fsstate.PhaseRunning)
	unlock, err := h.room.lock(h.Context(), theSession, "test")
	if err != nil {
		h.Fatal(err)
	}
	unlock()
}

// ended are the turns in ended/.
func (h *home) ended() []*fsstate.Turn {
	h.Helper()
	turns, bad := h.room.files().All(fsstate.Ended)
	if len(bad) > 0 {
		h.Fatal(bad)
	}
	return turns
}

func (h *home) wantEnded(prompt string, reason policy.Reason) {
	h.Helper()
	ended := h.ended()
	if len(ended) != 1 || ended[0].Prompt != prompt || policy.Reason(ended[0].Ended.Reason) != reason {
		h.Fatalf("ended/ has %d turns: %+v; want %q for %s", len(ended), ended, prompt, reason)
	}
}

// dead is the identity of a process of this boot that has ended.
func (h *home) dead() ident.Ident {
	h.Helper()
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	id, err := ident.Of(cmd.Process.Pid, ident.NewInstance())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		h.Fatal(err)
	}
	return id
}

// interrupted puts a turn on disk that was running when its keeper and its agent died, one second ago.
func (h *home) interrupted(prompt string, change ...func(*fsstate.Turn)) *fsstate.Turn {
	h.Helper()
	now := time.Now().UTC()
	t := &fsstate.Turn{
		Session: theSession, Phase: fsstate.PhaseRunning, Prompt: prompt, AutoContinue: true, Cwd: h.dir,
		StartedAt: now.Add(-time.Minute), LaunchedAt: now.Add(-time.Minute), Keeper: h.dead(), Owner: h.dead(), Verified: true,
	}
	for _, f := range change {
		f(t)
	}
	if err := h.room.files().Put(t); err != nil {
		h.Fatal(err)
	}
	if err := h.room.files().Heartbeat(t.Session, now.Add(-time.Second)); err != nil {
		h.Fatal(err)
	}
	return t
}

// age sets the last proof of life back.
func (h *home) age(d time.Duration) {
	h.Helper()
	if err := h.room.files().Heartbeat(theSession, time.Now().Add(-d)); err != nil {
		h.Fatal(err)
	}
}

func (h *home) read(name string) string {
	h.Helper()
	data, err := os.ReadFile(h.file(name))
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}

// state is all that a refused call must leave as it was: every file of the home but for the locks, whose content names
// their last holder.
func (h *home) state() map[string]string {
	h.Helper()
	files := map[string]string{}
	top := h.room.Store.Home().Path
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/locks/") {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files[strings.TrimPrefix(path, top)] = string(data)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return files
}

// markerPath is where the marker of theSession lies.
func (h *home) markerPath() string {
	return h.room.Store.Path(fsstate.Turns, fsstate.Name(theSession)+".json")
}

package handoff

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
	"hermes-supervisor/policy/queue"
)

// theSession is the session of a test that needs only one.
const theSession = "agent:main:telegram:dm:42"

// home is one HERMES_HOME with its queue, and what the handlers in it write.
type home struct {
	*testing.T

	dir   string // for the files of a test, outside of the home
	place place
	queue *Queue
}

func newHome(t *testing.T) *home {
	t.Helper()
	return newHomeAt(t, t.TempDir())
}

// newHomeAt is newHome with the home below a folder of the test's own.
func newHomeAt(t *testing.T, dir string) *home {
	t.Helper()
	root := filepath.Join(dir, "hermes")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &home{T: t, dir: dir, place: place{
		Home: fsstate.Home{Path: root, Root: root}, Key: testKey,
		Platforms: map[string]Platform{"own": {External: true, Timeout: time.Minute}},
		Agents:    map[string][]string{},
	}}
	q, err := h.place.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Files.Store.Close() })
	h.queue = q
	return h
}

func (h *home) file(name string) string { return filepath.Join(h.dir, name) }

func (h *home) touch(name string) {
	h.Helper()
	if err := os.WriteFile(h.file(name), nil, 0o600); err != nil {
		h.Fatal(err)
	}
}

// handler is the argv of a scripted handler that logs to the test's log. Files in its steps are named relative to the
// test's folder, as "./name".
func (h *home) handler(steps ...string) []string {
	return h.program(append([]string{"log", "./log"}, steps...)...)
}

func (h *home) program(steps ...string) []string {
	argv := []string{testBinary(h.T), "handler"}
	for _, step := range steps {
		if name, ok := strings.CutPrefix(step, "./"); ok {
			step = h.file(name)
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

// platform configures one whose command is a scripted handler.
func (h *home) platform(name string, steps ...string) {
	h.place.Platforms[name] = Platform{Command: h.handler(steps...), Timeout: time.Minute}
}

// request records a handoff of theSession to a platform.
func (h *home) request(platform string) string {
	h.Helper()
	hd, _, err := h.queue.Request(h.Context(), Request{Session: theSession, Platform: platform, Note: "a note", Data: `{"a":1}`})
	if err != nil {
		h.Fatal(err)
	}
	return hd.ID
}

// delivery configures platform "chat", requests a handoff to it and starts its keeper.
func (h *home) delivery(steps ...string) (string, *keeper) {
	h.Helper()
	h.platform("chat", steps...)
	id := h.request("chat")
	return id, h.keep(id)
}

// get is the record of a handoff as it stands.
func (h *home) get(id string) *fsstate.Handoff {
	h.Helper()
	hd, err := h.queue.Files.Get(id)
	if err != nil {
		h.Fatal(err)
	}
	return hd
}

func (h *home) wantState(id string, want queue.State) *fsstate.Handoff {
	h.Helper()
	hd := h.get(id)
	if hd.State != string(want) {
		h.Fatalf("handoff is %s (%+v), want %s", hd.State, hd.End, want)
	}
	return hd
}

// wantFailed checks a failure's reason, and that its text holds all of these.
func (h *home) wantFailed(id string, reason queue.Reason, texts ...string) *fsstate.Handoff {
	h.Helper()
	hd := h.wantState(id, queue.Failed)
	if hd.End == nil || hd.End.Reason != string(reason) {
		h.Fatalf("ended %+v, want reason %s", hd.End, reason)
	}
	for _, text := range append(texts, "/handoff", "handoff retry "+id) {
		if !strings.Contains(hd.End.Error, text) {
			h.Errorf("error %q does not say %q", hd.End.Error, text)
		}
	}
	if n := len([]rune(hd.End.Error)); n > queue.MaxError {
		h.Errorf("error of %d characters", n)
	}
	return hd
}

const mayBe = "may have been delivered"

// refused checks that an error refuses for a reason.
func (h *home) refused(err error, want queue.Reason) {
	h.Helper()
	refused, is := errors.AsType[*RefusedError](err)
	if !is || refused.Reason != want {
		h.Fatalf("error %v, want refusal %s", err, want)
	}
}

// keeper is a keeper process.
type keeper struct {
	h      *home
	cmd    *exec.Cmd
	report string
	stderr *os.File
	ended  chan struct{}
}

func (h *home) call(id string) call { return call{place: h.place, ID: id, Drain: patience} }

func (h *home) keep(id string) *keeper { h.Helper(); return h.start(h.call(id)) }

// start starts a keeper.
func (h *home) start(c call, env ...string) *keeper {
	h.Helper()
	c.Report = filepath.Join(h.TempDir(), "report")
	data, err := json.Marshal(c)
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(testBinary(h.T), "keeper")
	cmd.Env = append(append(cmd.Environ(), callVar+"="+string(data), "GORACE=atexit_sleep_ms=0"), env...)
	return h.run(cmd, c.Report)
}

// run starts a process that writes a report, and sees to its end.
func (h *home) run(cmd *exec.Cmd, report string) *keeper {
	h.Helper()
	k := &keeper{h: h, cmd: cmd, report: report, ended: make(chan struct{})}
	var err error
	if k.stderr, err = os.Create(filepath.Join(h.TempDir(), "stderr")); err != nil {
		h.Fatal(err)
	}
	k.cmd.Dir = h.dir
	k.cmd.Stderr = k.stderr
	if err := k.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	go func() { _ = k.cmd.Wait(); close(k.ended) }()
	h.Cleanup(func() {
		k.signal(syscall.SIGKILL)
		<-k.ended
		h.endAll()
		if h.Failed() {
			h.Logf("process %d said:\n%.2000s", k.pid(), k.said())
		}
		_ = k.stderr.Close()
	})
	return k
}

func (k *keeper) pid() int { return k.cmd.Process.Pid }

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

// freeze stops the keeper, and returns when it stands.
func (k *keeper) freeze() {
	k.h.Helper()
	k.signal(syscall.SIGSTOP)
	k.h.until("the keeper is stopped", func() bool { return procState(k.pid()) == 'T' })
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
		k.h.Fatalf("keeper %d did not end", k.pid())
	}
}

// wait is the result of a keeper that ends by itself.
func (k *keeper) wait() result {
	k.h.Helper()
	k.awaitEnd()
	data, err := os.ReadFile(k.report)
	if err != nil {
		k.h.Fatalf("keeper %d left no result: %v", k.pid(), k.cmd.ProcessState)
	}
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		k.h.Fatal(err)
	}
	return r
}

// want waits for a keeper that must have brought the handoff to a state.
func (k *keeper) want(state queue.State) {
	k.h.Helper()
	if r := k.wait(); r.Err != "" || r.State != state {
		k.h.Fatalf("keeper: %+v, want %s", r, state)
	}
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

// log is what the handlers wrote so far.
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

// started waits for the n-th start of a handler and returns its pid.
func (h *home) started(n int) int {
	h.Helper()
	h.until(fmt.Sprintf("handler %d has started", n), func() bool { return len(h.logged("start")) >= n })
	return h.logged("start")[n-1].PID
}

// said waits for a handler, or what it has left, to say something, and returns its pid.
func (h *home) said(text string) int {
	h.Helper()
	pid := 0
	h.until("somebody says "+text, func() bool {
		for _, l := range h.logged("said") {
			if l.Text == text {
				pid = l.PID
			}
		}
		return pid != 0
	})
	return pid
}

// ran checks by the handlers' own log how often they started, and that no two of them lived at once.
func (h *home) ran(times int) {
	h.Helper()
	if n := len(h.logged("start")); n != times {
		h.Fatalf("the handler started %d times, want %d: %v", n, times, h.log())
	}
	if over := h.logged("overlap"); len(over) > 0 {
		h.Fatalf("two ran at once: %v", h.log())
	}
}

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

func procState(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return stat[bytes.LastIndexByte(stat, ')')+2]
}

// endAll ends what the handlers of a failed or finished test have left.
func (h *home) endAll() {
	for _, l := range h.log() {
		if gone(l.PID) {
			continue
		}
		if argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", l.PID)); err == nil && bytes.Contains(argv, []byte(h.dir)) {
			_ = syscall.Kill(l.PID, syscall.SIGKILL)
		}
	}
}

// recorded waits until the claim names the handler's pid, and its keeper has given back the lock.
func (h *home) recorded(id string) ident.Ident {
	h.Helper()
	var handler ident.Ident
	h.until("the handler's pid is recorded", func() bool {
		hd := h.get(id)
		if hd.Claim != nil {
			handler = hd.Claim.Handler
		}
		return handler.PID != 0
	})
	unlock, err := h.queue.Files.Store.Lock(h.Context(), fsstate.HandoffLock(id), "test")
	if err != nil {
		h.Fatal(err)
	}
	unlock()
	return handler
}

// dead is the identity of a process of this boot that has ended.
func (h *home) dead() ident.Ident {
	h.Helper()
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	id, err := ident.Self(ident.NewInstance())
	if err != nil {
		h.Fatal(err)
	}
	id = ident.Launched(cmd.Process.Pid, id)
	_ = cmd.Wait()
	return id
}

// state is all that a refused call must leave as it was: every file of the home but for the locks, whose content names
// their last holder.
func (h *home) state() map[string]string {
	h.Helper()
	files := map[string]string{}
	top := h.place.Home.Path
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/locks/") {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, top)] = string(data)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return files
}

// runFiles are the names in run/.
func (h *home) runFiles() []string {
	h.Helper()
	names, err := h.queue.Files.Store.List(fsstate.Run)
	if err != nil {
		h.Fatal(err)
	}
	return names
}

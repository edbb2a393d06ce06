package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

const name = "svc"

// testHome is one home as one supervisor has it.
type testHome struct {
	files   fsstate.ServiceFiles
	self    ident.Ident
	witness *os.File
	gate    chan struct{}
	log     *slog.Logger
}

func openTestHome(at fsstate.Home, key []byte) (*testHome, error) {
	store, err := fsstate.Open(at, fsstate.Options{})
	if err != nil {
		return nil, err
	}
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		return nil, err
	}
	witness, err := store.NewWitness(self.Instance, nil)
	return &testHome{
		files: fsstate.ServiceFiles{Store: store, Key: key}, self: self, witness: witness,
		gate: make(chan struct{}, 2), log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, err
}

// runner is made as supervise makes one.
func (h *testHome) runner(spec Spec, moved func(Spec, phase.State)) (*Runner, error) {
	log, err := output.Open(h.files.Store, spec.Name)
	if err != nil {
		return nil, err
	}
	return New(Shared{
		Files: h.files, Host: host, Supervisor: h.self, Gate: h.gate, Tagged: ident.ScanTagged, Log: h.log, Moved: moved,
		Instances: func() (map[string][]string, error) { return Instances(h.files.Store) },
	}, log), nil
}

// world is a home under test. What is started for it carries its path in HERMES_HOME, and is gone when the test ends.
type world struct {
	*testHome

	t     *testing.T
	home  fsstate.Home
	dir   string // beside the home, for the files of scripts
	noise *bytes.Buffer

	broken string // folder that a test obstructs
}

type ctx = context.Context

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, noise: &bytes.Buffer{}}
	w.home.Path = filepath.Join(dir, "home")
	w.home.Root = w.home.Path
	w.another()
	t.Cleanup(func() {
		empty := 0 // looks in a row: what is about to exec has no environment for a moment
		w.until("everything is gone", func() bool {
			alive := w.alive()
			for pid := range alive {
				empty = 0
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			empty++
			return empty > 2
		})
		if t.Failed() {
			var record bytes.Buffer
			text, _ := os.ReadFile(w.files.Path(name))
			_ = json.Compact(&record, text)
			t.Logf("record: %s\nlog: %s", &record, w.noise)
		}
	})
	return w
}

// another makes the supervisor that the next runners belong to another one. The one before lives on.
func (w *world) another() {
	w.t.Helper()
	h, err := openTestHome(w.home, []byte("a key for the tests"))
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	h.log = slog.New(slog.NewTextHandler(writer(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		w.noise.Write(b)
	}), nil))
	w.testHome = h
	w.t.Cleanup(func() { _, _ = h.witness.Close(), h.files.Store.Close() })
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// path is a file for a script.
func (w *world) path(file string) string { return filepath.Join(w.dir, file) }

// script is a service that is the scripted child: words as childtest reads them, "@x" for the file x.
func (w *world) script(words string) Spec {
	argv := []string{self(), "child"}
	for word := range strings.FieldsSeq(words) {
		if file, is := strings.CutPrefix(word, "@"); is {
			word = w.path(file)
		}
		argv = append(argv, word)
	}
	settings := phase.Defaults()
	settings.Delay, settings.MaxDelay, settings.StormStarts = time.Millisecond, 10*time.Millisecond, phase.MaxStormStarts
	return Spec{
		Name: name, Command: argv, Autostart: true, Settings: settings,
		StopSignal: syscall.SIGTERM, StopScope: process.ScopeLeader, StopTimeout: 2 * patience,
	}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// check holds what must be so at every state that is told: nothing lives where nothing may, and never two launches.
func (w *world) check(s phase.State) {
	alive := w.alive()
	instances := map[string]bool{}
	for _, instance := range alive {
		instances[instance] = true
	}
	if s.Reason != phase.ReasonOwnerUnknown && (!s.Phase.Live() && len(alive) > 0 || len(instances) > 1) {
		w.t.Errorf("%s (%s) is told, and these live: %v", s.Phase, s.Reason, alive)
	}
}

// alive are the living processes of the home's services, with their instances.
func (w *world) alive() map[int]string {
	alive := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(environ, []byte("HERMES_HOME="+w.home.Path+"\x00")) || startOf(pid) == 0 {
			continue
		}
		if _, err := ident.Of(pid, ""); errors.Is(err, os.ErrProcessDone) {
			continue
		}
		for entry := range strings.SplitSeq(string(environ), "\x00") {
			if instance, is := strings.CutPrefix(entry, ident.InstanceVar+"="); is {
				alive[pid] = instance
			}
		}
	}
	return alive
}

// record is what is on disk.
func (w *world) record() (*fsstate.Service, phase.State) {
	w.t.Helper()
	rec, err := w.files.Get(name)
	if err != nil {
		w.t.Fatal(err)
	}
	var s phase.State
	if err := json.Unmarshal(rec.State, &s); err != nil {
		w.t.Fatal(err)
	}
	return rec, s
}

// rewrite changes the record on disk.
func (w *world) rewrite(change func(*fsstate.Service, *phase.State)) {
	w.t.Helper()
	rec, s := w.record()
	change(rec, &s)
	rec.State, _ = json.Marshal(s)
	if err := w.files.Put(rec); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pid() int {
	w.t.Helper()
	rec, _ := w.record()
	return rec.Process.PID
}

func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came true that %s", what)
		}
	}
}

// appears waits for a script's file.
func (w *world) appears(file string) {
	w.t.Helper()
	w.until(file+" is there", func() bool { _, err := os.Stat(w.path(file)); return err == nil })
}

// text is what a script's file holds.
func (w *world) text(file string) string {
	data, _ := os.ReadFile(w.path(file))
	return string(data)
}

// kill kills a process, and has it reaped: its environment is gone before it is dead.
func (w *world) kill(pid int) {
	w.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	w.until("what was killed is reaped", func() bool { return startOf(pid) == 0 })
}

// Look has the runner judge now what it could not tell, which it does by itself after a while. It has taken the service
// by then.
func (r *running) Look(ctx context.Context) error {
	return r.tell(ctx, order{do: func(j *job) error { j.lookAgain(ctx); return nil }})
}

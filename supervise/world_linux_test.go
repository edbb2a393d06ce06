package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
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
)

// world is a root home under test, and the one supervisor of it that runs in this process.
type world struct {
	setup

	t      *testing.T
	store  *fsstate.Store // of the root home, as a command line opens it
	noise  *noise
	orders chan Order
	over   chan struct{} // Run has returned
	ended  time.Time     // when
	err    error

	mu     sync.Mutex
	reload func() (Config, error)
}

// noise is what the supervisors of a test log.
type noise struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *noise) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// newWorld makes a home. The services are the ones that are configured, all with the digest "a".
func newWorld(t *testing.T, services ...string) *world {
	t.Helper()
	w := &world{t: t, noise: &noise{}}
	w.Dir = t.TempDir()
	w.Home.Path = filepath.Join(w.Dir, "home")
	w.Home.Root = w.Home.Path
	w.Key = []byte("a key for the tests")
	w.MaxConcurrent = 8
	w.Services = map[string]string{}
	for _, name := range services {
		w.Services[name] = "a"
	}
	var err error
	if w.store, err = fsstate.Open(w.Home, fsstate.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.store.Close()
		empty := 0 // looks in a row: what is about to exec has no environment for a moment
		w.until("everything is gone", func() bool {
			empty++
			for _, pid := range w.alive() {
				empty = 0
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return empty > 2
		})
		if t.Failed() {
			t.Logf("log: %s\nkeepers: %s", w.noise, w.text(keeperLog(w.Dir)))
		}
	})
	return w
}

// alive are the living processes of the services and the keepers of this test.
func (w *world) alive() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		argv, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(argv, []byte(w.Dir+"/")) || bytes.Contains(argv, []byte(w.Dir+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// run starts the supervisor, waits until it is up, and stops it in order when the test ends.
func (w *world) run() {
	w.t.Helper()
	w.orders, w.over = make(chan Order, 4), make(chan struct{})
	up := make(chan struct{})
	s := w.supervisor(w.noise)
	s.Orders, s.Up = w.orders, func() { close(up) }
	s.Reload = func() (Config, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.reload()
	}
	go func() {
		defer close(w.over)
		w.err = s.Run(w.t.Context())
		w.ended = time.Now()
	}()
	select {
	case <-up:
	case <-w.over:
		w.t.Fatalf("it ended: %v", w.err)
	case <-time.After(patience):
		w.t.Fatal("it never came up")
	}
	w.t.Cleanup(w.stop)
}

// stop stops it in order, and lets its keepers go.
func (w *world) stop() {
	w.t.Helper()
	for _, session := range w.kept("start") {
		w.release(session, "")
	}
	select {
	case w.orders <- OrderStop:
	case <-w.over:
	}
	w.await("it has been stopped", w.over)
	if w.err != nil && !errors.Is(w.err, w.t.Context().Err()) {
		w.t.Errorf("it ended with %v", w.err)
	}
}

func (w *world) await(what string, done <-chan struct{}) {
	w.t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		w.t.Errorf("it never came true that %s", what)
	}
}

// configure is what the next reload finds.
func (w *world) configure(services map[string]string) {
	next := w.setup
	next.Services = services
	w.fail(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reload = func() (Config, error) { return next.config(), nil }
}

// fail makes the next reload fail.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reload = func() (Config, error) { return Config{}, err }
}

func (w *world) profile(name string) fsstate.Home {
	return fsstate.Home{Path: filepath.Join(w.Home.Path, profilesFolder, name), Root: w.Home.Path, Profile: name}
}

// appear makes a profile.
func (w *world) appear(name string) fsstate.Home {
	w.t.Helper()
	h := w.profile(name)
	if err := os.MkdirAll(h.Path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// record is what is on disk about a service of the root home; zero where nothing is yet.
func (w *world) record(name string) (r fsstate.Service, s phase.State) {
	w.t.Helper()
	rec, err := fsstate.ServiceFiles{Store: w.store, Key: w.Key}.Get(name)
	if errors.Is(err, os.ErrNotExist) {
		return r, s
	}
	if err == nil {
		err = json.Unmarshal(rec.State, &s)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return *rec, s
}

// stands waits until a service of the root home is in a phase, and gives its process. One that is running has noted its
// start: the phase comes with the launch, and a stop right then would end a program that has not got to noting anything.
func (w *world) stands(name string, p phase.Phase) (pid int) {
	w.t.Helper()
	w.until(name+" is "+p.String(), func() bool {
		rec, s := w.record(name)
		pid = rec.Process.PID
		if rec.Service == "" || s.Phase != p {
			return false
		}
		return p != phase.Running || strings.Contains(w.text(w.notes(w.Home, name)), "start "+strconv.Itoa(pid)+" ")
	})
	return pid
}

// noted counts what a service of a home has noted: "start" or "end".
func (w *world) noted(h fsstate.Home, name, word string) int {
	return strings.Count(w.text(w.notes(h, name)), word+" ")
}

func (w *world) text(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	w.within(patience, what, holds)
}

func (w *world) within(most time.Duration, what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(most); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came true that %s", what)
		}
	}
}

// instance is the supervisor that runs a service.
func (w *world) instance(name string) string {
	w.t.Helper()
	rec, _ := w.record(name)
	return rec.Supervisor.Instance
}

// order leaves an order in a home, sealed with the key.
func (w *world) order(store *fsstate.Store, key []byte, o fsstate.Order) (id string) {
	w.t.Helper()
	o.ID = ident.NewInstance()
	if err := (fsstate.OrderFiles{Store: store, Key: key}).Put(&o); err != nil {
		w.t.Fatal(err)
	}
	return o.ID
}

// ask gives an order to the supervisor that runs a service of the root home.
func (w *world) ask(op, name, by string) (id string) {
	w.t.Helper()
	return w.order(w.store, w.Key, fsstate.Order{Supervisor: w.instance(by), Op: op, Service: name, At: time.Now()})
}

// answer waits for the answer to an order: soon, which is long before a rescan.
func (w *world) answer(store *fsstate.Store, id string) (a *fsstate.Answer) {
	w.t.Helper()
	w.within(soon, "order "+id+" is answered", func() bool {
		var err error
		if a, err = (fsstate.OrderFiles{Store: store, Key: w.Key}).Answer(id); err != nil {
			w.t.Fatal(err)
		}
		return a != nil
	})
	return a
}

// soon is well within the time between two rescans: what comes so soon was woken.
const soon = 25 * time.Second

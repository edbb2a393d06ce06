package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// handing is what a setup says of handoffs.
type handing struct {
	Platforms map[string]platform
	AtOnce    int           // in one home
	Drain     time.Duration // of a keeper
	Only      bool          // as `handoff watch` does
}

// platform is one whose command is playHandler.
type platform struct {
	Mode     string // what the command does
	AtOnce   int
	External bool
}

func (h *handing) config(dir string) Handoffs {
	if h == nil {
		return Handoffs{}
	}
	return Handoffs{MaxConcurrent: h.AtOnce, Platform: func(name string) (handoff.Platform, error) {
		p, known := h.Platforms[name]
		if !known {
			return handoff.Platform{}, fmt.Errorf("platform %q is not known", name)
		}
		return handoff.Platform{
			Command:  []string{self(), "handler", dir, "{{session}}", "{{id}}", "{{platform}}", p.Mode},
			External: p.External, Timeout: time.Minute, MaxConcurrent: p.AtOnce,
		}, nil
	}}
}

// queue is the handoffs of an open home.
func (s setup) queue(store *fsstate.Store) *handoff.Queue {
	return &handoff.Queue{
		Files:    fsstate.HandoffFiles{Store: store, Key: s.Key},
		Room:     &turn.Room{Store: store, Key: s.Key, Settings: policy.Defaults()},
		Platform: s.Handoffs.config(s.Dir).Platform,
	}
}

// deliverer is the command line of the keeper of a delivery.
func (s setup) deliverer(h fsstate.Home, id string) []string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return []string{self(), "deliverer", string(text), h.Path, h.Profile, id}
}

// playDeliverer is the keeper of one handoff.
func playDeliverer(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stderr, err); return 98 }
	var s setup
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return fail(err)
	}
	store, err := fsstate.Open(fsstate.Home{Path: args[1], Root: s.Home.Root, Profile: args[2]}, fsstate.Options{})
	if err != nil {
		return fail(err)
	}
	one, err := process.NewHost()
	if err != nil {
		return fail(err)
	}
	told, orders := make(chan os.Signal, 8), make(chan handoff.Order, 8)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		for range told {
			orders <- handoff.OrderDrain
		}
	}()
	k := &handoff.Keeper{
		Queue: s.queue(store), Host: one, ID: args[3], By: handoff.ByRun, Drain: s.Handoffs.Drain,
		Stdout: os.Stdout, Stderr: os.Stderr, Orders: orders, Say: func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) },
	}
	if _, err := k.Run(context.Background()); err != nil {
		return fail(err)
	}
	return 0
}

// playHandler is a platform's command: DIR SESSION ID PLATFORM MODE. It notes "start PLATFORM SESSION ID PID NANOSECONDS",
// and "end" before it ends by itself: at once in mode "quick", after a moment in "brief", else when the file go-SESSION or
// go is there. Mode "stubborn" does not end at SIGTERM.
func playHandler(args []string) int {
	dir, session, id, platform, mode := args[0], args[1], args[2], args[3], args[4]
	f, err := os.OpenFile(handled(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 98
	}
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	note := func(word string) { fmt.Fprintln(f, word, platform, session, id, os.Getpid(), time.Now().UnixNano()) }
	note("start")
	if mode == "brief" {
		time.Sleep(20 * time.Millisecond)
	}
	for mode == "hold" || mode == "stubborn" {
		if _, err := os.Stat(dir); err != nil {
			return 97
		}
		if exists(filepath.Join(dir, "go-"+session)) || exists(filepath.Join(dir, "go")) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	note("end")
	return 0
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// handled is where the commands of platforms note what they do.
func handled(dir string) string { return filepath.Join(dir, "handled") }

// handed is one of their notes.
type handed struct {
	word, platform, session, id string
	pid                         int
	at                          time.Time
}

func (w *world) handlerNotes() (notes []handed) {
	for line := range strings.Lines(w.text(handled(w.Dir))) {
		var n handed
		var at int64
		if _, err := fmt.Sscan(line, &n.word, &n.platform, &n.session, &n.id, &n.pid, &at); err == nil {
			n.at = time.Unix(0, at)
			notes = append(notes, n)
		}
	}
	return notes
}

// handlings counts the notes of a session, "" for all.
func (w *world) handlings(word, session string) (n int) {
	for _, one := range w.handlerNotes() {
		if one.word == word && (session == "" || one.session == session) {
			n++
		}
	}
	return n
}

// handler is the process of a session's last delivery.
func (w *world) handler(session string) (pid int) {
	w.t.Helper()
	for _, one := range w.handlerNotes() {
		if one.word == "start" && one.session == session {
			pid = one.pid
		}
	}
	if pid == 0 {
		w.t.Fatalf("no handler of %s", session)
	}
	return pid
}

// newHandingWorld makes a home with the platforms "desk", whose command ends when it is let go, and "quick".
func newHandingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Handoffs = &handing{
		Platforms: map[string]platform{"desk": {Mode: "hold"}, "quick": {Mode: "quick"}, "own": {External: true}},
		AtOnce:    3, Drain: 100 * time.Millisecond,
	}
	return w
}

// serve starts the supervisor; before it is stopped at the end, its deliveries may end.
func (w *world) serve() {
	w.t.Helper()
	w.run()
	w.t.Cleanup(func() { w.letGo("") })
}

// letGo lets the command of a session end, or all of them.
func (w *world) letGo(session string) {
	w.t.Helper()
	name := "go"
	if session != "" {
		name += "-" + session
	}
	if err := os.WriteFile(filepath.Join(w.Dir, name), nil, 0o600); err != nil {
		w.t.Error(err)
	}
}

// opened is the handoffs of a home, as a command line opens it.
func (w *world) opened(h fsstate.Home) *handoff.Queue {
	w.t.Helper()
	if h == w.Home {
		return w.queue(w.store)
	}
	store, err := fsstate.Open(h, fsstate.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = store.Close() })
	return w.queue(store)
}

// request asks for a handoff in the root home.
func (w *world) request(session, platform string) (id string) {
	w.t.Helper()
	return w.requestIn(w.queue(w.store), session, platform)
}

func (w *world) requestIn(q *handoff.Queue, session, platform string) (id string) {
	w.t.Helper()
	h, _, err := q.Request(w.t.Context(), handoff.Request{Session: session, Platform: platform})
	if err != nil {
		w.t.Fatalf("%s to %s: %v", session, platform, err)
	}
	return h.ID
}

// stranded leaves a running handoff of a claimer.
func (w *world) stranded(q *handoff.Queue, session, platform string, claimer ident.Ident) (id string) {
	w.t.Helper()
	now := time.Now().UTC()
	h := &fsstate.Handoff{
		ID: fsstate.NewHandoffID(session, platform, "", now), Session: session, Platform: platform, State: string(queue.Running),
		RequestedAt: now, Tries: 1, Verified: true, Claim: &fsstate.Claim{Claimer: claimer, At: now, By: handoff.ByRun},
	}
	if err := q.Files.Put(h); err != nil {
		w.t.Fatal(err)
	}
	return h.ID
}

// dead is a process that is no more.
func (w *world) dead() ident.Ident {
	w.t.Helper()
	dead, err := ident.Self(ident.NewInstance())
	if err != nil {
		w.t.Fatal(err)
	}
	dead.Start-- // this pid, another process
	return dead
}

// state is where a handoff of a home stands; "" where there is none.
func (w *world) state(q *handoff.Queue, id string) queue.State {
	w.t.Helper()
	h, err := q.Files.Get(id)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return queue.State(h.State)
}

// becomes waits until a handoff of the root home is in a state, soon: which is long before a rescan.
func (w *world) becomes(id string, s queue.State) *fsstate.Handoff {
	w.t.Helper()
	return w.becomesIn(w.queue(w.store), id, s)
}

func (w *world) becomesIn(q *handoff.Queue, id string, s queue.State) *fsstate.Handoff {
	w.t.Helper()
	w.within(soon, fmt.Sprintf("handoff %s is %s", id, s), func() bool { return w.state(q, id) == s })
	h, err := q.Files.Get(id)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// handling waits until the command of a session's handoff runs.
func (w *world) handling(sessions ...string) {
	w.t.Helper()
	for _, session := range sessions {
		w.within(soon, session+" is being delivered", func() bool { return w.handlings("start", session) > 0 })
	}
}

// atOnce is how many of the commands that count ran at the same time at most.
func atOnce(notes []handed, counts func(handed) bool) (most int) {
	notes = slices.DeleteFunc(slices.Clone(notes), func(n handed) bool { return !counts(n) })
	slices.SortFunc(notes, func(a, b handed) int { return a.at.Compare(b.at) })
	running := 0
	for _, n := range notes {
		if n.word == "start" {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	return most
}

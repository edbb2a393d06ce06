package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/process"
)

// never is longer than a test: what comes is not from a rescan.
const never = time.Hour

func TestAFolderThatIsMadeAgainIsWatchedAgain(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Services = map[string]string{"svc": "a"}
	w.Rescan = never
	w.another()
	w.stands("svc", phase.Running)
	w.becomes(w.request("first", "quick"), queue.Completed)
	for round, again := range []string{"removed", "removed once more", "renamed"} {
		for _, folder := range []fsstate.Folder{fsstate.Handoffs, fsstate.Turns, fsstate.Requests} {
			path := w.store.Path(folder, "")
			var err error
			if again == "renamed" {
				err = os.Rename(path, filepath.Join(w.Dir, string(folder)))
			} else {
				w.until("it is removed, whatever is written there", func() bool { return os.RemoveAll(path) == nil })
			}
			if err == nil {
				err = os.Mkdir(path, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		name := strconv.Itoa(round)
		w.becomes(w.request("handoff-"+name, "quick"), queue.Completed)
		w.interrupted("turn-" + name)
		w.within(soon, again+": the turn goes on", func() bool { return w.tries("turn-"+name) == 1 })
		if a := w.answer(w.store, w.ask(OpSignal, "svc", "svc")); a.Error != "" {
			t.Errorf("%s: answered with %+v", again, a)
		}
		w.release("turn-"+name, "conclude")
	}
}

func TestAnOverflowOfEventsLosesNoHandoff(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Rescan = never
	one := w.another()
	w.becomes(w.request("first", "quick"), queue.Completed)
	most, err := strconv.Atoi(strings.TrimSpace(w.text("/proc/sys/fs/inotify/max_queued_events")))
	if err != nil || most > 100_000 {
		t.Skipf("an overflow takes %d events: %v", most, err)
	}
	if err := one.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = one.Signal(syscall.SIGCONT) }()
	noise := w.store.Path(fsstate.Requests, "noise") // where an event makes nobody look at handoffs
	for range most {                                 // two events each: more than the kernel keeps
		if err := os.Symlink("nowhere", noise); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(noise); err != nil {
			t.Fatal(err)
		}
	}
	id := w.request("late", "quick") // whose event is lost
	if err := one.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.becomes(id, queue.Completed)
}

// TestWithoutInotifyARescanDispatches is of a user who may have no inotify instance, and of the moment from which on he
// may.
func TestWithoutInotifyARescanDispatches(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	text, err := json.Marshal(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	limit, allow := "/proc/sys/user/max_inotify_instances", filepath.Join(w.Dir, "allow")
	child, err := host.Start(process.Spec{Argv: []string{
		"unshare", "--user", "--map-root-user", "sh", "-c",
		`echo 0 >` + limit + ` || exit 77; (until [ -e "$1" ]; do sleep 0.05; [ -e "$2" ] || exit; done; echo 128 >` + limit + `) & exec "$3" supervisor "$4"`,
		"sh", allow, w.Dir, self(), string(text),
	}, Stderr: os.Stderr})
	if err != nil {
		t.Skipf("no user namespace to be had: %v", err)
	}
	t.Cleanup(func() { _ = child.Signal(syscall.SIGKILL); <-child.Done() })
	id := w.request("first", "quick")
	w.within(soon, "it is delivered", func() bool {
		select {
		case <-child.Done():
			t.Skipf("no user namespace to be had: %v", child.Exit())
		default:
		}
		return w.state(w.queue(w.store), id) == queue.Completed
	})
	for _, session := range []string{"second", "third"} {
		w.becomes(w.request(session, "quick"), queue.Completed)
	}
	if watches(child.PID()) {
		t.Fatal("it watches: nothing was tested")
	}
	if err := os.WriteFile(allow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.within(soon, "it watches", func() bool { return watches(child.PID()) })
	w.becomes(w.request("fourth", "quick"), queue.Completed)
}

// watches tells whether a process has an inotify instance.
func watches(pid int) bool {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if what, _ := os.Readlink(folder + e.Name()); what == "anon_inode:inotify" {
			return true
		}
	}
	return false
}

// TestWhoOnlyHandsOverLeavesOrdersAlone is of `handoff watch` beside `run`.
func TestWhoOnlyHandsOverLeavesOrdersAlone(t *testing.T) {
	t.Parallel()
	w := newHandingWorld(t)
	w.Handoffs.Only = true
	w.another()
	w.becomes(w.request("first", "quick"), queue.Completed) // so it is up
	only := *w.Handoffs
	only.Only = false
	w.Handoffs = &only
	w.Services = map[string]string{"svc": "a"}
	w.serve()
	w.stands("svc", phase.Running)
	for range 20 {
		if a := w.answer(w.store, w.ask(OpSignal, "svc", "svc")); a.Error != "" {
			t.Fatalf("answered with %+v", a)
		}
	}
}

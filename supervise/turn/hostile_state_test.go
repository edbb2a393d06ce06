//go:build linux

package turn

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

// What an agent, a backup or a stray chmod may leave where a keeper expects one of its files. make gets the place and a
// folder outside that holds a file "victim".
var hostile = map[string]struct {
	make    func(at, outside string) error
	problem string // of what no reader may touch; "": a regular file of ours with a broken content
}{
	"FIFO":          {func(at, _ string) error { return syscall.Mkfifo(at, 0o600) }, "is a FIFO"},
	"symlink":       {func(at, outside string) error { return os.Symlink(filepath.Join(outside, "victim"), at) }, "is a symbolic link"},
	"dangling link": {func(at, outside string) error { return os.Symlink(filepath.Join(outside, "new"), at) }, "is a symbolic link"},
	"hard link":     {func(at, outside string) error { return os.Link(filepath.Join(outside, "victim"), at) }, "has more than one name"},
	"directory":     {func(at, _ string) error { return os.MkdirAll(filepath.Join(at, "full"), 0o700) }, "is a directory"},
	"device":        {func(at, _ string) error { return syscall.Mknod(at, syscall.S_IFCHR|0o600, 1<<8|5) }, "is a device"}, // /dev/zero
	"sparse 1 TB":   {func(at, _ string) error { return writeThen(at, "", func() error { return os.Truncate(at, 1<<40) }) }, "is larger than"},
	"foreign owner": {func(at, _ string) error {
		return writeThen(at, "{}", func() error { return os.Chown(at, 12345, 12345) })
	}, "belongs to uid 12345"},
	"world-writable": {func(at, _ string) error { return writeThen(at, "{}", func() error { return os.Chmod(at, 0o666) }) }, "may be written by others"},
	"0 bytes":        {broken(""), ""},
	"truncated":      {broken(`{"version": 1, "session": "x", "phase": "runn`), ""},
	"wrong types":    {broken(`{"version": 1, "session": 7, "phase": [], "id": {}, "stop": "x", "pause": 3}`), ""},
	"NaN":            {broken(`{"version": 1, "session": "x", "attempts": NaN}`), ""},
	"10,000 deep":    {broken(`{"version": 1, "session": ` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`), ""},
}

func broken(content string) func(at, outside string) error {
	return func(at, _ string) error { return writeThen(at, content, func() error { return nil }) }
}

func writeThen(at, content string, then func() error) error {
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		return err
	}
	return then()
}

// plant puts a hostile thing at a path, and returns a check that nothing outside was touched.
func (h *home) plant(kind, at string) (untouched func()) {
	h.Helper()
	outside := h.file("outside")
	victim := filepath.Join(outside, "victim")
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	if !exists(outside) {
		if err := writeVictim(outside, victim, long); err != nil {
			h.Fatal(err)
		}
	}
	made := h.file("planted")
	err := hostile[kind].make(made, outside)
	if os.Geteuid() != 0 && os.IsPermission(err) {
		h.Skipf("only root can make it: %v", err)
	}
	if _, there := os.Lstat(at); err == nil && there == nil { // in one stroke: a living keeper writes again what is missing
		if err = unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE); err == nil {
			err = os.RemoveAll(made)
		}
	} else if err == nil {
		err = os.Rename(made, at)
	}
	if err != nil {
		h.Fatal(err)
	}
	return func() {
		h.Helper()
		entries, err := os.ReadDir(outside)
		if err != nil {
			h.Fatal(err)
		}
		info, err := os.Stat(victim)
		if err != nil {
			h.Fatal(err)
		}
		if text := h.read("outside/victim"); len(entries) != 1 || text != "victim" || info.ModTime().After(long) || info.Mode().Perm() != 0o600 {
			h.Errorf("outside was touched: %d entries, %q, %v, %v", len(entries), text, info.ModTime(), info.Mode())
		}
	}
}

func writeVictim(outside, victim string, mtime time.Time) error {
	if err := os.Mkdir(outside, 0o700); err != nil {
		return err
	}
	return writeThen(victim, "victim", func() error { return os.Chtimes(victim, mtime, mtime) })
}

// answer is what a keeper does about a hostile file.
type answer int

const (
	runs    answer = iota // the turn runs and concludes
	refuses               // one line names the file and what is wrong; nothing runs, nothing is lost
	waits                 // refused as paused, and told why
)

// hostilePlaces are the files that a `turn run` reads or writes. at makes what must be there before, and tells where
// the hostile thing goes.
var hostilePlaces = map[string]struct {
	at     func(h *home) string
	change func(c *call)
	answer func(kind string) answer
}{
	"turns": {
		at:     func(h *home) string { return h.markerPath() },
		answer: func(kind string) answer { return refusesIf(hostile[kind].problem != "") },
	},
	"ended": { // the old turn goes there
		at: func(h *home) string {
			m := h.interrupted("the old prompt")
			stamp := m.StartedAt.UTC().Format("20060102T150405.000000000Z")
			return h.room.Store.Path(fsstate.Ended, fsstate.Name(theSession)+"-"+stamp+".json")
		},
		answer: func(kind string) answer { return refusesIf(kind == "directory") },
	},
	"requests, stop": {
		at:     func(h *home) string { return h.room.Store.Path(fsstate.Requests, stopFile(theSession, "")) },
		answer: func(kind string) answer { return refusesIf(hostile[kind].problem != "") },
	},
	"requests, pause": {
		at: func(h *home) string {
			h.interrupted("prompt")
			return h.room.Store.Path(fsstate.Requests, pauseFile)
		},
		answer: func(string) answer { return waits },
	},
	"run, witness": {
		at: func(h *home) string {
			return h.room.Store.Path(fsstate.Run, h.interrupted("prompt").Owner.Instance+".in")
		},
		answer: func(string) answer { return runs },
	},
	"run, output": {
		at: func(h *home) string {
			return h.room.Store.Path(fsstate.Run, h.interrupted("prompt").Owner.Instance+".out")
		},
		change: func(c *call) { c.Request.Agent.Events.End = resultLine },
		answer: func(kind string) answer { return refusesIf(hostile[kind].problem != "" && kind != "sparse 1 TB") },
	},
	"outcomes": {
		at: func(h *home) string {
			return h.room.Store.Path(fsstate.Outcomes, fsstate.Name(fmt.Sprintf("%d:%s:job", len(theSession), theSession))+".json")
		},
		change: func(c *call) { c.Request.ID = "job" },
		answer: func(string) answer { return refuses }, // it may say that the request has ended
	},
	"locks": {
		at: func(h *home) string {
			return h.room.Store.Path(fsstate.Locks, fmt.Sprintf("%02x.lock", sha256.Sum256([]byte(fsstate.Name(theSession)))[0]))
		},
		answer: func(kind string) answer { return refusesIf(hostile[kind].problem != "" && kind != "sparse 1 TB") },
	},
	"journal": {
		at:     func(h *home) string { return h.room.Store.Path("", "journal.jsonl") },
		answer: func(string) answer { return runs },
	},
}

func refusesIf(yes bool) answer {
	if yes {
		return refuses
	}
	return runs
}

func TestHostileFileStopsItsOwnSessionAtMost(t *testing.T) {
	t.Parallel()
	for place, p := range hostilePlaces {
		for kind := range hostile {
			t.Run(place+", "+kind, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				at := p.at(h)
				untouched := h.plant(kind, at)
				before := h.turnOrNil()
				c := h.run("prompt", "read")
				if p.change != nil {
					p.change(&c)
				}
				r := h.start(c).wait()
				h.wantAnswer(p.answer(kind), r, kind, at)
				untouched()
				if r.Outcome.State != Concluded && before != nil && h.mustTurn().Prompt != before.Prompt {
					t.Errorf("the turn that was there is lost: %+v", h.turn())
				}
			})
		}
		t.Run(place+", another session beside all of them", func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			at := p.at(h)
			var checks []func()
			kinds := slices.Sorted(maps.Keys(hostile))
			if place == "locks" || place == "journal" || place == "requests, pause" { // one file
				kinds = []string{"FIFO"}
			}
			for i, kind := range kinds {
				to := at
				if len(kinds) > 1 {
					to = filepath.Join(filepath.Dir(at), fmt.Sprintf("%d-%s", i, filepath.Base(at)))
				}
				if os.Geteuid() != 0 && (kind == "device" || kind == "foreign owner") {
					t.Logf("without %s, which only root can make", kind)
					continue
				}
				checks = append(checks, h.plant(kind, to))
			}
			other := h.run("another prompt", "say", "sees a marker")
			other.Request.Session = "another"
			h.start(other).want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(1)
			_, _ = h.room.List()
			_, _ = h.room.Resumable()
			h.room.Sweep(t.Context(), time.Now().Add(2*time.Hour))
			for _, untouched := range checks {
				untouched()
			}
		})
	}
}

// turnOrNil is turn where the marker may be hostile itself.
func (h *home) turnOrNil() *fsstate.Turn {
	m, err := h.room.files().Get(theSession)
	if err != nil {
		return nil
	}
	return m
}

func (h *home) wantAnswer(want answer, r result, kind, at string) {
	h.Helper()
	problem := hostile[kind].problem
	oneLine := func(text string) {
		h.Helper()
		if strings.Contains(text, "\n") || !strings.Contains(text, at) || !strings.Contains(text, problem) {
			h.Errorf("told %q; want one line that names %s and %q", text, at, problem)
		}
	}
	switch want {
	case runs:
		if r.Err != "" || r.Outcome.State != Concluded {
			h.Fatalf("result %+v", r)
		}
		h.ran(1)
	case refuses:
		if r.Err == "" {
			h.Fatalf("result %+v", r)
		}
		if filepath.Base(filepath.Dir(at)) != "ended" {
			oneLine(r.Err)
		}
		h.ran(0)
	case waits:
		if r.Err != "" || r.Outcome.State != Refused || r.Outcome.Reason != policy.ReasonPaused {
			h.Fatalf("result %+v", r)
		}
		oneLine(r.Outcome.Detail)
		h.ran(0)
	}
}

func TestMarkerOfALivingKeeperThatBecameHostileIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for kind := range hostile {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", "await", "./go", "exit", "3")
			c.Request.ID = "job"
			k := h.start(c)
			h.started(1)
			h.launched()
			owner := h.mustTurn().Owner
			untouched := h.plant(kind, h.markerPath())
			h.until("the marker is back", func() bool { m := h.turnOrNil(); return m != nil && m.Owner == owner && m.Verified })
			untouched()
			aside, err := filepath.Glob(h.markerPath() + ".corrupt-*")
			if err != nil || len(aside) != 1 {
				t.Errorf("set aside: %v, %v", aside, err)
			}
			h.touch("go")
			k.want(Concluded, policy.ReasonHandledError, 3)
			h.noMarker()
			untouched()
		})
	}
}

func TestReceiptThatCouldNotBeStartedIsDueAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt")
	c.Request.Cwd = h.file("workdir")
	if err := os.Mkdir(c.Request.Cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Request.Agent.Command = []string{"/bin/sh", "-c", `rmdir "$PWD"`}
	c.Request.Receipt = fmt.Sprintf("echo once >>%q", h.file("receipts"))
	h.start(c).want(ReceiptFailed, policy.ReasonReceiptPending, 0)
	c.Request.Cwd = h.dir
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	if got := h.read("receipts"); got != "once\n" {
		t.Errorf("receipts %q", got)
	}
	h.noMarker()
}

func TestHermesTurnWhoseRecordedEndCannotBeReadIsNotContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	gone := h.dead()
	started := float64(time.Now().Add(-time.Minute).UnixMilli()) / 1000
	h.hermesMarker("prompt", gone.PID, started, 0)
	markers, err := h.room.look().markers()
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %v, %v", markers, err)
	}
	h.wantDecisionOfHermes(policy.Continue)
	id := fsstate.HermesID(markers[0].StartedAt)
	end := &fsstate.Outcome{Session: theSession, ID: id, End: fsstate.End{Reason: string(policy.ReasonSucceeded), At: time.Now().UTC()}}
	if err := h.room.files().PutOutcome(end); err != nil {
		t.Fatal(err)
	}
	names, err := h.room.Store.List(fsstate.Outcomes)
	if err != nil || len(names) != 1 {
		t.Fatalf("outcomes %v, %v", names, err)
	}
	path := h.room.Store.Path(fsstate.Outcomes, names[0])
	for _, damage := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		func() error { return os.Chmod(path, 0o666) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if r := h.start(h.run("", "read")).wait(); !r.Usage {
			t.Errorf("its end is recorded, and again: %+v", r)
		}
	}
	if views, bad := h.room.List(); len(views) != 0 || len(bad) != 1 || !strings.Contains(bad[0].Error(), path) {
		t.Errorf("listed %d turns, %v", len(views), bad)
	}
	h.ran(0)
}

func (h *home) wantDecisionOfHermes(action policy.Action) {
	h.Helper()
	h.room.Agents = func(string) (Agent, bool) { return Agent{}, true }
	if v := h.view(); v.Decision.Action != action {
		h.Fatalf("decision %+v: %s", v.Decision, v.Owner.Why)
	}
}

// A profile is deleted while its agent works: the keeper has nowhere to look, ten times a second, for as long as that takes.
func TestAMarkerThatCannotBeLookedAtIsToldOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	k := h.start(h.run("prompt", "read", "await", "./go"))
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	h.launched()
	for _, f := range []fsstate.Folder{fsstate.Locks, fsstate.Turns} {
		if err := os.RemoveAll(h.room.Store.Path(f, "")); err != nil {
			h.Fatal(err)
		}
	}
	told := func() int { return strings.Count(k.said(), "the marker cannot be looked at") }
	h.until("it is told", func() bool { return told() > 0 })
	first := time.Now()
	h.until("it has looked some times more", func() bool { return time.Since(first) > 5*watchedPoll/2 })
	h.until("its end cannot be recorded", func() bool { h.touch("go"); return strings.Contains(k.said(), "record the end of the turn") })
	if n := told(); n != 1 {
		t.Errorf("told %d times:\n%s", n, k.said())
	}
	k.kill()
}

package hermes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

// hammer is pythonHermes's loop for machines without Python; this binary plays it.
func hammer(home string) int {
	start, err := selfCreated()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	path, last := MarkersPath(home), ""
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 1
	}
	begun := epoch(time.Now())
	for n := 0; ; n++ {
		if n > 0 {
			if data, err := os.ReadFile(path); err != nil || string(data) != last {
				fmt.Fprintln(os.Stdout, "someone else wrote")
				return 3
			}
		}
		var entries []entry
		for i := range 3 {
			at := begun - 3600 + float64(i) + float64(10*(n/100))
			value, _ := encode(written{Prompt: "p", StartedAt: at, AutoContinue: true, WriterPID: os.Getpid(), WriterStart: start})
			entries = append(entries, entry{key: fmt.Appendf(nil, "%q", fmt.Sprintf("cut %d", i)), value: value})
		}
		last = string(encodeMarkers(entries))
		if os.WriteFile(path+".tmp", []byte(last), 0o600) != nil || os.Rename(path+".tmp", path) != nil {
			return 1
		}
		if n == 0 {
			fmt.Fprintln(os.Stdout, "ready", start)
		}
	}
}

func startHammer(t *testing.T, kind, home string) *writer {
	t.Helper()
	if kind == "python" {
		return startPython(t, "hammer", "proc", home)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], home)
	cmd.Env = append(os.Environ(), childVar+"=hammer")
	return startWriter(t, cmd)
}

// recorder keeps the attempts and ends of Hermes's turns as supervise/turn does, and remembers what was acknowledged.
type recorder struct {
	*testing.T

	home     string
	files    fsstate.TurnFiles
	attempts map[string]int     // of the open turn of a session
	ended    map[string]float64 // outcome id -> start
	sessions map[string]string  // outcome id -> session
	gate     bool               // ask whether a Hermes lives before its file is written
}

func newRecorder(t *testing.T, home string, gate bool) *recorder {
	t.Helper()
	store, err := fsstate.Open(fsstate.Home{Path: home, Root: home}, fsstate.Options{UnsafeFilesystem: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &recorder{
		T: t, home: home, files: fsstate.TurnFiles{Store: store, Key: []byte("key")}, gate: gate,
		attempts: map[string]int{}, ended: map[string]float64{}, sessions: map[string]string{},
	}
}

// round takes every entry of Hermes's that has not ended one step further: an attempt, and after two its end.
func (r *recorder) round() {
	markers, err := ReadMarkers(r.home)
	if err != nil {
		r.Fatal(err)
	}
	for _, m := range markers {
		id := fsstate.HermesID(m.StartedAt)
		o, err := r.files.Outcome(m.Session, id)
		if err != nil {
			r.Fatal(err)
		}
		if o != nil {
			continue // it has ended, though the entry is there again
		}
		if _, known := r.ended[id]; known {
			r.Fatalf("the end of %s was lost", id)
		}
		unlock, err := r.files.Store.Lock(r.Context(), m.Session, "test")
		if err != nil {
			r.Fatal(err)
		}
		r.step(m, id)
		unlock()
	}
}

func (r *recorder) step(m Marker, id string) {
	t, err := r.files.Get(m.Session)
	if err != nil || t.Origin == nil || t.Origin.StartedAt != m.StartedAt {
		if r.attempts[m.Session] > 0 && err != nil {
			r.Fatalf("the record of %s was lost: %v", m.Session, err)
		}
		t = &fsstate.Turn{Session: m.Session, Phase: fsstate.PhaseRunning, Prompt: m.Prompt, Origin: &fsstate.Origin{Store: "hermes", StartedAt: m.StartedAt}, Verified: true}
	} else if t.Attempts != r.attempts[m.Session] {
		r.Fatalf("%s: %d attempts are recorded, %d were", m.Session, t.Attempts, r.attempts[m.Session])
	}
	if t.Attempts < 2 {
		t.Attempts++
		if err := r.files.Put(t); err != nil {
			r.Fatal(err)
		}
		r.attempts[m.Session] = t.Attempts
		return
	}
	o := &fsstate.Outcome{Session: m.Session, ID: id, End: fsstate.End{Reason: "success"}, Attempts: t.Attempts}
	if err := r.files.PutOutcome(o); err != nil {
		r.Fatal(err)
	}
	r.ended[id], r.sessions[id] = m.StartedAt, m.Session
	r.tidy(m)
	if err := r.files.Delete(m.Session); err != nil {
		r.Fatal(err)
	}
	r.attempts[m.Session] = 0
}

// tidy removes an ended turn's entry, unless a Hermes of this home lives.
func (r *recorder) tidy(m Marker) {
	if r.gate {
		if _, live, err := LiveProcess(r.home); live || err != nil {
			return
		}
	}
	if err := ClearMarker(r.home, m.Session, m.StartedAt, time.Now()); err != nil {
		r.Error(err)
	}
}

var hammers = []string{"python", "this binary"}

func TestNoAttemptNoEndAndNoEntryIsLostBesideAHermesThatRewritesItsFileWithoutALock(t *testing.T) {
	t.Parallel()
	for _, kind := range hammers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			w := startHammer(t, kind, home)
			r := newRecorder(t, home, true)
			patience := time.After(time.Minute) // of a busy machine
			for until := time.Now().Add(1500 * time.Millisecond); time.Now().Before(until) || len(r.ended) < 3; {
				select {
				case <-patience:
					t.Fatalf("only %d turns ended", len(r.ended))
				case <-w.ended:
					t.Fatal("Hermes lost an entry: ", w.kill())
				default:
				}
				r.round()
			}
			if said := w.kill(); said != "" {
				t.Fatal("Hermes lost an entry: ", said)
			}
			for id, session := range r.sessions {
				if o, err := r.files.Outcome(session, id); err != nil || o == nil || o.Attempts != 2 {
					t.Errorf("the end of %s %s: %+v, %v", session, id, o, err)
				}
			}
			r.tidyWhenDead()
			t.Logf("%d turns ended", len(r.ended))
		})
	}
}

// tidyWhenDead clears what has ended from the file of a Hermes that is gone, and no more.
func (r *recorder) tidyWhenDead() {
	before := mustRead(r.T, r.home)
	if pid, live, err := quiet(r.home); live || err != nil {
		r.Fatalf("the dead writer lives: %d, %v", pid, err)
	}
	for id, session := range r.sessions {
		if err := ClearMarker(r.home, session, r.ended[id], time.Now()); err != nil {
			r.Error(err)
		}
	}
	left := map[string]bool{}
	for _, m := range mustRead(r.T, r.home) {
		left[m.Session] = true
	}
	for _, m := range before {
		_, ended := r.ended[fsstate.HermesID(m.StartedAt)]
		if left[m.Session] == ended {
			r.Errorf("%s: ended %v, in the file %v", m.Session, ended, left[m.Session])
		}
	}
}

// The test above can fail: without the question whether a Hermes lives, the first clear is noticed.
func TestAWriteBesideALiveHermesIsNoticed(t *testing.T) {
	t.Parallel()
	for _, kind := range hammers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			w := startHammer(t, kind, home)
			r := newRecorder(t, home, false)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				select {
				case <-w.ended:
					if said := w.kill(); !strings.Contains(said, "someone else wrote") {
						t.Errorf("the writer said %q", said)
					}
					return
				case <-ctx.Done():
					t.Fatal("nothing was noticed")
				default:
				}
				r.round()
			}
		})
	}
}
